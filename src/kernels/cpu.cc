#include "kernels/cpu.h"

#include <cpuid.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "kernels/matmul/amx/amx.h"

namespace heed {
namespace {

Isa hardware_isa() {
  if (amx::available()) {
    return Isa::amx;
  }
  const int64_t targets = hwy::SupportedTargets();
  // As a side effect Highway 1.0 has chosen the best target, whatever was disabled. It chooses
  // again.
  hwy::GetChosenTarget().DeInit();
  if ((targets & HWY_AVX3) != 0) {
    return cpu_feature({.subleaf = 1, .in_edx = false, .bit = 5}) ? Isa::bf16 : Isa::avx512;
  }
  return (targets & HWY_AVX2) != 0 ? Isa::avx2 : Isa::sse4;
}

// What HEED_MAX_ISA allows; nothing if its value is no instruction set.
std::optional<Isa> environment_isa() {
  const char* wanted = std::getenv("HEED_MAX_ISA");
  if (wanted == nullptr) {
    return Isa::amx;
  }
  for (const Isa isa : kAllIsas) {
    if (std::string_view(wanted) == name_of(isa)) {
      return isa;
    }
  }
  return std::nullopt;
}

int64_t disabled_targets(Isa isa) {
  constexpr int64_t kAvx512 = HWY_AVX3 | HWY_AVX3_DL;
  switch (isa) {
    case Isa::sse4:
      return kAvx512 | HWY_AVX2;
    case Isa::avx2:
      return kAvx512;
    default:
      return 0;
  }
}

Isa& current() {
  static Isa isa = allowed_isa();
  return isa;
}

// Before main(): kernels must not run above the limit just because nobody has asked for it yet. A
// value that makes no sense is reported by the first max_isa().
const bool kLimited = [] {
  hwy::DisableTargets(disabled_targets(environment_isa().value_or(Isa::amx)));
  return true;
}();

}  // namespace

bool cpu_feature(const CpuFeature& feature) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kExtendedFeatures = 7;
  return __get_cpuid_count(kExtendedFeatures, feature.subleaf, &a, &b, &c, &d) != 0 &&
         ((feature.in_edx ? d : a) & (1U << feature.bit)) != 0;
}

const char* name_of(Isa isa) {
  constexpr const char* kNames[] = {"sse4", "avx2", "avx512", "bf16", "amx"};
  return kNames[static_cast<int>(isa)];
}

Isa cpu_isa() {
  static const Isa isa = hardware_isa();
  return isa;
}

Isa allowed_isa() {
  static const Isa isa = [] {
    const std::optional<Isa> allowed = environment_isa();
    check(allowed.has_value(),
          "[cpu] HEED_MAX_ISA is \"{}\", expected sse4, avx2, avx512, bf16 or amx",
          std::getenv("HEED_MAX_ISA"));
    return std::min(cpu_isa(), *allowed);
  }();
  return isa;
}

Isa max_isa() { return current(); }

void set_max_isa(Isa isa) {
  current() = std::min(isa, allowed_isa());
  hwy::DisableTargets(disabled_targets(current()));
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> result;
  for (int i = 0; i <= static_cast<int>(max_isa()); ++i) {
    result.push_back(static_cast<Isa>(i));
  }
  return result;
}

bool amx_hidden_from_cpuid() {
  constexpr unsigned kTileInformation = 0x1D;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & (1U << 24)) == 0) {
    return false;
  }
  // EAX is the number of the highest tile palette; a CPU with tiles has at least one.
  return __get_cpuid_count(kTileInformation, 0, &a, &b, &c, &d) == 0 || a == 0;
}

}  // namespace heed
