#include <cmath>

#include "autograd/checkpoint.h"
#include "kernels/elementwise/functions.h"
#include "ops/attention/additive_attention.h"
#include "ops/attention/attention.h"
#include "ops/bottleneck/gumbel_softmax.h"
#include "ops/bottleneck/semantic_hash.h"
#include "ops/bottleneck/vector_quantise.h"
#include "ops/cases/sized_case.h"
#include "ops/conv.h"
#include "ops/feed_forward.h"
#include "ops/linear.h"
#include "ops/loss/agreement.h"
#include "ops/loss/cross_entropy.h"
#include "ops/loss/logistic_mixture.h"
#include "ops/loss/loss.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/shape/cast.h"
#include "ops/shape/embedding.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"
#include "ops/softmax.h"

namespace heed::cases {
namespace {

using Tensors = std::vector<Tensor>;

// A run of an op with one result.
template <typename Op>
Run one(Op op) {
  return [op](const Tensors& t) { return Tensors{op(t)}; };
}

// Weights of `inputs` columns that keep the size of activations.
Input weight_of(const Shape& shape, int64_t inputs) {
  return {.shape = shape, .scale = 1.0 / std::sqrt(static_cast<double>(inputs))};
}

Input integers_below(const Shape& shape, int64_t end) {
  return {.shape = shape, .kind = Kind::integer, .scale = static_cast<double>(end)};
}

// Far inside of (0, 1).
Input probabilities(const Shape& shape, bool gradient) {
  return {.shape = shape, .scale = 0.05, .offset = 0.5, .gradient = gradient};
}

// Where a function of the domain is smooth.
Input argument(const Shape& shape, kernels::Domain domain) {
  const bool positive = domain == kernels::Domain::positive;
  return {.shape = shape, .scale = positive ? 0.25 : 1.0, .offset = positive ? 3.0 : 0.0};
}

// 2 m n k
double product(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

class Builder {
 public:
  explicit Builder(const Sizes& sizes)
      : s_(sizes), activations_{sizes.batch, sizes.length, sizes.width} {}

  std::vector<SizedCase> build() {
    pointwise_cases();
    shape_cases();
    picking_cases();
    row_cases();
    bottleneck_cases();
    loss_cases();
    product_cases();
    sequence_cases();
    image_cases();
    return std::move(cases_);
  }

 private:
  void add(SizedCase sized) { cases_.push_back(std::move(sized)); }
  // An op of one tensor of activations.
  template <typename Op>
  void add_plain(const char* name, Op op, Traffic backward = all_backward) {
    add({.op = name,
         .inputs = {{.shape = activations_}},
         .run = one([op](const Tensors& t) { return op(t[0]); }),
         .backward = backward});
  }

  void pointwise_cases() {
    for (const kernels::UnaryRow& row : kernels::unary_rows()) {
      if (row.function != Unary::none) {  // which is no op
        add({.op = row.name,
             .inputs = {argument(activations_, row.domain)},
             .run = one([&row](const Tensors& t) { return pointwise(row.function, t[0]); }),
             .backward = row.saved == kernels::Saved::nothing ? gradients_alone : all_backward});
      }
    }
    for (const kernels::BinaryRow& row : kernels::binary_rows()) {
      const bool constant =
          !row.reads_da.a && !row.reads_da.b && !row.reads_db.a && !row.reads_db.b;
      const bool copies = constant && row.db(0.0, 0.0) != 1.0;
      add({.op = row.name,
           .inputs = {{.shape = activations_}, argument(activations_, row.domain_b)},
           .run = one([&row](const Tensors& t) { return pointwise(row.function, t[0], t[1]); }),
           .backward = copies     ? [](const Bytes& b) { return b.outputs + b.gradients / 2; }
                       : constant ? nothing
                                  : all_backward});
    }
    add_plain(
        "scale", [](const Tensor& x) { return scale(x, 0.125F); }, gradients_alone);
    add_plain(
        "add_scalar", [](const Tensor& x) { return add_scalar(x, 0.125F); }, nothing);
    add_plain(
        "dropout", [](const Tensor& x) { return dropout(x, 0.1F); }, gradients_alone);
    add({.op = "where",
         .inputs = {{.shape = activations_, .kind = Kind::byte, .scale = 2.0},
                    {.shape = activations_},
                    {.shape = activations_}},
         .run = one([](const Tensors& t) { return where(t[0], t[1], t[2]); }),
         .backward = gradients_alone});
  }

  void shape_cases() {
    add_plain(
        "cast",
        [](const Tensor& x) { return cast(x, x.dtype() == DType::f32 ? DType::bf16 : DType::f32); },
        gradients_alone);
    const int64_t half = s_.width / 2;
    add({.op = "slice",
         .inputs = {{.shape = activations_}},
         .run = one([half](const Tensors& t) { return slice(t[0], -1, 0, half); }),
         .forward = picked,
         .backward = gradients_alone});
    add({.op = "split",
         .inputs = {{.shape = activations_}},
         .run =
             [half](const Tensors& t) {
               return split(t[0], -1, {half, half});
             },
         .backward = gradients_alone});
    add({.op = "concat",
         .inputs = {{.shape = activations_}, {.shape = activations_}},
         .run = one([](const Tensors& t) {
           return concat({t[0], t[1]}, -1);
         }),
         .backward = gradients_alone});
    add_plain(
        "pad", [](const Tensor& x) { return pad(x, 1, {.before = 1, .after = 1}); },
        gradients_alone);
    add_plain(
        "permute",
        [](const Tensor& x) {
          return permute(x, {0, 2, 1});
        },
        gradients_alone);
    add({.op = "expand",
         .inputs = {{.shape = {s_.length, s_.width}}},
         .run = one([shape = activations_](const Tensors& t) { return expand(t[0], shape); }),
         .backward = gradients_alone});
    add_plain("checkpoint", [](const Tensor& x) {
      return checkpoint([](const Tensor& v) { return gelu(v); }, x);
    });
  }

  void picking_cases() {
    const Input x{.shape = activations_};
    add({.op = "index_select",
         .inputs = {x, integers_below({s_.length / 2}, s_.length)},
         .run = one([](const Tensors& t) { return index_select(t[0], 1, t[1]); }),
         .forward = picked,
         .backward = gradients_alone});
    add({.op = "gather_elements",
         .inputs = {x, integers_below({s_.batch, s_.length, s_.width / 4}, s_.width)},
         .run = one([](const Tensors& t) { return gather_elements(t[0], 2, t[1]); }),
         .forward = picked,
         .backward = gradients_alone});
    add({.op = "gather_nd",
         .inputs = {x, integers_below({s_.batch, s_.length / 2, 1}, s_.length)},
         .run = one([](const Tensors& t) { return gather_nd(t[0], t[1], 1); }),
         .forward = picked,
         .backward = gradients_alone});
    add_plain(
        "top_k", [](const Tensor& v) { return top_k(v, 8).values; }, gradients_alone);
    add({.op = "embedding",
         .inputs = {integers_below({s_.batch, s_.length}, s_.vocabulary),
                    {.shape = {s_.vocabulary, s_.width}}},
         .run = one([](const Tensors& t) { return embedding(t[0], t[1]); }),
         .forward = picked,
         .backward = gradients_alone});
  }

  void row_cases() {
    add_plain("softmax", [](const Tensor& x) { return softmax(x); });
    add_plain("log_softmax", [](const Tensor& x) { return log_softmax(x); });
    const Input gain{.shape = {s_.width}, .kind = Kind::parameter};
    add({.op = "layer_norm",
         .inputs = {{.shape = activations_}, gain, gain},
         .run = one([](const Tensors& t) { return layer_norm(t[0], t[1], t[2]); })});
    add({.op = "rms_norm",
         .inputs = {{.shape = activations_}, gain},
         .run = one([](const Tensors& t) { return rms_norm(t[0], t[1]); })});
    add({.op = "residual_norm",
         .inputs = {{.shape = activations_}, {.shape = activations_}, gain, gain},
         .run = [](const Tensors& t) {
           const ResidualNorm y = residual_norm(t[0], t[1], t[2], t[3], {.dropout = 0.1F});
           return Tensors{y.sum, y.normed};
         }});
    add_plain(
        "sum", [](const Tensor& x) { return sum(x, -1); }, gradients_alone);
    add_plain(
        "mean", [](const Tensor& x) { return mean(x, -1); }, gradients_alone);
    add_plain(
        "max", [](const Tensor& x) { return max(x, -1); }, gradients_alone);
  }

  // Latents are fewer than tokens, and narrower than layers.
  void bottleneck_cases() {
    const int64_t rows = s_.batch * s_.length / 4;
    const int64_t codes = s_.width / 4;
    add({.op = "semantic_hash", .inputs = {{.shape = {rows, 16}}}, .run = one([](const Tensors& t) {
                                                                     return semantic_hash(t[0]);
                                                                   })});
    add({.op = "gumbel_softmax",
         .inputs = {{.shape = {rows, codes}}},
         .run = one([](const Tensors& t) { return gumbel_softmax(t[0]); })});
    constexpr int64_t kSlices = 2;
    const int64_t width = codes / kSlices;
    add({.op = "vector_quantise",
         .inputs = {{.shape = {rows, kSlices * width}},
                    {.shape = {kSlices, codes, width}, .kind = Kind::parameter, .gradient = false}},
         .run = one([](const Tensors& t) { return vector_quantise(t[0], t[1]).y; }),
         .backward = nothing});
  }

  void loss_cases() {
    const int64_t rows = 2 * ((s_.batch * s_.length + 15) / 16);
    const Input logits{.shape = {rows, s_.vocabulary}};
    add({.op = "cross_entropy",
         .inputs = {logits, integers_below({rows}, s_.vocabulary)},
         .run = one([](const Tensors& t) {
           return cross_entropy(t[0], t[1], {.label_smoothing = 0.1F});
         })});
    add({.op = "agreement",
         .inputs = {logits, integers_below({rows / 2}, s_.vocabulary)},
         .run = one([](const Tensors& t) { return agreement(t[0], t[1]); })});
    const int64_t values = s_.batch * s_.length * 8;
    constexpr int64_t kMixture = 10;
    add({.op = "logistic_mixture_loss",
         .inputs = {{.shape = {values, 3 * kMixture}}, integers_below({values}, 256)},
         .run = one([](const Tensors& t) { return logistic_mixture_loss(t[0], t[1]); })});
    const Input constant{.shape = activations_, .gradient = false};
    add({.op = "mse",
         .inputs = {{.shape = activations_}, constant},
         .run = one([](const Tensors& t) { return mse(t[0], t[1]); })});
    add({.op = "binary_cross_entropy_with_logits",
         .inputs = {{.shape = activations_}, probabilities(activations_, false)},
         .run =
             one([](const Tensors& t) { return binary_cross_entropy_with_logits(t[0], t[1]); })});
    add({.op = "binary_cross_entropy",
         .inputs = {probabilities(activations_, true), probabilities(activations_, false)},
         .run = one([](const Tensors& t) { return binary_cross_entropy(t[0], t[1]); })});
    add({.op = "kl_divergence",
         .inputs = {{.shape = activations_, .offset = -7.0}, probabilities(activations_, false)},
         .run = one([](const Tensors& t) { return kl_divergence(t[0], t[1]); })});
  }

  void product_cases() {
    const int64_t rows = s_.batch * s_.length;
    const Input bias{.shape = {s_.width}, .kind = Kind::parameter};
    const double map = product(rows, s_.width, s_.width);
    add({.op = "linear",
         .inputs = {{.shape = activations_}, weight_of({s_.width, s_.width}, s_.width), bias},
         .run = one([](const Tensors& t) { return linear(t[0], t[1], t[2]); }),
         .flops = map,
         .backward_flops = 2 * map});
    const int64_t heads = s_.width / 64;
    const double batch = static_cast<double>(heads) * product(s_.length, s_.length, 64);
    add({.op = "matmul",
         .inputs = {{.shape = {heads, s_.length, 64}}, {.shape = {heads, 64, s_.length}}},
         .run = one([](const Tensors& t) { return matmul(t[0], t[1]); }),
         .flops = batch,
         .backward_flops = 2 * batch});
    const int64_t narrow = s_.width / 2;
    const int64_t hidden = 4 * narrow;
    const double layers = 2 * product(rows, hidden, narrow);
    add({.op = "feed_forward",
         .inputs = {{.shape = {s_.batch, s_.length, narrow}},
                    weight_of({hidden, narrow}, narrow),
                    {.shape = {hidden}, .kind = Kind::parameter},
                    weight_of({narrow, hidden}, hidden),
                    {.shape = {narrow}, .kind = Kind::parameter}},
         .run = one([](const Tensors& t) {
           return feed_forward(t[0], {.w1 = t[1], .b1 = t[2], .w2 = t[3], .b2 = t[4]},
                               {.activation = Activation::gelu, .dropout = 0.1F});
         }),
         .flops = layers,
         .backward_flops = 2 * layers});
  }

  void sequence_cases() {
    constexpr int64_t kDim = 64;
    const int64_t heads = s_.width / kDim;
    const Input head{.shape = {s_.batch, s_.length, heads, kDim}};
    const double pairs =
        static_cast<double>(s_.batch * heads) * product(s_.length, s_.length, kDim) / 2;
    add({.op = "attention",  // causal: half of the pairs; backward makes five products for two
         .inputs = {head, head, head},
         .run =
             one([](const Tensors& t) { return attention(t[0], t[1], t[2], {.causal = true}).y; }),
         .flops = 2 * pairs,
         .backward_flops = 5 * pairs});
    additive_attention_case();
    recurrent_case("lstm", 4);
    recurrent_case("gru", 3);
    const int64_t narrow = s_.width / 2;
    constexpr int64_t kTaps = 3;
    const double taps = product(s_.batch * s_.length, narrow, kTaps * narrow);
    add({.op = "conv1d",
         .inputs = {{.shape = {s_.batch, s_.length, narrow}},
                    weight_of({narrow, kTaps, narrow}, kTaps * narrow),
                    {.shape = {narrow}, .kind = Kind::parameter}},
         .run = one([](const Tensors& t) {
           return conv1d(t[0], t[1], t[2], {.padding_left = 1, .padding_right = 1});
         }),
         .flops = taps,
         .backward_flops = 2 * taps});
  }

  void additive_attention_case() {
    const int64_t length = s_.length / 8;
    const int64_t narrow = s_.width / 2;
    const Input side{.shape = {s_.batch, length, narrow}};
    const double pairs = static_cast<double>(s_.batch) * product(length, length, narrow);
    add({.op = "additive_attention",
         .inputs = {side, side, {.shape = {narrow}, .kind = Kind::parameter, .scale = 0.05}, side},
         .run = one([](const Tensors& t) {
           return additive_attention({.query = t[0], .keys = t[1], .v = t[2], .values = t[3]})
               .context;
         }),
         .flops = 2 * pairs,
         .backward_flops = 4 * pairs});
  }

  void recurrent_case(const char* name, int64_t gates) {
    const int64_t length = s_.length / 4;
    const int64_t narrow = s_.width / 2;
    const Input weight = weight_of({gates * narrow, narrow}, narrow);
    const Input bias{.shape = {gates * narrow}, .kind = Kind::parameter};
    const double steps = 2 * product(s_.batch * length, gates * narrow, narrow);
    add({.op = name,
         .inputs = {{.shape = {s_.batch, length, narrow}}, weight, weight, bias, bias},
         .run = one([gates](const Tensors& t) {
           const RecurrentWeights weights{t[1], t[2], t[3], t[4]};
           return gates == 4 ? lstm(t[0], weights).outputs : gru(t[0], weights).outputs;
         }),
         .flops = steps,
         .backward_flops = 2 * steps});
  }

  void image_cases() {
    const int64_t channels = s_.width / 8;
    constexpr int64_t kWindow = 3;
    const Input image{.shape = {s_.batch, s_.side, s_.side, channels}};
    const double taps =
        product(s_.batch * s_.side * s_.side, channels, kWindow * kWindow * channels);
    add({.op = "conv2d",
         .inputs = {image,
                    weight_of({channels, kWindow, kWindow, channels}, kWindow * kWindow * channels),
                    {.shape = {channels}, .kind = Kind::parameter}},
         .run = one([](const Tensors& t) {
           return conv2d(t[0], t[1], t[2], {.padding_begin = {1, 1}, .padding_end = {1, 1}});
         }),
         .flops = taps,
         .backward_flops = 2 * taps});
    const Input large{.shape = {s_.batch, 2 * s_.side, 2 * s_.side, channels}};
    add({.op = "max_pool2d", .inputs = {large}, .run = one([](const Tensors& t) {
                                                  return max_pool2d(t[0]);
                                                })});
    add({.op = "avg_pool2d",
         .inputs = {large},
         .run = one([](const Tensors& t) { return avg_pool2d(t[0]); }),
         .backward = gradients_alone});
  }

  Sizes s_;
  Shape activations_;
  std::vector<SizedCase> cases_;
};

}  // namespace

std::vector<SizedCase> sized_cases(const Sizes& sizes) { return Builder(sizes).build(); }

}  // namespace heed::cases
