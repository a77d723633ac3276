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

struct ParameterEntry {
  std::string name;
  Shape shape;
  Init init;
  bool product = false;  // used by linear() and embedding() alone: may be int8
  bool trained = true;   // false: it gets no gradient, and no step changes it
  int64_t offset = 0;    // into the flat arrays
  Tensor value;          // f32, a view of the master; for inference the same as compute
  Tensor compute;        // what ops use: bf16 copy or value, with the gradient slot
  GradSlot slot;         // its grad is a view of the flat gradients
  std::shared_ptr<kernels::FrozenWeight> frozen;  // a matrix for inference
};

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
  Parameter param(std::string_view name, const Shape& shape, Init init) const;
  // Values that belong to the model and its checkpoints but are not trained, such as a codebook or
  // running statistics: f32 always, without gradient, and no optimizer changes them. Whoever asked
  // for them writes them in place.
  Parameter buffer(std::string_view name, const Shape& shape, Init init) const;
  // A matrix that only linear() and embedding() use: int8 inference packs it.
  Parameter matrix(std::string_view name, int64_t rows, int64_t columns, Init init) const;

 private:
  ParameterStore* store_;
  std::string prefix_;  // empty, or ends with a dot
};

class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  Scope root() { return {*this, ""}; }
  ParameterEntry& add(const std::string& name, const Shape& shape, Init init);

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
  // After allocate() for training: the others stay as they are, to the bit.
  void train_only(const std::function<bool(std::string_view name)>& trained);

  const std::deque<ParameterEntry>& entries() const { return entries_; }
  std::deque<ParameterEntry>& entries() { return entries_; }
  ParameterEntry& find(std::string_view name);  // throws, naming the nearest name
  int64_t count() const;                        // of elements, without padding

  // The flat arrays; padding between parameters is zero and stays so.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  const Tensor& narrow_values() const { return narrow_; }  // bf16 copy; undefined for f32 compute

  // Forgets the gradients: the next contribution to each writes instead of adding.
  void clear_gradients();
  // Gradients nobody contributed to become zero; call before using the flat array.
  void finish_gradients();
  // After the master was changed by other means than the optimizer.
  void refresh_narrow();

 private:
  void start_allocation(DType compute, Use use);
  void lay_out_for_training(DType compute);
  void lay_out_for_inference(DType compute, const Fill& fill, bool by_rows);

  std::deque<ParameterEntry> entries_;
  Tensor values_, gradients_, narrow_;
  bool allocated_ = false;
};

}  // namespace heed
