// Selects tables: base first, then each tier that the processor supports, up to the requested one.
// Then selects the code for products in single precision.

#include <array>
#include <cstdlib>

#include "kernels/openblas.h"
#include "kernels/tier.h"

#if defined(__x86_64__)
#include "kernels/x86/amx_permission.h"
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace signalbox::kernels {
namespace {

struct Tier {
  std::string_view name;
  bool (*supported)();
  void (*install)(Table& table);
  bool (*is_faster)() = [] { return true; };  // faster than the previous tier
};

// __builtin_cpu_supports also checks operating system support (XCR0); cpuid bits alone do not show
// it.
bool has_base() {
  return true;
}
#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
bool has_vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
// Intel's cores multiply pairs of bfloat16 at half the rate of single precision (89 against 178
// GFLOP/s measured on Sapphire Rapids), AMD's at twice the rate.
bool has_fast_bf16() {
  return !__builtin_cpu_is("intel");
}
bool has_bf16() {
  return has_vnni() && __builtin_cpu_supports("avx512bf16");
}
bool has_amx() {
  return has_bf16() && x86::may_use_amx();
}
constexpr std::array kTiers = {Tier{"base", has_base, install_base},
                               Tier{"avx2", has_avx2, install_avx2},
                               Tier{"avx512", has_avx512, install_avx512},
                               Tier{"vnni", has_vnni, install_vnni},
                               Tier{"bf16", has_bf16, install_bf16, has_fast_bf16},
                               Tier{"amx", has_amx, install_amx}};
#elif defined(__aarch64__)
bool has_neon() {
  return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}
bool has_i8mm() {
  return has_neon() && (::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
}
bool has_bf16() {
  return has_i8mm() && (::getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
}
constexpr std::array kTiers = {
    Tier{"base", has_base, install_base}, Tier{"neon", has_neon, install_neon},
    Tier{"i8mm", has_i8mm, install_i8mm}, Tier{"bf16", has_bf16, install_bf16}};
#else
constexpr std::array kTiers = {Tier{"base", has_base, install_base}};
#endif

constexpr auto kNames = [] {
  std::array<std::string_view, kTiers.size()> names;
  for (size_t i = 0; i < kTiers.size(); ++i) names[i] = kTiers[i].name;
  return names;
}();

std::string known_names() {
  std::string out;
  for (const std::string_view name : kNames) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

using Tables = std::array<Table, kTiers.size()>;

// The tables of all tiers. Entries of unsupported tiers stay empty.
const Tables& tables() {
  static const auto built = [] {
    Tables out{};
    Table table{};
    table.gemm = "own";
    for (size_t i = 0; i < kTiers.size() && kTiers[i].supported(); ++i) {
      kTiers[i].install(table);
      table.tier = kTiers[i].name;
      out[i] = table;
    }
    return out;
  }();
  return built;
}

// The same tables with products by OpenBLAS.
const Tables& openblas_tables() {
  static const auto built = [] {
    Tables out = tables();
    for (Table& table : out) {
      table.gemm = "openblas";
      table.linear_f32 = table.linear_f32_openblas;
    }
    return out;
  }();
  return built;
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string_view fastest_tier() {
  size_t best = 0;
  for (size_t i = 1; i < kTiers.size(); ++i) {
    if (!tables()[i].tier.empty() && kTiers[i].is_faster()) best = i;
  }
  return kTiers[best].name;
}

bool has_avx() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx");
#else
  return false;
#endif
}

Result<const Table*> choose_table() {
  const char* isa = variable("SIGNALBOX_ISA");
  const char* gemm = variable("SIGNALBOX_GEMM");
  const std::string_view tier = isa != nullptr ? isa : fastest_tier();
  auto own = table_of(tier);
  if (!own) return fail_in("SIGNALBOX_ISA", std::move(own).error());
  const bool is_required = gemm != nullptr && gemm == std::string_view("openblas");
  if (gemm != nullptr && !is_required && gemm != std::string_view("own")) {
    return fail(Code::kInvalid,
                "SIGNALBOX_GEMM: unknown provider of products \"{}\" (known: own, openblas)", gemm);
  }
  const bool is_faster =
      isa == nullptr && gemm == nullptr && faster_gemm(tier, has_avx()) == Gemm::kOpenBlas;
  if (!is_required && !is_faster) return own;
  auto openblas = table_of(tier, Gemm::kOpenBlas);
  if (openblas) return openblas;
  if (!is_required) return own;
  return fail_in("SIGNALBOX_GEMM", std::move(openblas).error());
}

}  // namespace

std::span<const std::string_view> tier_names() {
  return kNames;
}

Result<const Table*> table_of(std::string_view tier, Gemm gemm) {
  for (size_t i = 0; i < kTiers.size(); ++i) {
    if (kTiers[i].name != tier) continue;
    if (tables()[i].tier.empty()) {
      return fail(Code::kUnsupported, "this processor cannot run the kernel tier \"{}\"", tier);
    }
    if (gemm == Gemm::kOwn) return &tables()[i];
    return load_openblas().map([&] { return &openblas_tables()[i]; });
  }
  return fail(Code::kInvalid, "unknown kernel tier \"{}\" (known: {})", tier, known_names());
}

// Measured with linear/f32 and linear/f32_openblas of bench/kernels_bench.
Gemm faster_gemm(std::string_view tier, bool has_avx) {
  return tier == "base" && has_avx ? Gemm::kOpenBlas : Gemm::kOwn;
}

Result<const Table*> active_table() {
  static const Result<const Table*> chosen = choose_table();
  return chosen;
}

}  // namespace signalbox::kernels
