// The cost model of train/plan.h against what really is allocated, multiplied and sent.
#include "train/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "autograd/checkpoint.h"
#include "kernels/matmul/matmul.h"
#include "models/registry.h"
#include "support/error_of.h"
#include "support/thread_mesh.h"
#include "support/tiny_training.h"
#include "train/gradient_exchange.h"

namespace heed::testing {
namespace {

constexpr int64_t kVocabulary = 96;

// No file of these exists.
Json planned_recipe(bool pairs) {
  Json recipe = Json::parse(R"({
      "data": {"batch_tokens": 256},
      "text": {"vocabulary": 96},
      "model": {"width": 32, "heads": 4, "hidden": 64},
      "train": {"steps": 1, "precision": "f32", "accumulate": 4}})");
  if (pairs) {
    recipe["data"].update({{"source", {"none.en"}}, {"target", {"none.de"}}});
    recipe["model"].update({{"encoder_layers", 2}, {"decoder_layers", 3}});
  } else {
    recipe["task"] = "language";
    recipe["data"]["text"] = {"none.txt"};
    recipe["model"].update({{"kind", "gpt2"}, {"layers", 3}, {"context", 64}});
  }
  return recipe;
}

// A recipe with the mesh, and its model.
struct Planning {
  explicit Planning(Json json, const MeshConfig& mesh = {}) {
    json["mesh"] = config::write(mesh);
    recipe = parse_recipe(json, "test");
    model = with_vocabularies(recipe.model, {.source = kVocabulary, .target = kVocabulary});
  }
  PlanRequest request() const { return {recipe, model}; }
  PlannedWork work() const { return count_work(request()); }

  Recipe recipe;
  Json model;
};

const std::vector<std::string> kAxes = {"batch:1", "batch:3", "model:2", "batch:2,model:2",
                                        "model:3,batch:2"};

TEST(Plan, ProcessesHaveTheParametersOfARealMesh) {
  for (const bool pairs : {true, false}) {
    for (const std::string& axes : kAxes) {
      SCOPED_TRACE(axes);
      Json json = planned_recipe(pairs);
      json["train"]["accumulate"] = 6;
      const Planning planning(json, {.axes = axes});
      const PlannedWork work = planning.work();
      std::mutex mutex;
      on_mesh({.axes = axes}, [&](const Mesh& mesh) {
        ParameterStore store;
        store.lay_out_on(mesh);
        const auto model = make_model(store.root(), planning.model);
        PretendedProcess pretended({.axes = axes}, planning.model, mesh.rank());
        const std::lock_guard lock(mutex);
        int64_t own = 0;
        for (size_t i = 0; i < store.entries().size(); ++i) {
          EXPECT_EQ(pretended.store().entries()[i].shape, store.entries()[i].shape);
          own += store.entries()[i].shape.size();
        }
        EXPECT_EQ(work.model_parameters, store.count());
        EXPECT_LE(own, work.parameters);
        if (mesh.rank() + 1 == mesh.size()) {
          EXPECT_EQ(own, work.parameters);
        }
      });
    }
  }
}

// What the processes of a prepared run report, at most.
RunReport largest_report(const Json& json, const MeshConfig& config, const TemporaryFolder& folder,
                         Json& model) {
  Json recipe = json;
  recipe["mesh"] = config::write(config);
  RunReport largest;
  std::mutex mutex;
  on_mesh(config, [&](const Mesh& mesh) {
    TrainObserver silent;
    const auto run =
        prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::replace, silent, mesh);
    const std::lock_guard lock(mutex);
    model = run->task->config().model;
    largest.weight_bytes = std::max(largest.weight_bytes, run->report.weight_bytes);
    largest.optimizer_bytes = std::max(largest.optimizer_bytes, run->report.optimizer_bytes);
    largest.activation_bytes = run->report.activation_bytes;
  });
  return largest;
}

TEST(Plan, MemoryIsWhatAPreparedRunReports) {
  struct Case {
    std::string kind;
    std::string precision;
    MeshConfig mesh;
  };
  const MeshConfig alone{.axes = "batch:1"};
  const MeshConfig shards{.axes = "batch:2", .sharded = true};
  const MeshConfig parts{.axes = "batch:2,model:2", .sharded = true};
  const std::vector<Case> cases = {{"adam", "f32", alone},   {"adam", "f32", parts},
                                   {"adam", "bf16", shards}, {"sgd", "bf16", parts},
                                   {"sm3", "bf16", alone},   {"adafactor", "f32", shards}};
  const TemporaryFolder folder;
  for (const Case& each : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", each.kind, each.precision, each.mesh.axes));
    Json json = tiny_recipe(folder);
    json["optimizer"] = {{"kind", each.kind}, {"momentum", 0.5}};
    json["train"]["precision"] = each.precision;
    Json model;
    const RunReport report = largest_report(json, each.mesh, folder, model);
    json["mesh"] = config::write(each.mesh);
    const Recipe recipe = parse_recipe(json, "test");
    const PlannedMemory memory = count_work({recipe, model}).memory;
    EXPECT_EQ(memory.weights + memory.gradients + memory.average, report.weight_bytes);
    EXPECT_EQ(memory.optimizer, report.optimizer_bytes);
  }
}

TEST(Plan, MeasuresTheActivationsThatARunMeasures) {
  const TemporaryFolder folder;
  Json json = tiny_recipe(folder);
  Json model;
  const RunReport report = largest_report(json, {.axes = "batch:1"}, folder, model);
  const Recipe recipe = parse_recipe(json, "test");
  const PlanRequest request{recipe, model};
  const auto measured = measure_planned_activations(request, count_work(request));
  ASSERT_TRUE(measured.has_value());
  EXPECT_NEAR(static_cast<double>(*measured), static_cast<double>(report.activation_bytes),
              0.02 * static_cast<double>(report.activation_bytes));
}

TEST(Plan, EstimatesActivations) {
  struct Setting {
    const char* section;
    const char* key;
    Json value;
  };
  const std::vector<Setting> settings = {
      {"train", "precision", "f32"},        {"train", "precision", "bf16"},
      {"train", "checkpoint_layers", true}, {"model", "hidden", 512},
      {"model", "tied_output", false},      {"model", "dropout", 0.3},
      {"data", "batch_tokens", 1024}};
  for (const bool pairs : {true, false}) {
    for (const char* axes : {"batch:1", "model:2"}) {
      for (const Setting& setting : settings) {
        SCOPED_TRACE(fmt::format("{} {} {} = {}", axes, pairs ? "pairs" : "text", setting.key,
                                 setting.value.dump()));
        Json json = planned_recipe(pairs);
        json["model"].update({{"width", 64}, {"hidden", 256}});
        json[setting.section][setting.key] = setting.value;
        const Planning planning(json, {.axes = axes});
        const PlannedWork work = planning.work();
        const auto measured = measure_planned_activations(planning.request(), work);
        ASSERT_TRUE(measured.has_value());
        const double ratio =
            static_cast<double>(work.memory.activations) / static_cast<double>(*measured);
        EXPECT_GT(ratio, 0.85);
        EXPECT_LT(ratio, 1.25);
      }
    }
  }
}

// Models that multiply and send different things.
struct Variant {
  bool pairs;
  Json model;  // what it has of its own
};
const std::vector<Variant> kVariants = {
    {true, Json::object()},
    {true, {{"positions", "relative"}, {"relative_distance", 4}}},
    {true, {{"positions", "learned"}, {"longest", 64}, {"pre_norm", true}}},
    {true, {{"tied_output", false}}},
    {false, Json::object()},
    {false, {{"heads", 2}, {"attention", "FL"}, {"window", 8}}},
};

// Calls body(recipe) for each of them, with and without recomputation.
template <typename Body>
void for_each_variant(const Body& body) {
  for (const Variant& variant : kVariants) {
    for (const bool recomputed : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {} {}", variant.pairs ? "pairs" : "text", variant.model.dump(),
                               recomputed ? "recomputed" : ""));
      Json json = planned_recipe(variant.pairs);
      json["model"].update(variant.model);
      json["train"]["checkpoint_layers"] = recomputed;
      body(json);
    }
  }
}

TEST(Plan, CountsTheProductsThatRun) {
  for_each_variant([](const Json& json) {
    for (const char* axes : {"batch:1", "model:2"}) {
      SCOPED_TRACE(axes);
      const Planning planning(json, {.axes = axes});
      PlannedWork work = planning.work();
      std::vector<kernels::Matmul> products;
      kernels::log_products(&products);
      ASSERT_TRUE(measure_planned_activations(planning.request(), work).has_value());
      kernels::log_products(nullptr);
      double flop = 0.0;
      for (const kernels::Matmul& p : products) {
        flop += 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k * p.batch);
      }
      work.attention.clear();  // whose kernel multiplies by itself
      EXPECT_EQ(work.forward_flop() + work.backward_flop(), flop);
    }
  });
}

// Counts what a process would send.
class CountingTransport final : public Transport {
 public:
  CountingTransport(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return size_; }
  void set_deadline(double /*seconds*/) override {}
  [[noreturn]] void abort(int /*status*/) override { fail("aborted"); }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> /*in*/,
                int /*channel*/) override {
    for (const Outgoing& message : out) {
      sent += static_cast<double>(message.bytes);
    }
  }

  double sent = 0.0;

 private:
  int rank_;
  int size_;
};

double bytes_of(const std::vector<PlannedMessage>& messages, const PlannedWork& work) {
  double bytes = 0.0;
  for (const PlannedMessage& message : messages) {
    const Peers peers = peers_along(work.axes, message.axis, 1);
    bytes += message.part * static_cast<double>(message.times) * peers.near;
  }
  return bytes;
}

// What process 3 of 4 sends in a pass over a full batch.
double sent_bytes(const Planning& planning, const PlannedBatch& batch) {
  CountingTransport transport(3, 4);
  const Mesh mesh(transport, planning.recipe.mesh);
  ParameterStore store;
  store.lay_out_on(mesh);
  const auto model = make_model(store.root(), planning.model);
  store.allocate(DType::f32, 1);
  GradientExchange exchange(store, mesh);
  Tape tape(1);
  const TapeScope scope(tape);
  const CheckpointScope layers(planning.recipe.train.checkpoint_layers);
  exchange.begin(tape);
  const LossConfig loss = planned_loss_config(planning.recipe);
  const Tensor ids = Tensor::zeros({batch.rows, batch.length}, DType::i32);
  if (const auto* translator = dynamic_cast<const Seq2SeqModel*>(model.get())) {
    tape.backward(full_pairs_loss(*translator, batch.rows, batch.length, loss));
  } else {
    const auto& language = dynamic_cast<const LanguageModel&>(*model);
    tape.backward(sequence_loss([&] { return language.logits(ids); }, ids, loss));
  }
  exchange.finish(tape);
  return transport.sent;
}

TEST(Plan, CountsTheBytesThatAreSent) {
  for_each_variant([](const Json& json) {
    for (const MeshConfig& config :
         {MeshConfig{.axes = "model:4"}, MeshConfig{.axes = "batch:2,model:2", .bucket = 0.01},
          MeshConfig{.axes = "batch:4", .wire = "bf16", .bucket = 0.01}}) {
      SCOPED_TRACE(config.axes);
      const Planning planning(json, config);
      const PlannedWork work = planning.work();
      const double planned = bytes_of(work.activations, work) + bytes_of(work.gradients, work);
      // Parts of sizes that do not divide are whole elements.
      EXPECT_NEAR(planned / sent_bytes(planning, work.batch), 1.0, 1e-3);
    }
  });
}

TEST(Plan, CountsTheWeightsThatOwnersSend) {
  const MeshConfig config{.axes = "batch:2", .sharded = true};
  Json json = planned_recipe(true);
  json["train"]["precision"] = "bf16";
  const Planning planning(json, config);
  const PlannedWork work = planning.work();
  double most = 0.0;
  for (int rank = 0; rank < 2; ++rank) {
    CountingTransport transport(rank, 2);
    const Mesh mesh(transport, config);
    ParameterStore store;
    store.lay_out_on(mesh);
    const auto model = make_model(store.root(), planning.model);
    store.allocate(DType::bf16, 1);
    store.share_weights();
    most = std::max(most, transport.sent);
  }
  EXPECT_NEAR(bytes_of(work.weights, work), most, 0.02 * most);
}

const Hardware kHardware{.flops = 1e9,
                         .memory = 1e9,
                         .local = {.latency = 1e-6, .bandwidth = 1e9},
                         .network = {.latency = 1e-4, .bandwidth = 1e8}};

TEST(Plan, AllReduceAtKnownPoints) {
  Hardware free_of_latency = kHardware;
  free_of_latency.local.latency = 0.0;
  // Two processes send half of it each way, twice: n / bandwidth.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e9, {.near = 1}, free_of_latency), 1.0);
  // 2 (p - 1) / p n / bandwidth
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e9, {.near = 3}, free_of_latency), 1.5);
  // 2 (p - 1) latency
  EXPECT_DOUBLE_EQ(all_reduce_seconds(0.0, {.near = 3}, kHardware), 6e-6);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(0.0, {.far = 3}, kHardware), 6e-4);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e9, {}, kHardware), 0.0);
  // The four processes of a node share its link.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e8, {.far = 1, .sharing = 4}, kHardware), 4.0 + 2e-4);
}

TEST(Plan, NodesHaveConsecutiveRanks) {
  const std::vector<MeshAxis> axes = parse_axes("batch:4,model:4");
  const auto expect = [&](std::string_view axis, int nodes, Peers wanted) {
    const Peers peers = peers_along(axes, axis, nodes);
    EXPECT_EQ(peers.near, wanted.near) << axis << nodes;
    EXPECT_EQ(peers.far, wanted.far) << axis << nodes;
    EXPECT_EQ(peers.sharing, wanted.sharing) << axis << nodes;
  };
  expect("model", 1, {.near = 3, .far = 0, .sharing = 16});
  expect("model", 4, {.near = 3, .far = 0, .sharing = 4});
  expect("model", 8, {.near = 1, .far = 2, .sharing = 2});
  expect("model", 16, {.near = 0, .far = 3, .sharing = 1});
  expect("batch", 1, {.near = 3, .far = 0, .sharing = 16});
  expect("batch", 2, {.near = 1, .far = 2, .sharing = 8});
  expect("batch", 4, {.near = 0, .far = 3, .sharing = 4});
  expect("", 4, {.near = 3, .far = 12, .sharing = 4});
  EXPECT_EQ(error_of([&] { peers_along(axes, "batch", 3); }),
            "[plan] --nodes is 3, expected a number that divides the 16 processes");
}

TEST(Plan, TimesFollowFromTheWork) {
  const PlannedWork work = Planning(planned_recipe(true)).work();
  const PlannedTime time = plan_time(work, kHardware);
  EXPECT_DOUBLE_EQ(time.products, 4.0 * (work.forward_flop() + work.backward_flop()) / 1e9);
  EXPECT_DOUBLE_EQ(time.optimizer, work.optimizer_bytes / 1e9);
  EXPECT_EQ(time.activations + time.gradients + time.weights + time.numbers, 0.0);
  Hardware crowded = kHardware;
  crowded.threads = 4;
  EXPECT_DOUBLE_EQ(plan_time(work, crowded).products, time.products / 4);
  crowded.cores = 2;
  EXPECT_DOUBLE_EQ(plan_time(work, crowded).products, time.products / 2);
}

TEST(Plan, HidesGradientsBehindTheBackwardPass) {
  PlannedWork work = Planning(planned_recipe(true), {.axes = "batch:2", .bucket = 0.01}).work();
  ASSERT_GT(work.gradients.size(), 3U);
  const Peers peer{.near = 1};
  const double last = 2.0 * exchange_seconds(work.gradients.back().part, peer, kHardware);
  EXPECT_DOUBLE_EQ(plan_time(work, kHardware).gradients, last);
  Hardware slow = kHardware;  // whose messages outlast any computation
  slow.local.bandwidth = 1.0;
  const PlannedTime time = plan_time(work, slow);
  EXPECT_LT(time.gradients_hidden, time.gradients / 100);
  EXPECT_GT(time.gradients_hidden, 0.0);
}

TEST(Plan, MoreOfAnythingHelps) {
  const auto step = [&](const MeshConfig& config, const Hardware& hardware) {
    return plan_time(Planning(planned_recipe(true), config).work(), hardware).total();
  };
  const MeshConfig four{.axes = "batch:2,model:2"};
  const double before = step(four, kHardware);
  for (double Hardware::*rate : {&Hardware::flops, &Hardware::memory}) {
    Hardware better = kHardware;
    better.*rate *= 2.0;
    EXPECT_LT(step(four, better), before);
  }
  Hardware apart = kHardware;
  apart.nodes = 2;
  EXPECT_GT(step(four, apart), before);
  Hardware wide = apart;
  wide.network.bandwidth *= 10.0;
  EXPECT_LT(step(four, wide), step(four, apart));
  EXPECT_LT(step({.axes = "batch:4"}, kHardware), step({.axes = "batch:2"}, kHardware));
  EXPECT_LT(step({.axes = "batch:2"}, kHardware), step({.axes = "batch:1"}, kHardware));
  const auto memory = [&](const MeshConfig& config) {
    return Planning(planned_recipe(true), config).work().memory;
  };
  EXPECT_LT(memory({.axes = "model:2"}).total(), memory({.axes = "batch:2"}).total());
  EXPECT_LT(memory({.axes = "batch:2", .sharded = true}).optimizer,
            memory({.axes = "batch:2"}).optimizer);
}

TEST(Plan, SaysWhatDoesNotDivide) {
  Json json = planned_recipe(false);
  json["model"].update({{"width", 30}, {"heads", 5}});
  const PlannedWork whole = Planning(json, {.axes = "model:2"}).work();
  ASSERT_EQ(whole.notes.size(), 1U);
  EXPECT_NE(whole.notes[0].find("model.heads is 5, which model:2 does not divide"),
            std::string::npos)
      << whole.notes[0];
  EXPECT_TRUE(Planning(json, {.axes = "model:5"}).work().notes.size() == 1);  // hidden is 64
  EXPECT_TRUE(Planning(planned_recipe(false), {.axes = "model:4"}).work().notes.empty());
}

TEST(Plan, ErrorsNameKeyAndValue) {
  const auto error = [](Json json, const MeshConfig& config) {
    return error_of([&] { Planning(std::move(json), config).work(); });
  };
  Json json = planned_recipe(true);
  EXPECT_EQ(error(json, {.axes = "batch:3"}),
            "[plan] train.accumulate is 4, expected a multiple of 3, the processes along batch");
  json["model"] = {{"kind", "rnn"}};
  json["schedule"]["kind"] = "constant";
  EXPECT_EQ(error(json, {}),
            "[plan] model.kind is rnn, expected transformer or gpt2, whose products the cost "
            "model counts");
  json = planned_recipe(true);
  json["optimizer"] = {{"kind", "adafactor"}};
  EXPECT_NE(error(json, {.axes = "model:2"}).find("[plan] optimizer.kind is adafactor"),
            std::string::npos);
  EXPECT_NE(error(json, {.axes = "batch:100000"}).find("mesh.axes is batch:100000"),
            std::string::npos);
}

}  // namespace
}  // namespace heed::testing
