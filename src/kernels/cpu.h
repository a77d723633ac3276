// Which instruction sets the kernels may use. HEED_MAX_ISA=sse4|avx2|avx512|bf16|amx lowers it for
// tests and for comparing; what the CPU lacks is never used.
#pragma once

#include <string>
#include <vector>

namespace heed {

// Each contains those before it. bf16 is AVX-512 with dot products of bf16 (vdpbf16ps).
enum class Isa { sse4, avx2, avx512, bf16, amx };
inline constexpr Isa kAllIsas[] = {Isa::sse4, Isa::avx2, Isa::avx512, Isa::bf16, Isa::amx};

const char* name_of(Isa isa);
Isa cpu_isa();                   // the best this CPU and operating system offer
Isa allowed_isa();               // cpu_isa(), unless HEED_MAX_ISA lowers it
Isa max_isa();                   // what is in use: allowed_isa(), unless a test lowered it
void set_max_isa(Isa isa);       // for tests; not while kernels run. Does not reach oneDNN.
std::vector<Isa> usable_isas();  // every one up to max_isa()
Isa kernel_isa();                // what kernels written with Highway run on: at most avx512

// A bit of CPUID's leaf 7, in EAX or EDX, for instruction sets that Highway does not know.
struct CpuFeature {
  unsigned subleaf;
  bool in_edx;
  unsigned bit;
};
bool cpu_feature(const CpuFeature& feature);

// True when CPUID does not describe the AMX tiles although the CPU has them, as some virtual
// machines do. oneDNN 2.6 then configures no tiles and dies of an illegal instruction, so it has
// to be kept from them; our own AMX kernels work.
bool amx_hidden_from_cpuid();

}  // namespace heed
