// Selects tables: base first, then each tier that the processor supports, up to the requested one.

#include <array>
#include <cstdlib>

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

// The tables of all tiers. Entries of unsupported tiers stay empty.
const std::array<Table, kTiers.size()>& tables() {
  static const auto built = [] {
    std::array<Table, kTiers.size()> out{};
    Table table{};
    for (size_t i = 0; i < kTiers.size() && kTiers[i].supported(); ++i) {
      kTiers[i].install(table);
      table.tier = kTiers[i].name;
      out[i] = table;
    }
    return out;
  }();
  return built;
}

}  // namespace

std::span<const std::string_view> tier_names() {
  return kNames;
}

Result<const Table*> table_of(std::string_view tier) {
  for (size_t i = 0; i < kTiers.size(); ++i) {
    if (kTiers[i].name != tier) continue;
    if (tables()[i].tier.empty()) {
      return fail(Code::kUnsupported, "this processor cannot run the kernel tier \"{}\"", tier);
    }
    return &tables()[i];
  }
  return fail(Code::kInvalid, "unknown kernel tier \"{}\" (known: {})", tier, known_names());
}

Result<const Table*> active_table() {
  static const Result<const Table*> chosen = []() -> Result<const Table*> {
    if (const char* name = std::getenv("SIGNALBOX_ISA"); name != nullptr && *name != '\0') {
      auto table = table_of(name);
      if (!table) return fail_in("SIGNALBOX_ISA", std::move(table).error());
      return table;
    }
    size_t best = 0;
    for (size_t i = 1; i < kTiers.size(); ++i) {
      if (!tables()[i].tier.empty() && kTiers[i].is_faster()) best = i;
    }
    return &tables()[best];
  }();
  return chosen;
}

}  // namespace signalbox::kernels
