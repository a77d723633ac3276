#include "cli/bench/case.h"

#include <algorithm>

#include "decode/text/beam_search.h"
#include "kernels/matmul/int8/int8.h"
#include "models/language/gpt.h"
#include "models/translation/transformer.h"
#include "ops/loss/cross_entropy.h"
#include "ops/pointwise.h"
#include "train/optimizer.h"

namespace heed::cli {
namespace {

Tensor random_tokens(const Shape& shape, int64_t vocabulary, uint64_t stream) {
  const RandomStream random{kBenchSeed, stream};
  std::vector<int32_t> tokens(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int32_t>(random.bits(i) % static_cast<uint64_t>(vocabulary));
  }
  return Tensor::from_ints(tokens, shape);
}

Tensor random_values(const Shape& shape, DType dtype, uint64_t stream) {
  const RandomStream random{kBenchSeed, stream};
  std::vector<float> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = random.normal(i);
  }
  return Tensor::from(values, shape, dtype);
}

// A model with what training it needs.
template <typename Model>
struct Training {
  ParameterStore store;
  Model model;
  std::unique_ptr<Optimizer> optimizer;
  Tape tape{kBenchSeed};

  template <typename Config>
  Training(const Config& config, DType dtype) : model(store.root(), config) {
    store.allocate(dtype, kBenchSeed);
    optimizer = make_optimizer(store, {});
  }

  template <typename Loss>
  void step(const Loss& loss) {
    tape.clear();
    store.clear_gradients();
    {
      const TapeScope scope(tape);
      tape.backward(loss(model));
    }
    optimizer->step(1e-4F);
  }
};

// A batch of sentences and their translations, all of the same lengths.
struct PairSizes {
  int64_t pairs;
  int64_t source;
  int64_t target;
};

Workload train_translator(const TransformerConfig& config, const PairSizes& sizes, DType dtype) {
  auto training = std::make_shared<Training<Transformer>>(config, dtype);
  const Tensor source = random_tokens({sizes.pairs, sizes.source}, config.vocabulary, 1);
  const Tensor input = random_tokens({sizes.pairs, sizes.target}, config.vocabulary, 2);
  const Tensor target = random_tokens({sizes.pairs, sizes.target}, config.vocabulary, 3);
  const auto loss = [=](const Transformer& model) {
    return cross_entropy(model.decode(input, model.encode(source)), target,
                         {.label_smoothing = 0.1F});
  };
  return {.run = [training, loss] { training->step(loss); },
          .tokens = static_cast<double>(sizes.pairs * (sizes.source + sizes.target)),
          .state = training};
}

Workload mt_train(DType dtype) {
  TransformerConfig config;
  config.positions = "none";
  return train_translator(config, {.pairs = 64, .source = 32, .target = 32}, dtype);
}

// The preset `small` on a batch as Multi30k has them: 4,096 target tokens in sentences of 24.
Workload small_train(DType dtype) {
  TransformerConfig config;
  config.vocabulary = 6000;
  config.width = 256;
  config.heads = 4;
  config.hidden = 1024;
  config.encoder_layers = 3;
  config.decoder_layers = 3;
  return train_translator(config, {.pairs = 170, .source = 16, .target = 24}, dtype);
}

struct Translating {
  ParameterStore store;
  Transformer model{store.root(), TransformerConfig{}};
};

Workload mt_decode(DType dtype, int64_t batch, int64_t beam) {
  constexpr int64_t kLength = 32;
  auto translating = std::make_shared<Translating>();
  translating->store.allocate(dtype, kBenchSeed, ParameterStore::Use::batch_invariant);
  std::vector<DecodeRequest> requests(static_cast<size_t>(batch));
  for (size_t i = 0; i < requests.size(); ++i) {
    const Tensor tokens = random_tokens({kLength}, TransformerConfig{}.vocabulary, i + 1);
    requests[i].source.assign(tokens.data<int32_t>(), tokens.data<int32_t>() + kLength);
  }
  const DecodeOptions options{.beam = beam, .max_length = kLength, .forced_length = true};
  return {.run = [=] { decode_batch(translating->model, requests, options); },
          .tokens = static_cast<double>(batch * kLength),
          .state = translating};
}

Workload gpt_train(DType dtype) {
  constexpr int64_t kBatch = 4;
  constexpr int64_t kLength = 256;
  const GptConfig config;
  auto training = std::make_shared<Training<Gpt>>(config, dtype);
  const Tensor tokens = random_tokens({kBatch, kLength}, config.vocabulary, 1);
  const Tensor target = random_tokens({kBatch, kLength}, config.vocabulary, 2);
  const auto loss = [=](const Gpt& model) { return model.loss(tokens, target); };
  return {.run = [training, loss] { training->step(loss); },
          .tokens = kBatch * kLength,
          .state = training};
}

int32_t argmax(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

struct Decoding {
  ParameterStore store;
  Gpt model{store.root(), GptConfig{}};
};

Workload gpt_decode(DType dtype) {
  constexpr int64_t kPrompt = 16;
  constexpr int64_t kNew = 128;
  auto decoding = std::make_shared<Decoding>();
  decoding->store.allocate(dtype, kBenchSeed, ParameterStore::Use::batch_invariant);
  const Tensor prompt = random_tokens({1, kPrompt}, GptConfig{}.vocabulary, 1);
  const auto run = [decoding, prompt] {
    GptState state;
    Tensor tokens = prompt;
    for (int64_t i = 0; i < kNew; ++i) {
      const int32_t next = argmax(decoding->model.step(tokens, state));
      tokens = Tensor::from_ints(std::vector<int32_t>{next}, {1, 1});
    }
  };
  double bytes = 0.0;
  for (const ParameterEntry& entry : decoding->store.entries()) {
    // The token embeddings are the output layer's matrix too; those of positions are looked up.
    if (entry.shape.rank() == 2 && entry.shape != Shape{GptConfig{}.context, GptConfig{}.width}) {
      bytes += static_cast<double>(dtype == DType::i8
                                       ? kernels::Int8Matrix::bytes(entry.shape[0], entry.shape[1])
                                       : entry.compute.bytes());
    }
  }
  return {.run = run, .tokens = kNew, .weight_bytes = bytes, .state = decoding};
}

Workload gpt_prefill(DType dtype) {
  constexpr int64_t kPrompt = 512;
  auto decoding = std::make_shared<Decoding>();
  decoding->store.allocate(dtype, kBenchSeed, ParameterStore::Use::batch_invariant);
  const Tensor prompt = random_tokens({1, kPrompt}, GptConfig{}.vocabulary, 1);
  const auto run = [decoding, prompt] {
    GptState state;
    decoding->model.step(prompt, state);
  };
  return {.run = run, .tokens = kPrompt, .state = decoding};
}

// What int8 weights are multiplied with.
DType inputs_of(DType weights) { return weights == DType::i8 ? DType::bf16 : weights; }

// BERT-base's encoder without embeddings and head.
struct Encoder {
  ParameterStore store;
  std::vector<TransformerLayer> layers;

  explicit Encoder(DType dtype) {
    for (int64_t i = 0; i < 12; ++i) {
      layers.emplace_back(store.root() / "layers" / i,
                          LayerConfig{.width = 768,
                                      .mixer = mixer<SelfAttention>({.width = 768, .heads = 12}),
                                      .hidden = 3072,
                                      .activation = Activation::gelu_tanh,
                                      .pre_norm = true});
    }
    store.allocate(dtype, kBenchSeed, ParameterStore::Use::inference);
  }
};

Workload bert_embed(DType dtype) {
  constexpr int64_t kSentences = 32;
  constexpr int64_t kLength = 64;
  auto encoder = std::make_shared<Encoder>(dtype);
  const Tensor x = random_values({kSentences, kLength, 768}, inputs_of(dtype), 1);
  const auto run = [encoder, x] {
    Residual stream{x, Tensor()};
    for (const TransformerLayer& layer : encoder->layers) {
      stream = layer(std::move(stream), {});
    }
    add(stream.x, stream.branch);
  };
  return {.run = run, .tokens = kSentences * kLength, .state = encoder};
}

struct AttentionLayer {
  ParameterStore store;
  Linear qkv;
  Parameter relative;
  Tape tape{kBenchSeed};

  AttentionLayer(const AttentionBench& bench, DType dtype)
      : qkv(store.root() / "qkv", bench.width, 3 * bench.width) {
    if (bench.relative) {
      relative = store.root().param("relative", {bench.heads, bench.length, bench.head_dim()},
                                    Init::normal(0.02F));
    }
    store.allocate(dtype, kBenchSeed);
  }
};

// Two products forward and five back over the visible half; the relative term adds one and three.
std::vector<kernels::Matmul> attention_products(const AttentionBench& bench, DType dtype) {
  const int64_t visible = bench.window > 0 ? bench.window : (bench.length + 1) / 2;
  const auto product = [&](int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    return kernels::Matmul{.m = m,
                           .n = n,
                           .k = k,
                           .a = {nullptr, dtype},
                           .b = {nullptr, dtype},
                           .c = {nullptr, dtype},
                           .transpose_a = ta,
                           .transpose_b = tb,
                           .batch = bench.heads};
  };
  const int64_t d = bench.head_dim();
  const auto logits = product(bench.length, visible, d, false, true);   // and d_weights, embedded
  const auto values = product(bench.length, d, visible, false, false);  // and d_query
  const auto d_keys = product(visible, d, bench.length, true, false);   // and d_values, d_relative
  std::vector<kernels::Matmul> all{logits, values, logits, logits, values, d_keys, d_keys};
  if (bench.relative) {
    all.insert(all.end(), {logits, logits, values, d_keys});
  }
  return all;
}

}  // namespace

// Projection if wanted, causal attention, and back from a gradient of ones.
Workload attention_workload(const AttentionBench& bench, DType dtype) {
  auto layer = std::make_shared<AttentionLayer>(bench, dtype);
  const int64_t parts = bench.projected ? 1 : 3;
  const Tensor input = random_values({1, bench.length, parts * bench.width}, dtype, 1);
  const Tensor dy = Tensor::full({1, bench.length, bench.heads, bench.head_dim()}, 1.0F, dtype);
  const auto run = [layer, input, dy, bench] {
    layer->tape.clear();
    layer->store.clear_gradients();
    const TapeScope scope(layer->tape);
    Tensor x = input;
    layer->tape.watch(x);
    const Tensor qkv = (bench.projected ? layer->qkv(x) : x)
                           .reshape({1, bench.length, 3, bench.heads, bench.head_dim()});
    const AttentionOptions options{.causal = true,
                                   .window_left = bench.window > 0 ? bench.window - 1 : -1,
                                   .relative = layer->relative.tensor()};
    layer->tape.backward(attention_qkv(qkv, options).y, dy);
  };
  return {.run = run,
          .tokens = static_cast<double>(bench.length),
          .attention = attention_products(bench, dtype),
          .state = layer};
}

const std::vector<BenchCase>& bench_cases() {
  static const std::vector<BenchCase> cases{
      {"mt-train", "Transformer base, 8k joint vocabulary, 64 pairs of 32+32 tokens, one Adam step",
       mt_train},
      {"small-train", "the preset small, 170 pairs of 16+24 tokens as in Multi30k, one Adam step",
       small_train},
      {"mt-greedy-1", "Transformer base, 8k vocabulary, 32 source and 32 target tokens, greedy",
       [](DType dtype) { return mt_decode(dtype, 1, 1); }, true},
      {"mt-beam-1", "the same with a beam of 4", [](DType dtype) { return mt_decode(dtype, 1, 4); },
       true},
      {"mt-greedy-32", "32 sentences together, greedy",
       [](DType dtype) { return mt_decode(dtype, 32, 1); }, true},
      {"mt-beam-32", "32 sentences together with a beam of 4",
       [](DType dtype) { return mt_decode(dtype, 32, 4); }, true},
      {"gpt-train", "GPT-2 124M, 4 sequences of 256 tokens, one Adam step", gpt_train},
      {"gpt-decode", "GPT-2 124M, batch 1, 128 new tokens after 16, with a cache", gpt_decode,
       true},
      {"gpt-prefill", "GPT-2 124M, a prompt of 512 tokens", gpt_prefill, true},
      {"bert-embed", "BERT-base's encoder, 32 sentences of 64 tokens, forward", bert_embed, true},
      {"attn", "one causal attention layer, L=2048 D=512 H=8, forward and backward",
       [](DType dtype) { return attention_workload({}, dtype); }},
      {"rel-attn", "the same with relative positions",
       [](DType dtype) { return attention_workload({.relative = true}, dtype); }},
      {"attn-long", "causal attention alone at L=16384 D=512 H=8, forward and backward",
       [](DType dtype) {
         return attention_workload({.length = 16384, .projected = false}, dtype);
       }},
      {"attn-head", "the same with one head of 64",
       [](DType dtype) {
         return attention_workload({.length = 16384, .width = 64, .heads = 1, .projected = false},
                                   dtype);
       }},
      {"attn-window", "attn-long with a window of 512",
       [](DType dtype) {
         return attention_workload({.length = 16384, .window = 512, .projected = false}, dtype);
       }},
  };
  return cases;
}

}  // namespace heed::cli
