// Collectives between the processes of a mesh, as ops with gradients.
//
// A tensor is *replicated* if every member of the group has the same one, *split* if each has its
// columns of it, and *partial* if it is the sum of what the members have. Replicated tensors have
// replicated gradients: the loss is counted once, not once for each member. Then
//
//   op              forward                     backward
//   enter           replicated, to be used by   the members' gradients are added up
//                   each for its own part
//   sum_over        partial -> replicated       the gradient as it is
//   gather_columns  split -> replicated         each takes its columns
//   scatter_sum     partial -> split rows       rows of the others are gathered
//   exchange        split rows -> split columns the same the other way round
//   broadcast_from  one member's -> replicated  the member keeps it, the others have none
//
// With a group of one each of them is the identity and records nothing.
#pragma once

#include <string_view>

#include "mesh/group.h"
#include "tensor/tensor.h"

namespace heed {

// Whether an op of this name is one of these, which need several processes to be seen at work.
bool is_collective(std::string_view op);

Tensor enter(const Tensor& x, const Group& group);
Tensor sum_over(const Tensor& x, const Group& group);
// x [..., columns of this member] -> [..., all]; bounds are those of the members' columns.
Tensor gather_columns(const Tensor& x, const Group& group, const Bounds& bounds);
// x [rows, ...] -> [rows / members, ...]: this member's rows of the sum.
Tensor scatter_sum(const Tensor& x, const Group& group);
// x [rows, members * columns] -> [members * rows, columns]: member i gets everybody's i-th columns.
Tensor exchange(const Tensor& x, const Group& group);
Tensor broadcast_from(const Tensor& x, int root, const Group& group);

}  // namespace heed
