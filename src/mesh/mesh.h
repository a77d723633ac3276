// A mesh of processes with named axes (Shazeer et al. 2018, Mesh-TensorFlow), and the layout: which
// dimensions of tensors are split over which axis.
//
//   Mesh mesh(transport, {.axes = "batch:2,model:4"});   // eight processes
//   mesh.part("heads", 16)                               // four of sixteen heads
//
// The batch is split by the trainer; heads, hidden units and the vocabulary are split by the layers
// that have them. Ranks are numbered along the last axis first, so that the members of "model" are
// neighbours and usually share a machine. A mesh of one process splits nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "mesh/group.h"

namespace heed {

struct MeshConfig {
  std::string axes;
  std::string layout = "batch:batch,heads:model,hidden:model,vocabulary:model";
  std::string wire = "f32";
  bool sharded = false;
  double bucket = 4.0;
  double deadline = 300.0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("axes", axes,
      "axes of the mesh and their sizes, such as batch:2,model:2; empty: all processes along "
      "batch");
    v("layout", layout, "which dimensions are split over which axis");
    v("wire", wire, "precision in which gradients travel", {.choices = {"f32", "bf16"}});
    v("sharded", sharded,
      "each process keeps the optimizer's state and the master weights of a part only");
    v("bucket", bucket, "size in MiB of the pieces in which gradients are added up",
      {.least = 0.001, .most = 4096});
    v("deadline", deadline, "seconds after which a process that does not answer ends the run",
      {.least = 1});
  }
};

struct MeshAxis {
  std::string name;
  int size = 1;
  int index = 0;  // of this process
};

// "batch:2,model:4" as axes, or an Error.
std::vector<MeshAxis> parse_axes(std::string_view text);
// "heads:model,hidden:model": the axis of each dimension.
std::map<std::string, std::string> parse_layout(std::string_view text);

// What one process has of a dimension.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t total = 0;
  const Group* group = nullptr;  // null: the dimension is not split

  int64_t size() const { return end - begin; }
  bool whole() const { return group == nullptr; }
  int index() const { return group == nullptr ? 0 : group->index(); }
};

class Mesh {
 public:
  Mesh();  // this process alone
  Mesh(Transport& transport, const MeshConfig& config);
  static const Mesh& single();  // one for everybody who has no other
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const { return world().index(); }
  int size() const { return world().size(); }
  bool alone() const { return world().alone(); }
  bool leads() const { return rank() == 0; }  // writes files and talks to the user
  const Group& world() const { return groups_.front(); }
  const MeshConfig& config() const { return config_; }
  const std::vector<MeshAxis>& axes() const { return axes_; }

  // The processes between which a dimension is split: those that differ in one axis alone. A group
  // of one, if it is not split.
  const Group& along(std::string_view dimension) const;
  // The same processes on a channel of their own, for a thread that works beside the others.
  const Group& beside(std::string_view dimension) const;
  // This process's part of a dimension of `total` equal units. All of it, if they do not divide and
  // `uneven` is false: then every process computes the same.
  Part part(std::string_view dimension, int64_t total, bool uneven = false) const;
  // Whether a dimension of a model is split: then weights differ between processes.
  bool splits_model() const;

  std::string describe() const;  // "batch:2,model:2"

 private:
  const MeshAxis* axis_of(std::string_view dimension) const;

  MeshConfig config_;
  std::vector<MeshAxis> axes_;
  std::map<std::string, std::string> layout_;
  std::vector<Group> groups_;  // the world, one for each axis, and one beside each of those
  Group single_;
};

}  // namespace heed
