#include "train/plan.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "models/registry.h"
#include "train/run.h"

namespace heed {
namespace {

// Knows how many processes there are, sends nothing and receives zeros.
class PretendedTransport final : public Transport {
 public:
  PretendedTransport(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return size_; }
  void exchange(std::span<const Outgoing> /*out*/, std::span<const Incoming> in,
                int /*channel*/) override {
    for (const Incoming& message : in) {
      std::fill_n(static_cast<char*>(message.data), message.bytes, '\0');
    }
  }
  void set_deadline(double /*seconds*/) override {}
  [[noreturn]] void abort(int /*status*/) override { fail("[plan] aborted"); }

 private:
  int rank_;
  int size_;
};

int processes_of(const MeshConfig& config) {
  constexpr int64_t kMost = 65536;
  int64_t processes = 1;
  for (const MeshAxis& axis : parse_axes(config.axes)) {
    processes *= axis.size;
    check(processes <= kMost, "[plan] mesh.axes is {}, expected at most {} processes", config.axes,
          kMost);
  }
  return static_cast<int>(processes);
}

// Bytes that new processes can have.
double free_memory() {
  std::ifstream file("/proc/meminfo");
  double kibibytes = 0.0;
  for (std::string key; file >> key;) {
    if (key == "MemAvailable:") {
      file >> kibibytes;
      break;
    }
  }
  return kibibytes * 1024.0;
}

Tensor planned_loss(const PlanRequest& request, const PlannedBatch& batch, Model& model) {
  const LossConfig loss = planned_loss_config(request.recipe);
  if (const auto* translator = dynamic_cast<const Seq2SeqModel*>(&model)) {
    return full_pairs_loss(*translator, batch.rows, batch.length, loss);
  }
  const auto& language = model_as<LanguageModel>(model, request.model);
  const Tensor ids = Tensor::zeros({batch.rows, batch.length}, DType::i32);
  return sequence_loss([&] { return language.logits(ids); }, ids, loss);
}

// How often operations other than products go over an activation: it is written and read, read
// again on the way back, and its gradient is written and read.
constexpr double kForwardPasses = 2.0;
constexpr double kBackwardPasses = 3.0;

double seconds_of(const std::vector<PlannedMessage>& messages, const PlannedWork& work,
                  const Hardware& hardware) {
  double seconds = 0.0;
  for (const PlannedMessage& message : messages) {
    Peers peers = peers_along(work.axes, message.axis, hardware.nodes);
    peers.sharing = message.to_one ? std::max(1, peers.sharing / (peers.near + 1)) : peers.sharing;
    seconds += static_cast<double>(message.times) * exchange_seconds(message.part, peers, hardware);
  }
  return seconds;
}

// How much longer computing takes because a node has fewer cores than its processes have threads.
double crowding(const PlannedWork& work, const Hardware& hardware) {
  const double wanted = static_cast<double>(work.processes) / hardware.nodes * hardware.threads;
  return hardware.cores > 0 ? std::max(1.0, wanted / hardware.cores) : 1.0;
}

}  // namespace

PretendedProcess::PretendedProcess(const MeshConfig& config, const Json& model, int rank) {
  const int processes = processes_of(config);
  transport_ = std::make_unique<PretendedTransport>(rank < 0 ? processes - 1 : rank, processes);
  mesh_ = std::make_unique<Mesh>(*transport_, config);
  store_.lay_out_on(*mesh_);
  model_ = make_model(store_.root(), model);
}

PretendedProcess::~PretendedProcess() = default;

double PlannedWork::forward_flop() const {
  double flop = 0.0;
  for (const PlannedProduct& product : products) {
    flop += product.forward();
  }
  for (const PlannedAttention& each : attention) {
    flop += 2.0 * each.product();
  }
  return flop;
}

double PlannedWork::backward_flop() const {
  double flop = 0.0;
  for (const PlannedProduct& product : products) {
    flop += (product.recomputed ? 3.0 : 2.0) * product.forward();
  }
  for (const PlannedAttention& each : attention) {
    flop += (each.recomputed ? 7.0 : 5.0) * each.product();
  }
  return flop;
}

Peers peers_along(const std::vector<MeshAxis>& axes, std::string_view axis, int nodes) {
  int processes = 1;
  int size = 1;
  int stride = 1;  // between members, along the axis
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].name == axis) {
      size = axes[i].size;
      stride = processes;
    }
    processes *= axes[i].size;
  }
  if (axis.empty()) {
    size = processes;
  }
  check(nodes >= 1 && processes % nodes == 0,
        "[plan] --nodes is {}, expected a number that divides the {} processes", nodes, processes);
  const int each = processes / nodes;
  Peers most{.near = size - 1, .far = 0, .sharing = each};
  for (int rank = 0; rank < processes; ++rank) {
    const int index = rank / stride % size;
    const int begin = rank / each * each;  // of the ranks of its node
    const int before = std::min(index, (rank - begin) / stride);
    const int after = std::min(size - 1 - index, (begin + each - 1 - rank) / stride);
    const int far = size - 1 - before - after;
    if (far > most.far) {
      most = {.near = before + after, .far = far, .sharing = each};
    }
  }
  return most;
}

double exchange_seconds(double part, const Peers& peers, const Hardware& hardware) {
  const Link& near = hardware.local;
  const Link& far = hardware.network;
  double seconds = 0.0;
  if (peers.near > 0) {
    seconds += peers.near * (near.latency + part / near.bandwidth);
  }
  if (peers.far > 0) {
    seconds += peers.far * (far.latency + part * peers.sharing / far.bandwidth);
  }
  return seconds;
}

double all_reduce_seconds(double bytes, const Peers& peers, const Hardware& hardware) {
  return 2.0 * exchange_seconds(bytes / (1 + peers.near + peers.far), peers, hardware);
}

PlannedTime plan_time(const PlannedWork& work, const Hardware& hardware) {
  const double crowded = crowding(work, hardware);
  const double rate = hardware.flops * hardware.threads / crowded;
  const double memory = hardware.memory / crowded;
  const auto batches = static_cast<double>(work.batches);
  const double forward_other = kForwardPasses * work.activation_bytes / memory;
  const double backward_other =
      (kBackwardPasses * work.activation_bytes + kForwardPasses * work.recomputed_bytes) / memory;
  PlannedTime time;
  time.products = batches * (work.forward_flop() + work.backward_flop()) / rate;
  time.other = batches * (forward_other + backward_other);
  time.activations = batches * seconds_of(work.activations, work, hardware);
  if (!work.gradients.empty()) {
    const double all = seconds_of(work.gradients, work, hardware);
    const double last = seconds_of({work.gradients.back()}, work, hardware);
    const double backward = work.backward_flop() / rate + backward_other;  // of the last batch
    time.gradients = std::max(last, all - backward);
    time.gradients_hidden = all - time.gradients;
  }
  time.weights = seconds_of(work.weights, work, hardware);
  time.numbers = seconds_of(work.numbers, work, hardware);
  time.optimizer = work.optimizer_bytes / memory;
  return time;
}

std::optional<size_t> measure_planned_activations(const PlanRequest& request,
                                                  const PlannedWork& work) {
  constexpr double kMostFlop = 5e11;  // a few seconds
  const double needed =
      static_cast<double>(work.memory.weights + work.memory.gradients + work.memory.activations);
  if (needed > free_memory() / 2 || work.forward_flop() + work.backward_flop() > kMostFlop) {
    return std::nullopt;
  }
  const StepConfig& train = request.recipe.train;
  PretendedProcess process(request.recipe.mesh, request.model);
  process.store().allocate(train.precision == "bf16" ? DType::bf16 : DType::f32, train.seed);
  return measure_activations(process.store(), train, model_spec(request.model).kind,
                             [&] { return planned_loss(request, work.batch, process.model()); });
}

}  // namespace heed
