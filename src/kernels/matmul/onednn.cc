#include "kernels/matmul/onednn.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <dnnl.hpp>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/scratch.h"
#include "kernels/cpu.h"

namespace heed::kernels::onednn {
namespace {

using dnnl::memory;

// A product this small is not worth laying an operand out anew. A transposed A is slow only when it
// is tall.
constexpr int64_t kWorthPackingRows = 48;
constexpr int64_t kWorthTransposingRows = 4096;
constexpr size_t kMostPlans = 512;

// Calls under way. oneDNN works on our threads too, so a flag of the calling thread would not do.
std::atomic<int> calls_inside = 0;

struct InsideScope {
  InsideScope() { ++calls_inside; }
  ~InsideScope() { --calls_inside; }
};

struct Session {
  dnnl::engine engine;
  dnnl::stream stream;

  Session() {
    // Before the first use of oneDNN.
    const Isa isa = allowed_isa();
    if (isa < Isa::avx512) {
      dnnl::set_max_cpu_isa(isa == Isa::avx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41);
    } else if (isa == Isa::avx512) {
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni);
    } else if (isa == Isa::bf16 || amx_hidden_from_cpuid()) {
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
    }
    engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
    stream = dnnl::stream(engine);
  }
};

Session& session() {
  thread_local Session session;
  return session;
}

memory::data_type type_of(DType dtype) {
  return dtype == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
}

// Everything the primitive depends on.
using Key = std::array<int64_t, 14>;

Key key_of(const Matmul& args) {
  return {args.m,
          args.n,
          args.k,
          args.batch,
          args.lda,
          args.ldb,
          args.ldc,
          args.stride_a,
          args.stride_b,
          args.stride_c,
          (args.transpose_a ? 1 : 0) + (args.transpose_b ? 2 : 0) + (args.accumulate ? 4 : 0) +
              (args.bias != nullptr ? 8 : 0),
          static_cast<int64_t>(args.a.dtype),
          static_cast<int64_t>(args.c.dtype),
          num_threads()};
}

struct KeyHash {
  size_t operator()(const Key& key) const {
    return stream_of({reinterpret_cast<const char*>(key.data()), sizeof(Key)});
  }
};

// An operand as it comes, and as the primitive wants it.
struct Operand {
  memory given;
  memory wanted;
  dnnl::reorder reorder;
  bool same = true;
};

// A primitive with its memory objects; data pointers are set for each call.
struct Plan {
  dnnl::matmul primitive;
  Operand a;
  Operand b;
  memory bias;
  memory c;
  memory scratchpad;
};

memory::desc describe(memory::dims dims, memory::dims strides, DType dtype, int64_t batch,
                      int64_t stride) {
  if (batch > 1) {
    dims.insert(dims.begin(), batch);
    strides.insert(strides.begin(), stride);
  }
  return {dims, type_of(dtype), strides};
}

memory empty_memory(const memory::desc& desc) { return {desc, session().engine, nullptr}; }

Operand make_operand(const memory::desc& given, const memory::desc& wanted) {
  Operand operand{.given = empty_memory(given), .wanted = empty_memory(wanted), .reorder = {}};
  operand.same = given == wanted;
  if (!operand.same) {
    operand.reorder = dnnl::reorder(operand.given, operand.wanted);
  }
  return operand;
}

// With `free_layout` both operands may be laid out as oneDNN likes, whatever it costs.
std::unique_ptr<Plan> make_plan(const Matmul& args, bool free_layout = false) {
  const auto a = describe({args.m, args.k},
                          args.transpose_a ? memory::dims{1, args.lda} : memory::dims{args.lda, 1},
                          args.a.dtype, args.batch, args.stride_a);
  const auto b = describe({args.k, args.n},
                          args.transpose_b ? memory::dims{1, args.ldb} : memory::dims{args.ldb, 1},
                          args.b.dtype, args.batch, args.stride_b);
  const auto c = describe({args.m, args.n}, {args.ldc, 1}, args.c.dtype, args.batch, args.stride_c);
  const auto any = [](const memory::desc& desc) {
    return memory::desc(desc.dims(), desc.data_type(), memory::format_tag::any);
  };
  const bool pack = args.batch == 1 && args.m >= kWorthPackingRows && args.n >= 16;
  const auto bias =
      args.batch > 1
          ? memory::desc({1, 1, args.n}, memory::data_type::f32, memory::dims{args.n, args.n, 1})
          : memory::desc({1, args.n}, memory::data_type::f32, memory::dims{args.n, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (args.accumulate) {
    dnnl::post_ops ops;
    ops.append_sum(1.0F);
    attributes.set_post_ops(ops);
  }
  const auto wanted_a =
      free_layout || (pack && args.transpose_a && args.m >= kWorthTransposingRows) ? any(a) : a;
  const auto wanted_b = free_layout || pack ? any(b) : b;
  const auto desc = args.bias == nullptr ? dnnl::matmul::desc(wanted_a, wanted_b, c)
                                         : dnnl::matmul::desc(wanted_a, wanted_b, bias, c);
  const dnnl::matmul::primitive_desc chosen(desc, attributes, session().engine);
  auto plan = std::make_unique<Plan>();
  plan->primitive = dnnl::matmul(chosen);
  plan->a = make_operand(a, chosen.src_desc());
  plan->b = make_operand(b, chosen.weights_desc());
  plan->c = empty_memory(c);
  plan->scratchpad = empty_memory(chosen.scratchpad_desc());
  if (args.bias != nullptr) {
    plan->bias = empty_memory(bias);
  }
  return plan;
}

// Plans hold data pointers while they run, so each thread has its own.
Plan& plan_for(const Matmul& args) {
  thread_local std::unordered_map<Key, std::unique_ptr<Plan>, KeyHash> plans;
  const Key key = key_of(args);
  const auto found = plans.find(key);
  if (found != plans.end()) {
    return *found->second;
  }
  if (plans.size() >= kMostPlans) {
    plans.clear();  // rare: data that pads its lengths has few shapes
  }
  return *(plans[key] = make_plan(args));
}

memory& ready(Operand& operand, const void* data, Scratch& scratch) {
  operand.given.set_data_handle(const_cast<void*>(data));
  if (operand.same) {
    return operand.given;
  }
  operand.wanted.set_data_handle(scratch.get<std::byte>(operand.wanted.get_desc().get_size()));
  operand.reorder.execute(session().stream, operand.given, operand.wanted);
  return operand.wanted;
}

}  // namespace

bool has_bf16() { return max_isa() >= Isa::bf16; }

bool inside() { return calls_inside > 0; }

double best_seconds(const Matmul& args, int repetitions) {
  Matmul plain = args;
  plain.accumulate = false;
  plain.bias = nullptr;
  if (plain.a.dtype == DType::bf16 && !has_bf16()) {
    plain.a.dtype = plain.b.dtype = plain.c.dtype = DType::f32;  // what the product is done in here
  }
  const std::unique_ptr<Plan> plan = make_plan(plain, true);
  Scratch buffers[4];
  memory* operands[4] = {&plan->a.wanted, &plan->b.wanted, &plan->c, &plan->scratchpad};
  for (int i = 0; i < 4; ++i) {
    const size_t size = operands[i]->get_desc().get_size();
    std::byte* data = buffers[i].get<std::byte>(size + 64);
    // 0x3F3F is about 0.75 in bf16 and in f32: numbers without subnormals.
    std::fill_n(data, size, std::byte{0x3F});
    operands[i]->set_data_handle(data);
  }
  const std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, *operands[0]},
                                                  {DNNL_ARG_WEIGHTS, *operands[1]},
                                                  {DNNL_ARG_DST, *operands[2]},
                                                  {DNNL_ARG_SCRATCHPAD, *operands[3]}};
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    plan->primitive.execute(session().stream, arguments);
    session().stream.wait();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = i == 0 ? best : std::min(best, time.count());
  }
  return best;
}

namespace {

void multiply(const Matmul& args) {
  const InsideScope scope;
  try {
    thread_local Scratch scratch_a;
    thread_local Scratch scratch_b;
    thread_local Scratch scratch;
    Plan& plan = plan_for(args);
    plan.c.set_data_handle(args.c.data);
    plan.scratchpad.set_data_handle(
        scratch.get<std::byte>(plan.scratchpad.get_desc().get_size() + 64));
    std::unordered_map<int, memory> operands{
        {DNNL_ARG_SRC, ready(plan.a, args.a.data, scratch_a)},
        {DNNL_ARG_WEIGHTS, ready(plan.b, args.b.data, scratch_b)},
        {DNNL_ARG_DST, plan.c},
        {DNNL_ARG_SCRATCHPAD, plan.scratchpad}};
    if (args.bias != nullptr) {
      plan.bias.set_data_handle(const_cast<float*>(args.bias));
      operands[DNNL_ARG_BIAS] = plan.bias;
    }
    plan.primitive.execute(session().stream, operands);
    session().stream.wait();
  } catch (const dnnl::error& error) {
    fail("[matmul] oneDNN cannot do {}x{}x{} in {}: {}", args.m, args.n, args.k,
         name_of(args.a.dtype), error.what());
  }
}

const void* offset(const void* data, int64_t elements, DType dtype) {
  return static_cast<const std::byte*>(data) + static_cast<size_t>(elements) * size_of(dtype);
}

// Half of a dimension, on a multiple of what oneDNN blocks by.
int64_t half(int64_t extent) { return (extent / 2 + 63) / 64 * 64; }

// The part of a product from `begin` on along one dimension, `extent` long.
enum class Axis { m, n, k };
Matmul part_of(const Matmul& args, Axis axis, int64_t begin, int64_t extent) {
  Matmul part = args;
  const int64_t a_step = axis == Axis::m   ? (args.transpose_a ? 1 : args.lda)
                         : axis == Axis::k ? (args.transpose_a ? args.lda : 1)
                                           : 0;
  const int64_t b_step = axis == Axis::n   ? (args.transpose_b ? args.ldb : 1)
                         : axis == Axis::k ? (args.transpose_b ? 1 : args.ldb)
                                           : 0;
  const int64_t c_step = axis == Axis::m ? args.ldc : axis == Axis::n ? 1 : 0;
  part.a.data = offset(args.a.data, begin * a_step, args.a.dtype);
  part.b.data = offset(args.b.data, begin * b_step, args.b.dtype);
  part.c.data = const_cast<void*>(offset(args.c.data, begin * c_step, args.c.dtype));
  (axis == Axis::m ? part.m : axis == Axis::n ? part.n : part.k) = extent;
  if (axis == Axis::n && args.bias != nullptr) {
    part.bias = args.bias + begin;
  }
  if (axis == Axis::k && begin > 0) {
    part.accumulate = true;
    part.bias = nullptr;
  }
  return part;
}

}  // namespace

// A product whose reordered operand would be large is done in parts, so that scratch memory stays
// small beside the model.
void matmul(const Matmul& args) {
  constexpr int64_t kMostReordered = int64_t{8} << 20;  // elements
  const auto split = [&](Axis axis, int64_t extent) {
    const int64_t first = half(extent);
    onednn::matmul(part_of(args, axis, 0, first));
    onednn::matmul(part_of(args, axis, first, extent - first));
  };
  const bool reorders = args.batch == 1 && args.m >= kWorthPackingRows;
  if (reorders && args.transpose_a && args.m >= kWorthTransposingRows &&
      args.m * args.k > kMostReordered) {
    split(Axis::m, args.m);
  } else if (reorders && args.n * args.k > kMostReordered && args.n >= args.k) {
    split(Axis::n, args.n);
  } else if (reorders && args.n * args.k > kMostReordered && args.c.dtype == DType::f32) {
    split(Axis::k, args.k);
  } else {
    multiply(args);
  }
}

}  // namespace heed::kernels::onednn
