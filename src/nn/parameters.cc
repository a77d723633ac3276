#include "nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kernels/copy.h"
#include "kernels/matmul/int8/int8.h"
#include "nn/sinusoid.h"

namespace heed {
namespace {

// Parameters start on cache lines, so flat loops and matrix kernels see aligned data.
constexpr int64_t kAlignElements = 32;

// Element `index` of a table of rows of sines and cosines by turns, of variance 1.
float wave(int64_t index, int64_t width) {
  const Sinusoid column = interleaved_sinusoid(index % width, width);
  return static_cast<float>(std::sqrt(2.0) * column(index / width));
}

void initialise(const ParameterEntry& entry, uint64_t seed, std::span<float> value) {
  const RandomStream stream{seed, stream_of(entry.name)};
  const auto count = static_cast<int64_t>(value.size());
  parallel_for(count, kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = entry.cut.in_whole(i);
      const auto index = static_cast<uint64_t>(place);
      float& element = value[static_cast<size_t>(i)];
      switch (entry.init.kind) {
        case Init::Kind::constant:
          element = entry.init.value;
          break;
        case Init::Kind::normal:
          element = entry.init.value * stream.normal(index);
          break;
        case Init::Kind::uniform:
          element = entry.init.value * (2.0F * stream.uniform(index) - 1.0F);
          break;
        case Init::Kind::waves:
          element = entry.init.value * wave(place, entry.whole_shape[-1]);
          break;
      }
    }
  });
}

// The shape of this process's part.
Shape part_shape(const Shape& whole, const Split& split) {
  Shape shape = whole;
  if (!split.part.whole()) {
    shape.set(split.axis, split.groups * split.part.size());
  }
  return shape;
}

Cut cut_of(const Shape& whole, const Split& split) {
  if (split.part.whole()) {
    return {};
  }
  return {.outer = whole.product(0, split.axis) * split.groups,
          .extent = split.part.total,
          .inner = whole.product(split.axis + 1, whole.rank()),
          .begin = split.part.begin,
          .end = split.part.end,
          .group = split.part.group};
}

// The packed form stands behind a view of the matrix's own shape.
Tensor packed_int8(const Tensor& matrix) {
  const int64_t rows = matrix.dim(0);
  const int64_t columns = matrix.dim(1);
  const auto bytes = static_cast<int64_t>(kernels::Int8Matrix::bytes(rows, columns));
  const Tensor packed = Tensor::empty({bytes}, DType::i8);
  kernels::int8_pack(matrix.data<float>(), rows, columns, packed.raw());
  return packed.rows(0, rows * columns).reshape({rows, columns});
}

}  // namespace

Tensor whole_of(const ParameterEntry& entry, const Tensor& part) {
  const Cut& cut = entry.cut;
  if (cut.whole()) {
    return part;
  }
  // The parts of all processes one after the other, and then each element in its place.
  const Bounds extents = equal_bounds(cut.extent, cut.group->size());
  Bounds bounds;
  for (const int64_t extent : extents) {
    bounds.push_back(cut.outer * extent * cut.inner);
  }
  std::vector<float> parts(static_cast<size_t>(bounds.back()));
  const std::span<const float> own = part.span<float>();
  std::copy(own.begin(), own.end(),
            parts.begin() + bounds[static_cast<size_t>(cut.group->index())]);
  cut.group->all_gather(std::span(parts), bounds);
  Tensor whole = Tensor::empty(entry.whole_shape);
  for (size_t member = 0; member + 1 < extents.size(); ++member) {
    Cut theirs = cut;
    theirs.begin = extents[member];
    theirs.end = extents[member + 1];
    for (int64_t i = 0; i < bounds[member + 1] - bounds[member]; ++i) {
      whole.data<float>()[theirs.in_whole(i)] = parts[static_cast<size_t>(bounds[member] + i)];
    }
  }
  return whole;
}

void take_part(const ParameterEntry& entry, std::span<const float> whole, std::span<float> part) {
  for (size_t i = 0; i < part.size(); ++i) {
    part[i] = whole[static_cast<size_t>(entry.cut.in_whole(static_cast<int64_t>(i)))];
  }
}

const Tensor& Parameter::tensor() const {
  static const auto* none = new Tensor;
  if (entry_ == nullptr) {
    return *none;
  }
  check(entry_->compute.defined(), "[parameter] {} has no memory yet: call allocate() first",
        entry_->name);
  return entry_->compute;
}

Scope Scope::operator/(std::string_view child) const {
  return {*store_, prefix_ + std::string(child) + "."};
}

Parameter Scope::param(std::string_view name, const Shape& shape, Init init,
                       const Split& split) const {
  return Parameter(&store_->add(prefix_ + std::string(name), shape, init, split));
}

Parameter Scope::buffer(std::string_view name, const Shape& shape, Init init) const {
  ParameterEntry& entry = store_->add(prefix_ + std::string(name), shape, init);
  entry.trained = false;
  return Parameter(&entry);
}

Parameter Scope::matrix(std::string_view name, int64_t rows, int64_t columns, Init init,
                        const Split& split) const {
  ParameterEntry& entry = store_->add(prefix_ + std::string(name), {rows, columns}, init, split);
  entry.product = true;
  return Parameter(&entry);
}

Part Scope::part(std::string_view dimension, int64_t total, bool uneven) const {
  return store_->mesh().part(dimension, total, uneven);
}

ParameterStore::ParameterStore() : mesh_(&Mesh::single()) {}

void ParameterStore::lay_out_on(const Mesh& mesh) {
  check(entries_.empty(), "[parameters] the mesh comes after {}", entries_.front().name);
  mesh_ = &mesh;
}

ParameterEntry& ParameterStore::add(const std::string& name, const Shape& shape, Init init,
                                    const Split& split) {
  check(!allocated_, "[parameters] {} comes after allocate()", name);
  check(std::none_of(entries_.begin(), entries_.end(),
                     [&](const ParameterEntry& entry) { return entry.name == name; }),
        "[parameters] the name {} is taken", name);
  ParameterEntry& entry = entries_.emplace_back();
  entry.name = name;
  entry.shape = part_shape(shape, split);
  entry.whole_shape = shape;
  entry.cut = cut_of(shape, split);
  entry.init = init;
  return entry;
}

// Stretches of whole parameters, as equal as can be.
void ParameterStore::divide(int64_t total) {
  const Group& batch = mesh_->along("batch");
  owners_ = {0};
  for (const ParameterEntry& entry : entries_) {
    const int64_t due = total * std::ssize(owners_) / batch.size();
    if (std::ssize(owners_) < batch.size() && entry.offset >= due) {
      owners_.push_back(entry.offset);
    }
  }
  while (std::ssize(owners_) <= batch.size()) {
    owners_.push_back(total);
  }
  sharded_ = mesh_->config().sharded && !batch.alone();
  const auto own = static_cast<size_t>(batch.index());
  updated_ = sharded_ ? Stretch{owners_[own], owners_[own + 1]} : Stretch{0, total};
}

int64_t ParameterStore::lay_out() {
  int64_t total = 0;
  for (ParameterEntry& entry : entries_) {
    entry.offset = total;
    total += (entry.shape.size() + kAlignElements - 1) / kAlignElements * kAlignElements;
  }
  divide(total);
  return total;
}

void ParameterStore::lay_out_for_training(DType compute) {
  const int64_t total = lay_out();
  const bool partial = sharded_ && compute == DType::bf16;
  const int64_t first = partial ? updated_.begin : 0;
  values_ = Tensor::zeros({partial ? updated_.size() : total});
  gradients_ = Tensor::zeros({total});
  if (compute == DType::bf16) {
    narrow_ = Tensor::zeros({total}, DType::bf16);
  }
  for (ParameterEntry& entry : entries_) {
    const auto view = [&](const Tensor& flat, int64_t begin) {
      return flat.rows(begin, begin + entry.shape.size()).reshape(entry.shape);
    };
    const bool narrow = compute == DType::bf16 && entry.shape.rank() >= 2 && entry.trained;
    if (!partial || updated_.contains(entry)) {
      entry.value = view(values_, entry.offset - first);
    } else if (!narrow) {  // f32 on every process
      entry.value = Tensor::zeros(entry.shape);
    }
    entry.compute = narrow ? view(narrow_, entry.offset) : entry.value;
    entry.slot.grad = view(gradients_, entry.offset);
    entry.slot.shape = entry.shape;
    if (entry.trained) {
      entry.compute.set_slot(&entry.slot);
    }
  }
}

void ParameterStore::lay_out_for_inference(DType compute, const Fill& fill, bool by_rows) {
  for (ParameterEntry& entry : entries_) {
    entry.value = Tensor::empty(entry.shape);
    fill(entry, entry.value.span<float>());
    if (compute == DType::i8 && entry.product) {
      entry.value = packed_int8(entry.value);
    } else if (entry.shape.rank() >= 2 && entry.trained) {
      entry.value = entry.value.to(compute == DType::f32 ? DType::f32 : DType::bf16);
      entry.frozen = std::make_shared<kernels::FrozenWeight>(by_rows);
      entry.value.set_frozen(entry.frozen.get());
    }
    entry.compute = entry.value;
  }
}

void ParameterStore::start_allocation(DType compute, Use use) {
  check(!allocated_, "[parameters] allocated already");
  check(compute == DType::f32 || compute == DType::bf16 ||
            (compute == DType::i8 && use != Use::training),
        "[parameters] compute dtype is {}, expected f32, bf16 or, for inference, i8",
        name_of(compute));
  allocated_ = true;
}

void ParameterStore::allocate(DType compute, const Fill& fill) {
  start_allocation(compute, Use::batch_invariant);
  lay_out_for_inference(compute, fill, true);
}

void ParameterStore::allocate(DType compute, uint64_t seed, Use use) {
  const Fill random = [&](const ParameterEntry& entry, std::span<float> value) {
    initialise(entry, seed, value);
  };
  start_allocation(compute, use);
  if (use != Use::training) {
    lay_out_for_inference(compute, random, use == Use::batch_invariant);
    return;
  }
  lay_out_for_training(compute);
  for (const ParameterEntry& entry : entries_) {
    std::vector<float> initial(static_cast<size_t>(entry.shape.size()));
    random(entry, initial);
    set_value(entry, initial);
  }
}

void ParameterStore::set_value(const ParameterEntry& entry, std::span<const float> part) {
  if (entry.value.defined()) {
    std::copy(part.begin(), part.end(), entry.value.span<float>().begin());
  }
  if (entry.compute.dtype() == DType::bf16) {
    kernels::copy({.n = std::ssize(part),
                   .from = {part.data(), DType::f32},
                   .to = {entry.compute.raw(), DType::bf16}});
  }
}

Tensor ParameterStore::updated_values() const {
  return values_.size() == updated_.size() ? values_ : values_.rows(updated_.begin, updated_.end);
}

bool ParameterStore::owns(const ParameterEntry& entry) const {
  const auto own = static_cast<size_t>(mesh_->along("batch").index());
  return Stretch{owners_[own], owners_[own + 1]}.contains(entry);
}

void ParameterStore::share_weights() {
  if (!sharded_) {
    return;
  }
  const Group& batch = mesh_->along("batch");
  if (narrow_.defined()) {
    batch.all_gather(narrow_.span<bf16>(), owners_);
    share_vectors();
  } else {
    batch.all_gather(values_.span<float>(), owners_);
  }
}

// What is used in f32 beside the narrow matrices, packed into one message.
void ParameterStore::share_vectors() {
  const Group& batch = mesh_->along("batch");
  const auto is_f32 = [](const ParameterEntry& entry) {
    return entry.compute.dtype() == DType::f32 && entry.trained;
  };
  Bounds bounds = {0};
  std::vector<float> packed;
  for (int member = 0; member < batch.size(); ++member) {
    const auto own = static_cast<size_t>(member);
    for (const ParameterEntry& entry : entries_) {
      if (is_f32(entry) && Stretch{owners_[own], owners_[own + 1]}.contains(entry)) {
        const std::span<const float> value = entry.value.span<float>();
        packed.insert(packed.end(), value.begin(), value.end());
      }
    }
    bounds.push_back(std::ssize(packed));
  }
  batch.all_gather(std::span(packed), bounds);
  const float* next = packed.data();  // owners' stretches lie in the order of the entries
  for (const ParameterEntry& entry : entries_) {
    if (is_f32(entry)) {
      std::copy(next, next + entry.value.size(), entry.value.data<float>());
      next += entry.value.size();
    }
  }
}

void ParameterStore::train_only(const std::function<bool(std::string_view name)>& trained) {
  for (ParameterEntry& entry : entries_) {
    entry.trained = entry.trained && trained(entry.name);
    entry.compute.set_slot(entry.trained ? &entry.slot : nullptr);
  }
}

ParameterEntry& ParameterStore::find(std::string_view name) {
  std::vector<std::string> names;
  for (ParameterEntry& entry : entries_) {
    if (entry.name == name) {
      return entry;
    }
    names.push_back(entry.name);
  }
  fail("[parameters] no parameter {}; the nearest is {}", name, nearest(name, names));
}

int64_t ParameterStore::count() const {
  int64_t total = 0;
  for (const ParameterEntry& entry : entries_) {
    total += entry.whole_shape.size();
  }
  return total;
}

void ParameterStore::clear_gradients() {
  for (ParameterEntry& entry : entries_) {
    entry.slot.written = false;
  }
}

void ParameterStore::finish_gradients() {
  check(gradients_.defined(), "[parameters] no gradients: call allocate() for training first");
  for (ParameterEntry& entry : entries_) {
    if (!entry.slot.written) {
      std::memset(entry.slot.grad.raw(), 0, entry.slot.grad.bytes());
      entry.slot.written = true;
    }
  }
}

void ParameterStore::refresh_narrow() {
  if (narrow_.defined()) {
    const Tensor values = updated_values();
    kernels::copy({.n = values.size(),
                   .from = {values.raw(), DType::f32},
                   .to = {narrow_.data<bf16>() + updated_.begin, DType::bf16}});
  }
  share_weights();
}

}  // namespace heed
