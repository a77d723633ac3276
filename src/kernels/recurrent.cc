#include "kernels/recurrent.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "kernels/elementwise/gate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {
namespace {

// Some neighbouring columns of a row: a whole vector of them, or the last few.
template <bool kWhole>
struct Columns {
  size_t at;
  size_t count;

  template <typename T>
  HWY_INLINE FloatVec get(const T* row) const {
    if constexpr (kWhole) {
      return load(row + at);
    } else {
      return load_n(row + at, count);
    }
  }
  // Zero for a row that is not there.
  template <typename T>
  HWY_INLINE FloatVec get_if(const T* row) const {
    return row == nullptr ? zero() : get(row);
  }
  template <typename T>
  HWY_INLINE void put(FloatVec v, T* row) const {
    if constexpr (kWhole) {
      store(v, row + at);
    } else {
      store_n(v, row + at, count);
    }
  }
};

template <typename Fn>
HWY_INLINE void for_columns(size_t n, const Fn& fn) {
  const size_t lanes = hn::Lanes(FloatTag());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    fn(Columns<true>{i, lanes});
  }
  if (i < n) {
    fn(Columns<false>{i, n - i});
  }
}

// s (1 - s) and 1 - t^2: the slopes of sigmoid and tanh from their values.
HWY_INLINE FloatVec gate_slope(FloatVec s) { return hn::NegMulAdd(s, s, s); }
HWY_INLINE FloatVec tanh_slope(FloatVec t) { return hn::NegMulAdd(t, t, set(1.0F)); }

template <typename T>
T* row_of(void* data, int64_t row, int64_t width) {
  return data == nullptr ? nullptr : static_cast<T*>(data) + row * width;
}
template <typename T>
const T* row_of(const void* data, int64_t row, int64_t width) {
  return data == nullptr ? nullptr : static_cast<const T*>(data) + row * width;
}

template <typename T>
void lstm_row(const kernels::LstmStep& args, int64_t row) {
  const int64_t width = args.at.width;
  const int64_t place = args.at.place(row, args.at.step);
  T* gates = row_of<T>(args.gates, place, 4 * width);
  const float* recurrent = args.recurrent + row * 4 * width;
  T* h = row_of<T>(args.h, row, width);
  T* output = row_of<T>(args.outputs, place, width);
  float* c = args.c + row * width;
  float* cell = row_of<float>(args.cells, place, width);
  for_columns(static_cast<size_t>(width), [&](auto columns) {
    const auto total = [&](int64_t which) {
      const int64_t offset = which * width;
      return hn::Add(columns.get(gates + offset),
                     hn::Add(columns.get(recurrent + offset), columns.get(args.bias + offset)));
    };
    const FloatVec i = gate_sigmoid(total(0));
    const FloatVec f = gate_sigmoid(total(1));
    const FloatVec g = gate_tanh(total(2));
    const FloatVec o = gate_sigmoid(total(3));
    const FloatVec new_c = hn::MulAdd(f, columns.get(c), hn::Mul(i, g));
    const FloatVec new_h = hn::Mul(o, gate_tanh(new_c));
    columns.put(i, gates);
    columns.put(f, gates + width);
    columns.put(g, gates + 2 * width);
    columns.put(o, gates + 3 * width);
    columns.put(new_c, c);
    columns.put(new_h, h);
    columns.put(new_h, output);
    if (cell != nullptr) {
      columns.put(new_c, cell);
    }
  });
}

template <typename T>
void lstm_backward_row(const kernels::LstmStepBackward& args, int64_t row) {
  const int64_t width = args.at.width;
  const int64_t step = args.at.step;
  const int64_t place = args.at.place(row, step);
  T* gates = row_of<T>(args.gates, place, 4 * width);
  T* d_step = row_of<T>(args.d_step, row, 4 * width);
  const T* d_output = row_of<T>(args.d_outputs, place, width);
  const float* cell = args.cells + place * width;
  const float* before = step == 0 ? row_of<float>(args.c0, row, width)
                                  : args.cells + args.at.place(row, step - 1) * width;
  float* dh_row = args.dh + row * width;
  float* dc_row = args.dc + row * width;
  for_columns(static_cast<size_t>(width), [&](auto columns) {
    const FloatVec i = columns.get(gates);
    const FloatVec f = columns.get(gates + width);
    const FloatVec g = columns.get(gates + 2 * width);
    const FloatVec o = columns.get(gates + 3 * width);
    const FloatVec t = gate_tanh(columns.get(cell));
    const FloatVec dh = hn::Add(columns.get(dh_row), columns.get_if(d_output));
    const FloatVec dc = hn::MulAdd(hn::Mul(dh, o), tanh_slope(t), columns.get(dc_row));
    const auto put = [&](int64_t which, FloatVec gradient) {
      columns.put(gradient, gates + which * width);
      columns.put(gradient, d_step + which * width);
    };
    put(0, hn::Mul(hn::Mul(dc, g), gate_slope(i)));
    put(1, hn::Mul(hn::Mul(dc, columns.get_if(before)), gate_slope(f)));
    put(2, hn::Mul(hn::Mul(dc, i), tanh_slope(g)));
    put(3, hn::Mul(hn::Mul(dh, t), gate_slope(o)));
    columns.put(hn::Mul(dc, f), dc_row);
    columns.put(zero(), dh_row);
  });
}

template <typename T>
void gru_row(const kernels::GruStep& args, int64_t row) {
  const int64_t width = args.at.width;
  const int64_t place = args.at.place(row, args.at.step);
  T* gates = row_of<T>(args.gates, place, 3 * width);
  const float* recurrent = args.recurrent + row * 3 * width;
  T* h = row_of<T>(args.h, row, width);
  T* output = row_of<T>(args.outputs, place, width);
  T* candidate = row_of<T>(args.candidates, place, width);
  for_columns(static_cast<size_t>(width), [&](auto columns) {
    const auto hidden = [&](int64_t which) {
      return hn::Add(columns.get(recurrent + which * width),
                     columns.get(args.bias + which * width));
    };
    const FloatVec r = gate_sigmoid(hn::Add(columns.get(gates), hidden(0)));
    const FloatVec z = gate_sigmoid(hn::Add(columns.get(gates + width), hidden(1)));
    const FloatVec q = hidden(2);
    const FloatVec n = gate_tanh(hn::MulAdd(r, q, columns.get(gates + 2 * width)));
    const FloatVec new_h = hn::MulAdd(z, hn::Sub(columns.get(h), n), n);
    columns.put(r, gates);
    columns.put(z, gates + width);
    columns.put(n, gates + 2 * width);
    columns.put(new_h, h);
    columns.put(new_h, output);
    if (candidate != nullptr) {
      columns.put(q, candidate);
    }
  });
}

template <typename T>
void gru_backward_row(const kernels::GruStepBackward& args, int64_t row) {
  const int64_t width = args.at.width;
  const int64_t step = args.at.step;
  const int64_t place = args.at.place(row, step);
  T* gates = row_of<T>(args.gates, place, 3 * width);
  T* candidate = row_of<T>(args.candidates, place, width);
  T* d_step = row_of<T>(args.d_step, row, 3 * width);
  const T* d_output = row_of<T>(args.d_outputs, place, width);
  const T* before = step == 0 ? row_of<T>(args.h0, row, width)
                              : row_of<T>(args.outputs, args.at.place(row, step - 1), width);
  float* dh_row = args.dh + row * width;
  for_columns(static_cast<size_t>(width), [&](auto columns) {
    const FloatVec r = columns.get(gates);
    const FloatVec z = columns.get(gates + width);
    const FloatVec n = columns.get(gates + 2 * width);
    const FloatVec q = columns.get(candidate);
    const FloatVec dh = hn::Add(columns.get(dh_row), columns.get_if(d_output));
    const FloatVec dn = hn::Mul(hn::NegMulAdd(dh, z, dh), tanh_slope(n));
    const FloatVec dz = hn::Mul(hn::Mul(dh, hn::Sub(columns.get_if(before), n)), gate_slope(z));
    const FloatVec dr = hn::Mul(hn::Mul(dn, q), gate_slope(r));
    const FloatVec dq = hn::Mul(dn, r);
    columns.put(dr, gates);
    columns.put(dz, gates + width);
    columns.put(dn, gates + 2 * width);
    columns.put(dq, candidate);
    columns.put(dr, d_step);
    columns.put(dz, d_step + width);
    columns.put(dq, d_step + 2 * width);
    columns.put(hn::Mul(dh, z), dh_row);
  });
}

}  // namespace

void lstm_rows(const kernels::LstmStep& args, int64_t begin, int64_t end) {
  with_type(args.at.dtype, [&](auto* type) {
    for (int64_t row = begin; row < end; ++row) {
      if (args.at.active(row)) {
        lstm_row<std::remove_pointer_t<decltype(type)>>(args, row);
      }
    }
  });
}

void gru_rows(const kernels::GruStep& args, int64_t begin, int64_t end) {
  with_type(args.at.dtype, [&](auto* type) {
    for (int64_t row = begin; row < end; ++row) {
      if (args.at.active(row)) {
        gru_row<std::remove_pointer_t<decltype(type)>>(args, row);
      }
    }
  });
}

namespace {

// A row that has ended adds nothing to its dh, which waits for the step at which the row ends.
template <typename T>
HWY_INLINE void no_gradient(void* d_step, int64_t row, int64_t width) {
  std::fill_n(row_of<T>(d_step, row, width), width, T(0.0F));
}

}  // namespace

void lstm_backward_rows(const kernels::LstmStepBackward& args, int64_t begin, int64_t end) {
  with_type(args.at.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t row = begin; row < end; ++row) {
      if (args.at.active(row)) {
        lstm_backward_row<T>(args, row);
      } else {
        no_gradient<T>(args.d_step, row, 4 * args.at.width);
      }
    }
  });
}

void gru_backward_rows(const kernels::GruStepBackward& args, int64_t begin, int64_t end) {
  with_type(args.at.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t row = begin; row < end; ++row) {
      if (args.at.active(row)) {
        gru_backward_row<T>(args, row);
      } else {
        no_gradient<T>(args.d_step, row, 3 * args.at.width);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(lstm_rows);
HWY_EXPORT(lstm_backward_rows);
HWY_EXPORT(gru_rows);
HWY_EXPORT(gru_backward_rows);

namespace kernels {
namespace {

// An element of the state takes some five exponentials.
constexpr int64_t kElementCost = 16;

template <typename Rows>
void for_rows(const RecurrentStep& at, const Rows& rows) {
  parallel_rows(at.batch, kElementCost * at.width, rows);
}

// Squares small enough for both sides to stay in the first-level cache.
constexpr int64_t kSquare = 32;

template <typename T>
void transpose_rows(const TransposedCopy& args, int64_t begin, int64_t end) {
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  for (int64_t left = 0; left < args.columns; left += kSquare) {
    const int64_t right = std::min(args.columns, left + kSquare);
    for (int64_t top = begin; top < end; top += kSquare) {
      const int64_t bottom = std::min(end, top + kSquare);
      for (int64_t c = left; c < right; ++c) {
        for (int64_t r = top; r < bottom; ++r) {
          out[c * args.rows + r] = in[r * args.columns + c];
        }
      }
    }
  }
}

}  // namespace

void lstm_step(const LstmStep& args) {
  for_rows(args.at, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lstm_rows)(args, begin, end);
  });
}

void lstm_step_backward(const LstmStepBackward& args) {
  for_rows(args.at, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lstm_backward_rows)(args, begin, end);
  });
}

void gru_step(const GruStep& args) {
  for_rows(args.at, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gru_rows)(args, begin, end);
  });
}

void gru_step_backward(const GruStepBackward& args) {
  for_rows(args.at, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gru_backward_rows)(args, begin, end);
  });
}

void transposed_copy(const TransposedCopy& args) {
  parallel_rows(args.rows, args.columns, [&](int64_t begin, int64_t end) {
    if (size_of(args.dtype) == sizeof(uint32_t)) {
      transpose_rows<uint32_t>(args, begin, end);
    } else {
      transpose_rows<uint16_t>(args, begin, end);
    }
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
