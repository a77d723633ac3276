// What one process of a mesh multiplies, keeps and sends, counted from its parameters.
#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "models/language/gpt.h"
#include "models/registry.h"
#include "models/translation/transformer.h"
#include "train/plan.h"

namespace heed {
namespace {

// What the cost model has to know of a model besides its parameters.
struct ModelFacts {
  bool pairs = false;  // reads sources and says targets
  bool tied = true;
  int64_t width = 0;
  int64_t heads = 0;
  int64_t longest = 0;
  bool relu = false;
  std::string forms;   // of the layers' attention: F or L
  int64_t window = 0;  // of L
  LossConfig loss = {};
};

template <typename Config>
Config typed(Json model) {
  model.erase("kind");
  Config config;
  config::read(config, model, "model");
  return config;
}

ModelFacts facts_of(const PlanRequest& request) {
  const Recipe& recipe = request.recipe;
  const std::string kind = model_spec(request.model).kind;
  check(recipe.task == "translate" || recipe.task == "language",
        "[plan] task is {}, expected translate or language", recipe.task);
  check(kind == "transformer" || kind == "gpt2",
        "[plan] model.kind is {}, expected transformer or gpt2, whose products the cost model "
        "counts",
        kind);
  ModelFacts facts;
  const auto take = [&](const auto& config) {
    facts.tied = config.tied_output;
    facts.width = config.width;
    facts.heads = config.heads;
    facts.relu = config.activation == "relu";
  };
  facts.pairs = kind == "transformer";
  if (facts.pairs) {
    take(typed<TransformerConfig>(request.model));
  } else {
    const auto config = typed<GptConfig>(request.model);
    check(config.cutoffs.empty(), "[plan] model.cutoffs is {}, expected none",
          request.model["cutoffs"].dump());
    check(config.attention.find('M') == std::string::npos,
          "[plan] model.attention is {}, expected F and L alone", config.attention);
    take(config);
    facts.forms = config.attention;
    facts.window = config.window;
  }
  facts.longest = model_spec(request.model).longest;
  facts.loss = planned_loss_config(recipe);
  return facts;
}

// A batch as full_batch_loss() of the task has it.
PlannedBatch batch_of(const PlanRequest& request, const ModelFacts& facts) {
  constexpr int64_t kSentence = 32;  // a typical one
  const Json& data = request.recipe.own.at("data");
  const auto tokens = data.at("batch_tokens").get<int64_t>();
  check(facts.longest == 0 || request.length <= facts.longest,
        "[plan] --length is {}, and the model takes at most {} tokens", request.length,
        facts.longest);
  const int64_t longest = facts.longest > 0 ? facts.longest : std::numeric_limits<int64_t>::max();
  PlannedBatch batch{
      .length = request.length, .sides = facts.pairs ? 2 : 1, .copies = facts.loss.copies()};
  if (batch.length == 0 && facts.pairs) {
    batch.length = std::min({kSentence, longest, tokens});
  } else if (batch.length == 0) {
    batch.length = facts.longest > 0 ? facts.longest : data.at("max_length").get<int64_t>();
  }
  batch.rows = std::max<int64_t>(1, tokens / batch.length);
  return batch;
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// The dimension that a parameter is split in, if it is.
std::string_view dimension_of(std::string_view name) {
  return contains(name, "attention.")      ? "heads"
         : contains(name, "feed_forward.") ? "hidden"
                                           : "vocabulary";
}

// Goes over the parameters of a process.
class WorkCounter {
 public:
  WorkCounter(const PlanRequest& request, PretendedProcess& process)
      : recipe_(request.recipe),
        mesh_(process.mesh()),
        store_(process.store()),
        facts_(facts_of(request)),
        element_(recipe_.train.precision == "bf16" ? 2.0 : 4.0) {
    work_.axes = mesh_.axes();
    work_.processes = mesh_.size();
    work_.batch = batch_of(request, facts_);
  }

  PlannedWork count();

 private:
  // How a matrix is used in a batch.
  struct Use {
    std::vector<int64_t> lookups = {};  // tokens of each
    int64_t tokens = 0;                 // that it is multiplied with
    bool in_layer = false;
  };

  double tokens() const { return static_cast<double>(work_.batch.tokens()); }
  double bytes(double elements) const { return elements * element_; }
  bool recomputed() const { return recipe_.train.checkpoint_layers; }

  Use use_of(const ParameterEntry& entry) const;
  void count_batches();
  void count_entry(const ParameterEntry& entry);
  void count_exchange(const ParameterEntry& entry, const Use& use);
  void count_logits(const ParameterEntry& entry);
  void count_attention(const ParameterEntry& entry);
  void count_kept(const ParameterEntry& entry);
  void add_all_reduce(std::string_view dimension, double size, int64_t times);
  void count_activations();
  void note_whole();
  double pairs_of(std::string_view name) const;

  const Recipe& recipe_;
  const Mesh& mesh_;
  const ParameterStore& store_;
  ModelFacts facts_;
  double element_;  // bytes of an activation
  PlannedWork work_;
  // Bytes of activations.
  std::map<std::string, double> layers_;  // that each makes
  double outside_ = 0.0;                  // made by none of them
  double logits_ = 0.0;                   // with their gradient
  double widest_ = 0.0;                   // that the backward pass of a layer needs besides
  double buffer_ = 0.0;                   // of the largest exchange
};

// By the names that Transformer and Gpt give.
WorkCounter::Use WorkCounter::use_of(const ParameterEntry& entry) const {
  const std::string_view name = entry.name;
  const int64_t all = work_.batch.tokens();
  if (contains(name, "attention.") || contains(name, "feed_forward.")) {
    return {.tokens = all, .in_layer = true};
  }
  if (name == "output.weight") {
    return {.tokens = all};
  }
  const int64_t said = facts_.tied ? all : 0;  // by the table of the targets
  if (name == "embedding.weight") {
    return {.lookups = {all, all}, .tokens = said};
  }
  if (name == "tokens.weight" || name == "target_embedding.weight") {
    return {.lookups = {all}, .tokens = said};
  }
  // Positions of a pair are looked up once for all rows.
  return {.lookups = {contains(name, "coder.positions.") ? work_.batch.length : all}};
}

void WorkCounter::add_all_reduce(std::string_view dimension, double size, int64_t times) {
  const double members = mesh_.along(dimension).size();
  work_.activations.push_back(
      {.axis = axis_of(mesh_, dimension), .part = size / members, .times = 2 * times});
  // What comes from the others, and the f32 sum of the own part.
  const double sum = 4.0 * size / element_ / members;
  buffer_ = std::max(buffer_, size * (members - 1) / members + sum);
}

void WorkCounter::count_exchange(const ParameterEntry& entry, const Use& use) {
  const auto wide = [&](int64_t count, int axis) {
    return bytes(static_cast<double>(count) * static_cast<double>(entry.whole_shape[axis]));
  };
  const std::string_view dimension = dimension_of(entry.name);
  for (const int64_t looked_up : use.lookups) {
    add_all_reduce(dimension, wide(looked_up, 1), 1);
  }
  if (use.tokens == 0) {
    return;
  }
  if (entry.shape[0] < entry.whole_shape[0]) {
    add_all_reduce(dimension, wide(use.tokens, 1), 1);  // the gradient of the input
  } else {
    const bool again = use.in_layer && recomputed();
    add_all_reduce(dimension, wide(use.tokens, 0), again ? 2 : 1);  // the output
  }
}

// Cross-entropy of whole logits writes the gradient in their place.
void WorkCounter::count_logits(const ParameterEntry& entry) {
  const LossConfig& loss = facts_.loss;
  const double own = bytes(tokens() * static_cast<double>(entry.shape[0]));
  const bool plain = loss.kind == "cross_entropy" && loss.agreement == 0.0F;
  if (entry.cut.whole()) {
    const bool in_place = loss.kind != "mse" && loss.agreement == 0.0F;
    logits_ = (in_place ? 1.0 : 2.0) * own;
    return;
  }
  constexpr double kFacts = 3.0 * 4.0;  // bytes of each row: see ops/mesh/split_cross_entropy.h
  work_.activations.push_back(
      {.axis = axis_of(mesh_, "vocabulary"), .part = plain ? kFacts * tokens() : own});
  const double all = bytes(tokens() * static_cast<double>(entry.whole_shape[0]));
  logits_ = plain ? 2.0 * own : own + 2.0 * all;
}

// Queries and the keys that they see, in all rows.
double WorkCounter::pairs_of(std::string_view name) const {
  const PlannedBatch& batch = work_.batch;
  const auto length = static_cast<double>(batch.length);
  const auto rows = static_cast<double>(batch.rows * batch.copies);
  if (name.starts_with("encoder.") || contains(name, "cross_attention.")) {
    return rows * length * length;
  }
  double window = length;
  if (!facts_.forms.empty()) {  // "layers.7.self_attention..."
    const size_t layer = std::stoul(std::string(name.substr(name.find('.') + 1)));
    const bool local = facts_.forms[layer % facts_.forms.size()] == 'L';
    window = local ? std::min(length, static_cast<double>(facts_.window)) : length;
  }
  return rows * (window * (window + 1) / 2 + (length - window) * window);
}

void WorkCounter::count_attention(const ParameterEntry& entry) {
  const bool self = entry.name.ends_with("self_attention.qkv.weight");
  if (self || entry.name.ends_with("cross_attention.kv.weight")) {
    work_.attention.push_back({.pairs = pairs_of(entry.name),
                               .columns = entry.shape[0] / (self ? 3 : 2),
                               .recomputed = recomputed()});
  }
}

// The tensors that the ops of a layer keep for the backward pass, told by its matrices.
void WorkCounter::count_kept(const ParameterEntry& entry) {
  const std::string_view name = entry.name;
  const auto width = static_cast<double>(facts_.width);
  const auto rows = static_cast<double>(entry.shape[0]);
  // The stream before each norm and after it.
  const double normed = 2.0 * width;
  const auto attended = [&](double columns) {  // the result, and a logarithm for each head
    return columns + 4.0 / element_ * columns / width * static_cast<double>(facts_.heads);
  };
  double elements = 0.0;
  if (name.ends_with("self_attention.qkv.weight")) {
    elements = normed + rows + attended(rows / 3);
  } else if (name.ends_with("cross_attention.q.weight")) {
    elements = normed + rows + attended(rows);
  } else if (name.ends_with("feed_forward.linear1.weight")) {
    elements = normed + rows;
    const double again = facts_.relu ? 0.0 : rows;  // what the activation function gave
    widest_ = std::max(widest_, bytes(tokens() * (again + rows + 3.0 * width)));
  } else if (name.ends_with("cross_attention.kv.weight")) {
    outside_ += bytes(tokens() * rows);  // projected before the layer, and not again
  }
  if (elements > 0.0) {
    const size_t end = std::min(name.find("self_attention."),
                                std::min(name.find("cross_attention."), name.find("feed_")));
    layers_[std::string(name.substr(0, end))] += bytes(tokens() * elements);
  }
}

void WorkCounter::count_entry(const ParameterEntry& entry) {
  work_.model_parameters += entry.whole_shape.size();
  work_.parameters += entry.shape.size();
  if (entry.name == "norm.weight" || entry.name.ends_with("coder.norm.weight")) {
    outside_ += bytes(tokens() * 2.0 * static_cast<double>(facts_.width));
  }
  if (!entry.product) {
    // Embeddings of distances, which all heads use.
    const Group& heads = mesh_.along("heads");
    if (entry.name.ends_with(".relative") && !heads.alone() && facts_.heads % heads.size() == 0) {
      add_all_reduce("heads", bytes(static_cast<double>(entry.shape.size())), 1);
    }
    return;
  }
  const Use use = use_of(entry);
  if (use.tokens > 0) {
    const bool projected = contains(entry.name, "cross_attention.kv.");
    work_.products.push_back({.name = entry.name,
                              .tokens = use.tokens,
                              .outputs = entry.shape[0],
                              .inputs = entry.shape[1],
                              .recomputed = use.in_layer && !projected && recomputed(),
                              .split = !entry.cut.whole()});
  }
  if (!entry.cut.whole()) {
    count_exchange(entry, use);
  }
  if (use.tokens > 0 && !use.in_layer) {
    count_logits(entry);
  }
  count_attention(entry);
  count_kept(entry);
}

void WorkCounter::count_batches() {
  const int64_t members = mesh_.along("batch").size();
  const int64_t parts = recipe_.train.accumulate;
  check(parts % members == 0,
        "[plan] train.accumulate is {}, expected a multiple of {}, the processes along batch",
        parts, members);
  const PlannedBatch& batch = work_.batch;
  work_.batches = parts / members;
  work_.step_tokens = parts * batch.rows * batch.length * batch.sides;
}

// Recomputed layers keep what they are given, and one of them at a time makes the rest again, when
// the logits are gone.
void WorkCounter::count_activations() {
  double made = 0.0;
  double largest = 0.0;
  for (const auto& [name, size] : layers_) {
    made += size;
    largest = std::max(largest, size);
  }
  const double given = 2.0 * bytes(tokens() * static_cast<double>(facts_.width));
  const double kept = recomputed() ? given * static_cast<double>(layers_.size()) : made;
  const double again = recomputed() ? largest : 0.0;
  work_.activation_bytes = made + outside_ + logits_;
  work_.recomputed_bytes = recomputed() ? made : 0.0;
  work_.memory.logits = static_cast<size_t>(logits_);
  work_.memory.activations =
      static_cast<size_t>(kept + outside_ + std::max(logits_, again + widest_));
  work_.memory.buffers += static_cast<size_t>(buffer_);
}

// Parts of the model that the mesh could not split.
void WorkCounter::note_whole() {
  const auto share = [&](std::string_view part) {
    double whole = 0.0;
    for (const PlannedProduct& product : work_.products) {
      whole += contains(product.name, part) && !product.split ? product.forward() : 0.0;
    }
    for (const PlannedAttention& each : work_.attention) {
      whole += part == "attention." ? 2.0 * each.product() : 0.0;
    }
    return 100.0 * whole / work_.forward_flop();
  };
  const Group& heads = mesh_.along("heads");
  const Group& hidden = mesh_.along("hidden");
  if (!heads.alone() && facts_.heads % heads.size() != 0) {
    work_.notes.push_back(fmt::format(
        "model.heads is {}, which {}:{} does not divide: every process computes all of attention, "
        "{:.0f} % of its products",
        facts_.heads, axis_of(mesh_, "heads"), heads.size(), share("attention.")));
  }
  const double whole = hidden.alone() ? 0.0 : share("feed_forward.");
  if (whole > 0.0) {
    work_.notes.push_back(
        fmt::format("model.hidden is not a multiple of {}, the processes along {}: every one "
                    "computes all of the feed-forward layers, {:.0f} % of its products",
                    hidden.size(), axis_of(mesh_, "hidden"), whole));
  }
  if (!mesh_.along("vocabulary").alone() && !facts_.tied) {
    work_.notes.push_back(
        fmt::format("model.tied_output is false, and an output matrix of its own is not split: "
                    "every process computes all logits, {:.0f} % of its products",
                    share("output.")));
  }
}

PlannedWork WorkCounter::count() {
  count_batches();
  for (const ParameterEntry& entry : store_.entries()) {
    count_entry(entry);
  }
  count_updates(recipe_, store_, work_);
  count_activations();
  note_whole();
  return std::move(work_);
}

}  // namespace

LossConfig planned_loss_config(const Recipe& recipe) {
  AgreementLossConfig config;  // of which language models have a part
  config::read(config, recipe.own.at("train"), "recipe", "train");
  return config.config();
}

PlannedWork count_work(const PlanRequest& request) {
  PretendedProcess process(request.recipe.mesh, request.model);
  process.store().lay_out();
  return WorkCounter(request, process).count();
}

}  // namespace heed
