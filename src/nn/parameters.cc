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
    for (auto index = static_cast<uint64_t>(begin); index < static_cast<uint64_t>(end); ++index) {
      switch (entry.init.kind) {
        case Init::Kind::constant:
          value[index] = entry.init.value;
          break;
        case Init::Kind::normal:
          value[index] = entry.init.value * stream.normal(index);
          break;
        case Init::Kind::uniform:
          value[index] = entry.init.value * (2.0F * stream.uniform(index) - 1.0F);
          break;
        case Init::Kind::waves:
          value[index] = entry.init.value * wave(static_cast<int64_t>(index), entry.shape[-1]);
          break;
      }
    }
  });
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

Parameter Scope::param(std::string_view name, const Shape& shape, Init init) const {
  return Parameter(&store_->add(prefix_ + std::string(name), shape, init));
}

Parameter Scope::buffer(std::string_view name, const Shape& shape, Init init) const {
  ParameterEntry& entry = store_->add(prefix_ + std::string(name), shape, init);
  entry.trained = false;
  return Parameter(&entry);
}

Parameter Scope::matrix(std::string_view name, int64_t rows, int64_t columns, Init init) const {
  ParameterEntry& entry = store_->add(prefix_ + std::string(name), {rows, columns}, init);
  entry.product = true;
  return Parameter(&entry);
}

ParameterEntry& ParameterStore::add(const std::string& name, const Shape& shape, Init init) {
  check(!allocated_, "[parameters] {} comes after allocate()", name);
  check(std::none_of(entries_.begin(), entries_.end(),
                     [&](const ParameterEntry& entry) { return entry.name == name; }),
        "[parameters] the name {} is taken", name);
  ParameterEntry& entry = entries_.emplace_back();
  entry.name = name;
  entry.shape = shape;
  entry.init = init;
  return entry;
}

void ParameterStore::lay_out_for_training(DType compute) {
  int64_t total = 0;
  for (ParameterEntry& entry : entries_) {
    entry.offset = total;
    total += (entry.shape.size() + kAlignElements - 1) / kAlignElements * kAlignElements;
  }
  values_ = Tensor::zeros({total});
  gradients_ = Tensor::zeros({total});
  if (compute == DType::bf16) {
    narrow_ = Tensor::zeros({total}, DType::bf16);
  }
  for (ParameterEntry& entry : entries_) {
    const auto view = [&](const Tensor& flat) {
      return flat.rows(entry.offset, entry.offset + entry.shape.size()).reshape(entry.shape);
    };
    const bool narrow = compute == DType::bf16 && entry.shape.rank() >= 2 && entry.trained;
    entry.value = view(values_);
    entry.compute = narrow ? view(narrow_) : entry.value;
    entry.slot.grad = view(gradients_);
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
    random(entry, entry.value.span<float>());
  }
  refresh_narrow();
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
    total += entry.shape.size();
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
    kernels::copy({.n = values_.size(),
                   .from = {values_.raw(), DType::f32},
                   .to = {narrow_.raw(), DType::bf16}});
  }
}

}  // namespace heed
