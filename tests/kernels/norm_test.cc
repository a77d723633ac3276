// Layer norm and RMS norm with residual and dropout against the reference, at every instruction
// set.
#include "kernels/reduction/norm.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/parallel.h"
#include "kernels/reference/reference.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

struct Case {
  int64_t rows, width;
  bool rms, affine, residual;
  float dropout;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.rows << "x" << c.width << " rms " << c.rms << " affine " << c.affine
             << " residual " << c.residual << " dropout " << c.dropout;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& [rows, width] :
       {std::pair<int64_t, int64_t>{1, 2}, {3, 7}, {5, 17}, {2, 33}, {40, 100}, {3, 513}}) {
    for (const bool rms : {false, true}) {
      result.push_back({rows, width, rms, false, false, 0.0F});
      result.push_back({rows, width, rms, true, false, 0.0F});
      result.push_back({rows, width, rms, true, true, 0.0F});
      result.push_back({rows, width, rms, true, true, 0.25F});
    }
  }
  return result;
}

struct Inputs {
  Inputs(const Case& c, DType dtype)
      : x(Buffer(c.rows * c.width, dtype, 3).fill(151, 2.0, 0.5)),
        branch(Buffer(c.rows * c.width, dtype, 1).fill(152)),
        gamma(Buffer(c.width, DType::f32, 5).fill(153, 0.5, 1.0)),
        beta(Buffer(c.width, DType::f32, 2).fill(154)),
        dropout{c.dropout, {17, 4}} {}

  // x + dropout(branch), in double.
  std::vector<double> sum(const Case& c) const {
    std::vector<double> s = x.values();
    if (c.residual) {
      const std::vector<double> kept = reference::dropout<double>(branch.values(), dropout, c.width,
                                                                  kernels::padded_width(c.width));
      std::transform(s.begin(), s.end(), kept.begin(), s.begin(), std::plus<>());
    }
    return s;
  }
  Buffer x, branch, gamma, beta;
  kernels::Dropout dropout;
};

struct Statistics {
  std::vector<double> mean, rstd;
};
Statistics statistics(const Case& c, std::span<const double> s, double epsilon) {
  Statistics result;
  for (int64_t row = 0; row < c.rows; ++row) {
    const double* values = s.data() + row * c.width;
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < c.width && !c.rms; ++i) {
      mean += values[i] / static_cast<double>(c.width);
    }
    for (int64_t i = 0; i < c.width; ++i) {
      variance += (values[i] - mean) * (values[i] - mean) / static_cast<double>(c.width);
    }
    result.mean.push_back(mean);
    result.rstd.push_back(1 / std::sqrt(variance + epsilon));
  }
  return result;
}

void check_forward(const Case& c, DType dtype) {
  Inputs in(c, dtype);
  Buffer y(c.rows * c.width, dtype, 3);
  Buffer sum(c.rows * c.width, dtype, 1);
  Buffer mean(c.rows);
  Buffer rstd(c.rows);
  kernels::norm({.rows = c.rows,
                 .width = c.width,
                 .dtype = dtype,
                 .x = in.x.raw(),
                 .branch = c.residual ? in.branch.raw() : nullptr,
                 .dropout = in.dropout,
                 .gamma = c.affine ? in.gamma.data<float>() : nullptr,
                 .beta = c.affine && !c.rms ? in.beta.data<float>() : nullptr,
                 .epsilon = 1e-5F,
                 .rms = c.rms,
                 .sum = sum.raw(),
                 .y = y.raw(),
                 .mean = mean.data<float>(),
                 .rstd = rstd.data<float>()});
  const std::vector<double> s = in.sum(c);
  const std::vector<double> none;
  expect_close(
      y,
      reference::norm<double>(s, c.affine ? in.gamma.values() : none,
                              c.affine && !c.rms ? in.beta.values() : none, c.width, 1e-5, c.rms),
      {.absolute = 5e-6, .relative = 5e-6});
  const Statistics expected = statistics(c, s, 1e-5);
  expect_close(mean, expected.mean, {.absolute = 2e-6, .relative = 2e-6});
  expect_close(rstd, expected.rstd, {.absolute = 2e-6, .relative = 5e-6});
  if (c.residual) {
    expect_close(sum, s, {.absolute = 1e-6, .relative = 1e-6});
  }
}

TEST(Norm, Forward) {
  for_each_isa([] {
    for (const Case& c : cases()) {
      for (const DType dtype : kFloatTypes) {
        SCOPED_TRACE(::testing::Message() << c);
        check_forward(c, dtype);
      }
    }
  });
}

// The formula of kernels/reduction/norm.cc in double.
struct Gradients {
  std::vector<double> s, branch, gamma, beta;
};
Gradients gradients(const Case& c, const Inputs& in, const Buffer& s, const Buffer& dy,
                    const Buffer& d_sum) {
  const Statistics stats = statistics(c, s.values(), 1e-5);
  Gradients g{s.values(),
              {},
              std::vector<double>(static_cast<size_t>(c.width), 0.0),
              std::vector<double>(static_cast<size_t>(c.width), 0.0)};
  const double width = static_cast<double>(c.width);
  for (int64_t row = 0; row < c.rows; ++row) {
    const auto at = [&](int64_t i) { return row * c.width + i; };
    const double mean = stats.mean[static_cast<size_t>(row)];
    const double rstd = stats.rstd[static_cast<size_t>(row)];
    const auto hat = [&](int64_t i) { return (s.get(at(i)) - mean) * rstd; };
    const auto chained = [&](int64_t i) {
      return dy.get(at(i)) * (c.affine ? in.gamma.get(i) : 1.0);
    };
    double mean_g = 0;
    double mean_gh = 0;
    for (int64_t i = 0; i < c.width; ++i) {
      mean_g += c.rms ? 0.0 : chained(i) / width;
      mean_gh += chained(i) * hat(i) / width;
      g.gamma[static_cast<size_t>(i)] += dy.get(at(i)) * hat(i);
      g.beta[static_cast<size_t>(i)] += dy.get(at(i));
    }
    for (int64_t i = 0; i < c.width; ++i) {
      g.s[static_cast<size_t>(at(i))] =
          rstd * (chained(i) - mean_g - hat(i) * mean_gh) + d_sum.get(at(i));
    }
  }
  g.branch = reference::dropout<double>(g.s, in.dropout, c.width, kernels::padded_width(c.width));
  return g;
}

void check_backward(const Case& c, DType dtype, bool accumulate) {
  Inputs in(c, dtype);
  const int64_t n = c.rows * c.width;
  const Buffer s = Buffer(n, dtype, 3).fill(161, 2.0, 0.5);
  const Buffer dy = Buffer(n, dtype, 1).fill(162);
  const Buffer d_sum = Buffer(n, dtype, 5).fill(163);
  const Statistics stats = statistics(c, s.values(), 1e-5);
  Buffer mean(c.rows);
  Buffer rstd(c.rows);
  for (int64_t row = 0; row < c.rows; ++row) {
    mean.set(row, stats.mean[static_cast<size_t>(row)]);
    rstd.set(row, stats.rstd[static_cast<size_t>(row)]);
  }
  Gradients expected = gradients(c, in, s, dy, d_sum);
  Buffer dx = Buffer(n, dtype, 2).fill(164);
  Buffer d_branch = Buffer(n, dtype, 7).fill(165);
  Buffer d_gamma = Buffer(c.width, DType::f32, 1).fill(166);
  Buffer d_beta = Buffer(c.width, DType::f32, 3).fill(167);
  const auto add_old = [&](std::vector<double>& to, const Buffer& old) {
    for (int64_t i = 0; i < old.size() && accumulate; ++i) {
      to[static_cast<size_t>(i)] += old.get(i);
    }
  };
  add_old(expected.s, dx);
  add_old(expected.branch, d_branch);
  add_old(expected.gamma, d_gamma);
  add_old(expected.beta, d_beta);
  kernels::norm_backward({.rows = c.rows,
                          .width = c.width,
                          .dtype = dtype,
                          .s = s.raw(),
                          .dy = dy.raw(),
                          .d_sum = d_sum.raw(),
                          .dropout = in.dropout,
                          .gamma = c.affine ? in.gamma.data<float>() : nullptr,
                          .mean = mean.data<float>(),
                          .rstd = rstd.data<float>(),
                          .rms = c.rms,
                          .dx = dx.raw(),
                          .accumulate_dx = accumulate,
                          .d_branch = d_branch.raw(),
                          .accumulate_branch = accumulate,
                          .d_gamma = d_gamma.data<float>(),
                          .accumulate_gamma = accumulate,
                          .d_beta = d_beta.data<float>(),
                          .accumulate_beta = accumulate});
  const Tolerance tolerance{.absolute = 2e-5, .relative = 1e-5};
  expect_close(dx, expected.s, tolerance);
  expect_close(d_branch, expected.branch, tolerance);
  expect_close(d_gamma, expected.gamma, tolerance);
  expect_close(d_beta, expected.beta, tolerance);
}

TEST(Norm, Backward) {
  for_each_isa([] {
    for (const Case& c : cases()) {
      for (const DType dtype : kFloatTypes) {
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(::testing::Message() << c << " accumulate " << accumulate);
          check_backward(c, dtype, accumulate);
        }
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
