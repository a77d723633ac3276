// What a training takes on a mesh that need not be here: the memory of each process and the time of
// a step, by a cost model. docs/many-machines.md has it in words, with examples.
//
// The model is built without memory for its weights on a pretended mesh, whose transport never
// sends, as its last process has it: that one has the largest part of what does not divide evenly.
// The shapes and cuts of its parameters say what is multiplied, kept and sent.
//
// Products. A matrix [out, in] that n tokens are multiplied with costs 2 n out in FLOP forward and
// 4 n out in FLOP backward; where layers are recomputed, 2 n out in more. Attention over pairs of
// queries and keys, w columns of heads wide, has two products of 2 pairs w FLOP forward and five
// backward; a causal query sees the keys up to itself alone. All of them run at one rate, which
// grows with the threads.
//
// Other operations (norms, activation functions, dropout, the loss) are bound by memory. An
// activation is written and read forward; backward it is read, and its gradient is written and
// read: five passes over all activations, and two more over those that are recomputed.
//
// Messages. In an exchange a process sends `part` bytes to each of its peers and receives as much:
//
//   exchange(part)       = sum over the peers of latency + part / bandwidth
//   all_reduce(n, p)     = 2 exchange(n / p) = 2 (p - 1) latency + 2 (p - 1) / p n / bandwidth
//   reduce_scatter, all_gather = exchange(the largest part of a member)
//
// Ranks are numbered along the last axis first, and nodes have consecutive ranks. Peers of the same
// node exchange through memory. The processes of a node share its link to the others evenly; where
// one member of each group receives, those alone share the link of their node.
//
//   activations  Of every layer, each product whose outputs are split adds up the gradient of its
//                input, [tokens, in], and each one whose inputs are split its output, [tokens,
//                out]; recomputed layers do the latter twice. A split table adds up the vectors
//                that it is asked for; split logits add up the gradient of their input, and
//                exchange three numbers for each token, or all logits if the loss needs them.
//   gradients    Buckets are added up one after the other while the backward pass of the last batch
//                runs, but for the last bucket, which is complete only at its end:
//                not hidden = max(last bucket, all buckets - backward pass).
//                If the optimizer is sharded, a bucket goes to its owners, mostly to one of them.
//   weights      If the optimizer is sharded: all owners' parts after the step.
//   numbers      What all agree on in each step: losses, norms, whether to stop.
//
// The optimizer is bound by memory: the bytes that it reads and writes.
//
// Memory. Weights, gradients, averages and the optimizer's state are what the ParameterStore and
// the optimizer would allocate, exchange buffers what mesh/group.h would. Activations are measured
// by a pass of the process's part of the model (train/run.h) where that fits this machine.
// Otherwise they are estimated from what ops keep for the backward pass. Elements for each token,
// with the width C and this process's columns of heads A, hidden units F and tokens of the
// vocabulary V:
//
//   self-attention     2 C + 4 A, and an f32 for each head
//   cross-attention    2 C + 2 A of a target, and an f32 for each head; 2 A of a source
//   feed-forward       2 C + F
//   final norm         2 C
//   logits             V, or 2 V if their gradient does not take their place (a split vocabulary)
//   backward pass      3 C + F, with relu, or else 3 C + 2 F
//   activations        all layers and norms + max(logits, backward pass)
//   recomputed layers  2 C each, and the largest one once more in the backward pass
//
// Functions here have no state of their own; one thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/mesh.h"
#include "models/model.h"
#include "nn/parameters.h"
#include "train/loss.h"
#include "train/recipe.h"

namespace heed {

// What is planned ---------------------------------------------------------------------------------

struct PlanRequest {
  const Recipe& recipe;  // recipe.mesh has the axes and the layout
  Json model;            // resolved, with its vocabularies
  int64_t length = 0;    // of sequences; 0: what a full batch of the task has
};

// One process of a mesh whose others do not exist: nothing is sent, and zeros are received.
class PretendedProcess {
 public:
  // `rank` counts from 0; -1: the last one.
  PretendedProcess(const MeshConfig& config, const Json& model, int rank = -1);
  ~PretendedProcess();
  PretendedProcess(const PretendedProcess&) = delete;
  PretendedProcess& operator=(const PretendedProcess&) = delete;

  const Mesh& mesh() const { return *mesh_; }
  ParameterStore& store() { return store_; }
  Model& model() { return *model_; }

 private:
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Mesh> mesh_;
  ParameterStore store_;
  std::unique_ptr<Model> model_;
};

// What one process does in a step -----------------------------------------------------------------

// A full batch: rows of equal length, on each of its sides.
struct PlannedBatch {
  int64_t rows = 0;
  int64_t length = 0;
  int64_t sides = 1;   // 2: sources and targets
  int64_t copies = 1;  // how often it is shown (R-Drop)

  int64_t tokens() const { return rows * length * copies; }  // of a side, as they are computed
};

struct PlannedProduct {
  std::string name;  // of the parameter
  int64_t tokens = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;
  bool recomputed = false;
  bool split = false;  // the process has a part of it alone

  double forward() const {  // FLOP
    return 2.0 * static_cast<double>(tokens) * static_cast<double>(outputs * inputs);
  }
};

struct PlannedAttention {
  double pairs = 0.0;  // of queries and the keys that they see
  int64_t columns = 0;
  bool recomputed = false;

  double product() const { return 2.0 * pairs * static_cast<double>(columns); }  // FLOP
};

// An exchange between the processes along an axis, or of all if it is empty.
struct PlannedMessage {
  std::string axis;
  double part = 0.0;  // bytes to each peer
  int64_t times = 1;
  bool to_one = false;  // only one member receives, and it has all that its node receives
};

struct PlannedMemory {  // bytes
  size_t weights = 0;   // the f32 master and the bf16 copy
  size_t gradients = 0;
  size_t optimizer = 0;
  size_t average = 0;
  size_t activations = 0;
  size_t logits = 0;  // and their gradient, in the activations
  size_t buffers = 0;
  bool measured = false;  // the activations

  size_t total() const { return weights + gradients + optimizer + average + activations + buffers; }
};

struct PlannedWork {
  std::vector<MeshAxis> axes;
  int64_t processes = 1;
  int64_t model_parameters = 0;
  int64_t parameters = 0;  // of them on this process

  PlannedBatch batch;
  int64_t batches = 1;      // of a step, for this process
  int64_t step_tokens = 0;  // of a step, on all processes and sides

  std::vector<PlannedProduct> products;     // of a batch
  std::vector<PlannedAttention> attention;  // likewise
  double activation_bytes = 0.0;            // that a batch makes, kept or not
  double recomputed_bytes = 0.0;            // of them, made twice

  std::vector<PlannedMessage> activations;  // of a batch
  std::vector<PlannedMessage> gradients;    // of a step, bucket by bucket
  std::vector<PlannedMessage> weights;      // of a step
  std::vector<PlannedMessage> numbers;      // likewise
  double optimizer_bytes = 0.0;             // read and written in a step

  PlannedMemory memory;
  std::vector<std::string> notes;  // what does not divide, and what that costs

  double forward_flop() const;   // of a batch
  double backward_flop() const;  // likewise, with what is recomputed
};

// An Error names the key of the recipe that cannot be planned, with its value.
PlannedWork count_work(const PlanRequest& request);
// The part of it that any model has, of a store that is laid out: gradients, weights, their
// exchange, and the optimizer.
void count_updates(const Recipe& recipe, const ParameterStore& store, PlannedWork& work);
LossConfig planned_loss_config(const Recipe& recipe);
// The axis along which a dimension is split, or empty.
std::string axis_of(const Mesh& mesh, std::string_view dimension);

// Times -------------------------------------------------------------------------------------------

struct Link {
  double latency = 0.0;    // seconds
  double bandwidth = 0.0;  // bytes a second
};

struct Hardware {
  int nodes = 1;
  int threads = 1;      // of each process
  int cores = 0;        // of a node; 0: one for each thread of its processes
  double flops = 0.0;   // of products, a second and thread
  double memory = 0.0;  // bytes a second and process
  Link local;           // between processes of a node
  Link network;         // of a node to all others
};

// The others of a group, as one process sees them.
struct Peers {
  int near = 0;     // of the same node
  int far = 0;      // of other nodes
  int sharing = 1;  // processes of a node, which have one link
};
// Along an axis, or all if it is empty. Of the processes that have most peers on other nodes.
Peers peers_along(const std::vector<MeshAxis>& axes, std::string_view axis, int nodes);

double exchange_seconds(double part, const Peers& peers, const Hardware& hardware);
double all_reduce_seconds(double bytes, const Peers& peers, const Hardware& hardware);

struct PlannedTime {  // seconds of a step
  double products = 0.0;
  double other = 0.0;             // norms, activation functions, loss
  double activations = 0.0;       // exchanged, which nothing hides
  double gradients = 0.0;         // exchanged and not hidden
  double gradients_hidden = 0.0;  // behind the backward pass
  double weights = 0.0;           // given to those that do not own them
  double numbers = 0.0;           // that all agree on
  double optimizer = 0.0;

  double total() const {
    return products + other + activations + gradients + weights + numbers + optimizer;
  }
};
PlannedTime plan_time(const PlannedWork& work, const Hardware& hardware);

// Measured on this machine ------------------------------------------------------------------------

// The activations of a full batch on the planned process, or nothing: they would take more than
// half of the memory that is free, or long.
std::optional<size_t> measure_planned_activations(const PlanRequest& request,
                                                  const PlannedWork& work);

}  // namespace heed
