// parity_dump DIR: two small models with all they compute, for torch_parity.py to compute again,
// and in DIR/folders two more as model folders, for folder_parity.py.
//
// Each folder of DIR holds a model's parameters, tokens, logits, loss and gradients, and the losses
// of ten steps of Adam on the same batch.
#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed.h"
#include "parity/dump.h"
#include "parity/folders.h"

namespace heed::parity {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int kTrainingSteps = 10;

Tensor random_tokens(uint64_t stream, const Shape& shape, int32_t vocabulary) {
  const RandomStream random{kSeed, stream};
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < shape.size(); ++i) {
    tokens.push_back(static_cast<int32_t>(random.bits(static_cast<uint64_t>(i)) %
                                          static_cast<uint64_t>(vocabulary)));
  }
  return Tensor::from_ints(tokens, shape);
}

// Biases begin as 0 and gains as 1, where many a fault does not show.
void disturb_vectors(ParameterStore& store) {
  uint64_t stream = 100;
  for (ParameterEntry& entry : store.entries()) {
    const RandomStream random{kSeed, stream++};
    for (int64_t i = 0; entry.shape.rank() == 1 && i < entry.shape.size(); ++i) {
      constexpr float kWidth = 0.2F;
      const float unit = random.uniform(static_cast<uint64_t>(i));
      entry.value.data<float>()[i] += kWidth * (unit - 0.5F);
    }
  }
}

struct Problem {
  ParameterStore& store;
  std::function<Tensor()> logits;
  Tensor targets;
  float label_smoothing = 0.0F;
};

// One forward and backward pass; the gradients are in the store.
Tensor pass(const Problem& problem, Tape& tape, Tensor* logits_copy) {
  tape.clear();
  problem.store.clear_gradients();
  const TapeScope scope(tape);
  Tensor logits = problem.logits();
  if (logits_copy != nullptr) {
    *logits_copy = logits.clone();
  }
  const Tensor loss =
      cross_entropy(std::exchange(logits, Tensor()), problem.targets,
                    {.label_smoothing = problem.label_smoothing, .ignore = kIgnore});
  const Tensor value = loss.clone();
  tape.backward(loss);
  problem.store.finish_gradients();
  return value;
}

void dump_problem(const Problem& problem, Dump& dump) {
  constexpr float kLearningRate = 1e-3F;
  const OptimizerConfig adam{.beta1 = 0.9F, .beta2 = 0.98F};
  disturb_vectors(problem.store);
  for (const ParameterEntry& entry : problem.store.entries()) {
    dump.add("parameter/" + entry.name, entry.value);
  }
  Tape tape(kSeed);
  Tensor logits;
  dump.add("loss", pass(problem, tape, &logits));
  dump.add("logits", logits);
  for (const ParameterEntry& entry : problem.store.entries()) {
    dump.add("gradient/" + entry.name, entry.slot.grad);
  }
  const auto optimizer = make_optimizer(problem.store, adam);
  std::vector<float> losses;
  for (int i = 0; i < kTrainingSteps; ++i) {
    losses.push_back(pass(problem, tape, nullptr).item());
    optimizer->step(kLearningRate);
  }
  dump.add("losses", Tensor::from(losses, {kTrainingSteps}));
  dump.add("targets", problem.targets);
  dump.set("label_smoothing", problem.label_smoothing);
  dump.set("ignore", kIgnore);
  dump.set("learning_rate", kLearningRate);
  dump.set("beta1", adam.beta1);
  dump.set("beta2", adam.beta2);
  dump.set("epsilon", adam.epsilon);
  dump.finish();
}

// Sources of different lengths and targets that do not count, as batches of sentences have.
void dump_transformer(const std::string& folder, bool pre_norm) {
  constexpr int32_t kVocabulary = 50;
  const TransformerConfig config{.vocabulary = kVocabulary,
                                 .width = 64,
                                 .heads = 4,
                                 .hidden = 128,
                                 .encoder_layers = 2,
                                 .decoder_layers = 2,
                                 .dropout = 0.0F,
                                 .attention_dropout = 0.0F,
                                 .hidden_dropout = 0.0F,
                                 .pre_norm = pre_norm};
  ParameterStore store;
  const Transformer model(store.root(), config);
  store.allocate(DType::f32, kSeed);
  const Tensor source = random_tokens(1, {3, 11}, kVocabulary);
  const Tensor lengths = Tensor::from_ints(std::vector<int32_t>{11, 7, 4}, {3});
  const Tensor input = random_tokens(2, {3, 9}, kVocabulary);
  const Tensor targets = random_tokens(3, {3, 9}, kVocabulary);
  for (int64_t i = targets.size() - 4; i < targets.size(); ++i) {
    targets.data<int32_t>()[i] = kIgnore;
  }
  Dump dump(folder);
  dump.set("model", "transformer");
  dump.set("heads", config.heads);
  dump.set("pre_norm", pre_norm);
  dump.set("encoder_layers", config.encoder_layers);
  dump.set("decoder_layers", config.decoder_layers);
  dump.add("source", source);
  dump.add("lengths", lengths);
  dump.add("input", input);
  const auto logits = [&] { return model.decode(input, model.encode(source, lengths), lengths); };
  dump_problem({store, logits, targets, 0.1F}, dump);
}

void dump_gpt(const std::string& folder) {
  constexpr int32_t kVocabulary = 60;
  const GptConfig config{
      .vocabulary = kVocabulary, .context = 32, .width = 64, .heads = 4, .layers = 2};
  ParameterStore store;
  const Gpt model(store.root(), config);
  store.allocate(DType::f32, kSeed);
  const Tensor input = random_tokens(4, {2, 29}, kVocabulary);
  Dump dump(folder);
  dump.set("model", "gpt");
  dump.set("heads", config.heads);
  dump.set("layers", config.layers);
  dump.add("input", input);
  const auto logits = [&] { return model.logits(input); };
  dump_problem({store, logits, random_tokens(5, {2, 29}, kVocabulary)}, dump);
}

}  // namespace
}  // namespace heed::parity

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc != 2 || first.starts_with('-')) {
    fmt::print(stderr,
               "usage: parity_dump DIR\n\nWrites small models and what they compute into DIR, for "
               "torch_parity.py DIR.\n");
    return first == "--help" || first == "-h" ? 0 : 2;
  }
  try {
    const std::string folder(first);
    heed::parity::dump_transformer(folder + "/transformer_post_norm", false);
    heed::parity::dump_transformer(folder + "/transformer_pre_norm", true);
    heed::parity::dump_gpt(folder + "/gpt");
    heed::parity::dump_folders(folder + "/folders");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
