// Parameters and their names.
//
// A layer asks its Scope for parameters when it is built: `s.param("weight", {out, in}, init)`;
// its children get `s / "ffn"`. Names are the keys of checkpoints. The ParameterStore behind the
// scopes lays all values out flat, gradients likewise, so that clipping, optimizers, averaging and
// checkpoints are single loops.
//
//   ParameterStore store;
//   Gpt model(store.root(), config);   // asks for its parameters
//   store.allocate(DType::bf16, seed); // gives them memory and their initial values
//
// With bf16 compute the values stay f32 (the master); matrices are used through a bf16 copy that
// the optimizer writes along. Vectors (biases, gains) are always used in f32. Gradients are f32.
// With i8, for inference alone, the matrices of products are packed integers (kernels/int8.h), and
// everything else is as with bf16.
//
// The store owns everything and must outlive the layers; neither moves. Not thread safe.
#pragma once

#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "autograd/tape.h"
#include "kernels/matmul/frozen.h"
#include "mesh/mesh.h"
#include "tensor/tensor.h"

namespace heed {

// How a parameter gets its initial values.
struct Init {
  enum class Kind { constant, normal, uniform, waves } kind = Kind::constant;
  float value = 0.0F;  // the constant, the standard deviation, or the bound

  static Init constant(float value) { return {Kind::constant, value}; }
  static Init normal(float standard_deviation) { return {Kind::normal, standard_deviation}; }
  static Init uniform(float bound) { return {Kind::uniform, bound}; }
  // A table of positions: sines and cosines of ever longer waves along the rows (Vaswani et al.
  // 2017), with this standard deviation. Distances are then there to be seen from the beginning.
  static Init waves(float standard_deviation) { return {Kind::waves, standard_deviation}; }
  // Glorot and Bengio 2010, for a matrix [out, in].
  static Init xavier(int64_t in, int64_t out) {
    return uniform(std::sqrt(6.0F / static_cast<float>(in + out)));
  }
  static Init normal_or_xavier(float standard_deviation, int64_t in, int64_t out) {
    return standard_deviation > 0.0F ? normal(standard_deviation) : xavier(in, out);
  }
};

// How a parameter is split over a mesh: one axis of its shape, or each of `groups` equal stretches
// of that axis (queries, keys and values have their heads side by side).
struct Split {
  Part part = {};  // of the axis, or of a stretch
  int axis = 0;
  int64_t groups = 1;
};

// Which elements of a split parameter this process has: the whole is [outer, extent, inner] in
// memory, and the process has [begin, end) of the extent.
struct Cut {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
  int64_t begin = 0;
  int64_t end = 1;
  const Group* group = nullptr;  // null: it has all of it

  bool whole() const { return group == nullptr; }
  // Where element `index` of this process's part stands in the whole.
  int64_t in_whole(int64_t index) const {
    const int64_t row = (end - begin) * inner;
    return whole() ? index : index / row * extent * inner + begin * inner + index % row;
  }
};

struct ParameterEntry {
  std::string name;
  Shape shape;        // of what this process has
  Shape whole_shape;  // the same, unless it is split
  Cut cut;
  Init init;
  bool product = false;  // used by linear() and embedding() alone: may be int8
  bool trained = true;   // false: it gets no gradient, and no step changes it
  int64_t offset = 0;    // into the flat arrays
  Tensor value;          // f32, a view of the master; for inference the same as compute
  Tensor compute;        // what ops use: bf16 copy or value, with the gradient slot
  GradSlot slot;         // its grad is a view of the flat gradients
  std::shared_ptr<kernels::FrozenWeight> frozen;  // a matrix for inference
};

// The whole of which this process has `part`, f32 and of the parameter's shape: a parameter's value
// or what an optimizer keeps beside it. All processes call it, and get it; not split, it is the
// part itself.
Tensor whole_of(const ParameterEntry& entry, const Tensor& part);
// Takes this process's part out of the elements of the whole.
void take_part(const ParameterEntry& entry, std::span<const float> whole, std::span<float> part);

// A layer's handle on one of its parameters.
class Parameter {
 public:
  Parameter() = default;
  explicit Parameter(const ParameterEntry* entry) : entry_(entry) {}
  operator const Tensor&() const { return tensor(); }  // NOLINT: reads as the tensor it is
  // Undefined for an optional parameter that the layer does without.
  const Tensor& tensor() const;

 private:
  const ParameterEntry* entry_ = nullptr;
};

class ParameterStore;

class Scope {
 public:
  Scope(ParameterStore& store, std::string prefix) : store_(&store), prefix_(std::move(prefix)) {}
  Scope operator/(std::string_view child) const;
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }
  // The shape is that of the whole parameter; with a split, this process has its part.
  Parameter param(std::string_view name, const Shape& shape, Init init,
                  const Split& split = {}) const;
  // Values that belong to the model and its checkpoints but are not trained, such as a codebook or
  // running statistics: f32 always, without gradient, and no optimizer changes them. Whoever asked
  // for them writes them in place.
  Parameter buffer(std::string_view name, const Shape& shape, Init init) const;
  // A matrix that only linear() and embedding() use: int8 inference packs it.
  Parameter matrix(std::string_view name, int64_t rows, int64_t columns, Init init,
                   const Split& split = {}) const;
  // What this process has of a dimension ("heads", "hidden", "vocabulary") of `total` units.
  Part part(std::string_view dimension, int64_t total, bool uneven = false) const;

 private:
  ParameterStore* store_;
  std::string prefix_;  // empty, or ends with a dot
};

// Parameters next to each other in the flat arrays.
struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool contains(const ParameterEntry& entry) const {
    return entry.offset >= begin && entry.offset < end;
  }
};

// On a mesh each of the processes that share a batch owns a stretch of the parameters, which it
// writes into checkpoints. If the mesh is *sharded*, it alone keeps the optimizer's state of that
// stretch and updates it; with bf16 compute it alone has the master of its matrices, too.
class ParameterStore {
 public:
  ParameterStore();
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  Scope root() { return {*this, ""}; }
  ParameterEntry& add(const std::string& name, const Shape& shape, Init init,
                      const Split& split = {});
  // Before the first parameter: layers split over the mesh, which must outlive the store.
  void lay_out_on(const Mesh& mesh);
  const Mesh& mesh() const { return *mesh_; }

  // Memory and initial values; each parameter's depend on the seed and its name alone. For
  // inference there are no flat arrays and no master: each parameter has only what ops use, and
  // matrices are frozen, so that matrix products pack them once. batch_invariant is inference in
  // which a row's result never depends on the other rows.
  enum class Use { training, inference, batch_invariant };
  void allocate(DType compute, uint64_t seed, Use use = Use::training);
  // For batch-invariant inference with values from elsewhere: fill(entry, values) writes each
  // parameter's.
  using Fill = std::function<void(const ParameterEntry&, std::span<float>)>;
  void allocate(DType compute, const Fill& fill);
  bool allocated() const { return allocated_; }
  // Where each parameter stands in the flat arrays of a training, and which stretch is whose,
  // without memory for them; allocate() begins with it. Returns the length of the arrays.
  int64_t lay_out();
  // After allocate() for training: the others stay as they are, to the bit.
  void train_only(const std::function<bool(std::string_view name)>& trained);

  const std::deque<ParameterEntry>& entries() const { return entries_; }
  std::deque<ParameterEntry>& entries() { return entries_; }
  ParameterEntry& find(std::string_view name);  // throws, naming the nearest name
  int64_t count() const;                        // of elements of the whole model

  // The flat arrays; padding between parameters is zero and stays so. Of a sharded store with bf16
  // compute, values() is what this process updates.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  const Tensor& narrow_values() const { return narrow_; }  // bf16 copy; undefined for f32 compute

  // What this process updates: everything, or its own stretch if the store is sharded. And the
  // parts of the flat arrays that belong to it.
  const Stretch& updated() const { return updated_; }
  Tensor updated_values() const;
  Tensor updated_gradients() const { return gradients_.rows(updated_.begin, updated_.end); }
  bool sharded() const { return sharded_; }
  // Where the stretches of the processes that share a batch begin, and where the last one ends.
  const Bounds& owners() const { return owners_; }
  bool owns(const ParameterEntry& entry) const;
  // After owners have changed their weights: everybody gets them. All processes call it.
  void share_weights();
  // This process's part of a parameter: what ops use, and the master if it is here.
  void set_value(const ParameterEntry& entry, std::span<const float> part);

  // Forgets the gradients: the next contribution to each writes instead of adding.
  void clear_gradients();
  // Gradients nobody contributed to become zero; call before using the flat array.
  void finish_gradients();
  // After the master was changed by other means than the optimizer. All processes call it.
  void refresh_narrow();

 private:
  void start_allocation(DType compute, Use use);
  void divide(int64_t total);
  void lay_out_for_training(DType compute);
  void share_vectors();
  void lay_out_for_inference(DType compute, const Fill& fill, bool by_rows);

  const Mesh* mesh_;
  std::deque<ParameterEntry> entries_;
  Tensor values_, gradients_, narrow_;
  Bounds owners_;
  Stretch updated_;
  bool sharded_ = false;
  bool allocated_ = false;
};

}  // namespace heed
