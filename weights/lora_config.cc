// Reads adapter_config.json key by key. PEFT treats its patterns as regular expressions, but in
// practice they are names or name suffixes. Only those are supported.

#include "weights/lora_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/ascii.h"

namespace signalbox::weights {
namespace {

constexpr int32_t kLowRankMax = 1 << 14;
constexpr double kAlphaMax = 1e6;

// Unsupported keys that change the result when they are set.
constexpr std::array kUnsupportedKeys = {"use_dora",          "use_qalora",
                                         "use_bdlora",        "lora_bias",
                                         "layer_replication", "trainable_token_indices",
                                         "target_parameters", "alora_invocation_tokens",
                                         "arrow_config",      "megatron_config"};

// Initialisations that do not change the model's own weights. Others (pissa, olora, corda, loftq)
// change them, and the adapter then only fits the changed weights.
constexpr std::array kInitialisations = {"gaussian", "eva", "orthogonal"};

bool is_set(const json::Value& value) {
  if (value.is_bool()) return value.boolean();
  if (value.is_array()) return value.items().begin() != value.items().end();
  if (value.is_object()) return value.members().begin() != value.members().end();
  return !value.is_null();
}

// Allows no metacharacters except the dot, which occurs in PEFT's own names.
bool is_plain(std::string_view pattern) {
  return !pattern.empty() && std::ranges::all_of(pattern, [](char c) {
    return ascii::is_alnum(c) || c == '_' || c == '.' || c == '-';
  });
}

bool fits(std::string_view pattern, std::string_view path) {
  if (!path.ends_with(pattern)) return false;
  return path.size() == pattern.size() || path[path.size() - pattern.size() - 1] == '.';
}

// Returns the value of the first matching pattern.
template <class Patterns, class T>
T value_of(const Patterns& patterns, std::string_view path, T fallback) {
  for (const auto& [pattern, value] : patterns) {
    if (fits(pattern, path)) return value;
  }
  return fallback;
}

// Returns the first number in a path: the layer's index in the stack.
std::optional<int32_t> layer_number(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('.'));
    int32_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size()) return number;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return std::nullopt;
}

Result<void> refuse(const HfObject& config) {
  SIGNALBOX_TRY(const std::string type, config.string("peft_type", ""));
  if (type != "LORA") {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: LORA)",
                config.where("peft_type"), type);
  }
  for (const std::string_view key : kUnsupportedKeys) {
    const auto value = config.value().find(key);
    if (!value || !is_set(*value)) continue;
    return fail(Code::kUnsupported, "{}: {} is not supported", config.where(key),
                value->raw().substr(0, 64));
  }
  SIGNALBOX_TRY(const std::string bias, config.string("bias", "none"));
  if (bias != "none" && bias != "all" && bias != "lora_only") {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: none, all, lora_only)",
                config.where("bias"), bias);
  }
  const auto initialisation = config.value().find("init_lora_weights");
  if (initialisation && initialisation->is_string() &&
      std::ranges::find(kInitialisations, initialisation->text()) == kInitialisations.end()) {
    return fail(Code::kUnsupported,
                "{}: \"{}\" is not supported: it changes the model's own weights",
                config.where("init_lora_weights"), initialisation->text().substr(0, 64));
  }
  // Only validated: it concerns weights stored transposed, which no supported model has.
  return config.boolean("fan_in_fan_out", false).map([](bool) {});
}

// Returns the members of the object at `key`, or an empty list. Read parses the value for a
// member's key.
template <class T, class Read>
Result<std::vector<std::pair<std::string, T>>> patterns_of(const HfObject& config,
                                                           std::string_view key, const Read& read) {
  std::vector<std::pair<std::string, T>> out;
  SIGNALBOX_TRY(const auto object, config.object(key));
  if (!object) return out;
  for (const json::Member& member : object->value().members()) {
    if (!is_plain(member.key)) {
      return fail(Code::kUnsupported,
                  "{}: \"{}\" is not supported (names of layers, or their ends)", config.where(key),
                  member.key.substr(0, 64));
    }
    SIGNALBOX_TRY(const T value, read(*object, member.key));
    out.emplace_back(member.key, value);
  }
  return out;
}

}  // namespace

Result<LoraConfig> LoraConfig::read(const HfConfig& file) {
  const HfObject config = file.root();
  SIGNALBOX_TRY_VOID(refuse(config));
  LoraConfig out;
  out.name_ = file.name();
  SIGNALBOX_TRY(out.task_, config.string("task_type", ""));
  SIGNALBOX_TRY(out.rank_, config.integer("r", 1, kLowRankMax, 8));
  SIGNALBOX_TRY(out.alpha_, config.number("lora_alpha", -kAlphaMax, kAlphaMax, 8));
  SIGNALBOX_TRY(out.stabilised_, config.boolean("use_rslora", false));
  SIGNALBOX_TRY_VOID(out.read_patterns(config));
  SIGNALBOX_TRY_VOID(out.read_layers(config));
  return out;
}

Result<void> LoraConfig::read_patterns(const HfObject& config) {
  SIGNALBOX_TRY(ranks_, patterns_of<int32_t>(config, "rank_pattern",
                                             [](const HfObject& object, std::string_view key) {
                                               return object.integer(key, 1, kLowRankMax);
                                             }));
  SIGNALBOX_TRY(alphas_, patterns_of<double>(config, "alpha_pattern",
                                             [](const HfObject& object, std::string_view key) {
                                               return object.number(key, -kAlphaMax, kAlphaMax);
                                             }));
  return {};
}

Result<void> LoraConfig::read_layers(const HfObject& config) {
  const auto targets = config.value().find("target_modules");
  if (!targets || !targets->is_string()) {
    SIGNALBOX_TRY(targets_, config.strings("target_modules"));
  }
  const auto numbers = config.value().find("layers_to_transform");
  if (!numbers || numbers->is_null()) return {};
  if (!numbers->is_array()) {
    SIGNALBOX_TRY(const int32_t number, config.integer("layers_to_transform", 0, INT32_MAX));
    numbers_.push_back(number);
    return {};
  }
  for (const json::Value& item : numbers->items()) {
    const auto number = item.integer();
    if (!number || *number < 0 || *number > INT32_MAX) {
      return fail(Code::kCorrupt, "{}: expected numbers of layers, found {}",
                  config.where("layers_to_transform"), item.raw().substr(0, 64));
    }
    numbers_.push_back(static_cast<int32_t>(*number));
  }
  return {};
}

int32_t LoraConfig::rank_of(std::string_view path) const {
  return value_of(ranks_, path, rank_);
}

float LoraConfig::scale_of(std::string_view path) const {
  const double rank = rank_of(path);
  return static_cast<float>(value_of(alphas_, path, alpha_) /
                            (stabilised_ ? std::sqrt(rank) : rank));
}

Result<void> LoraConfig::check(std::string_view path) const {
  const auto number = layer_number(path);
  const char* key = nullptr;
  if (!targets_.empty() && std::ranges::none_of(targets_, [&](const std::string& target) {
        return fits(target, path);
      })) {
    key = "target_modules";
  } else if (!numbers_.empty() && number && std::ranges::count(numbers_, *number) == 0) {
    key = "layers_to_transform";
  }
  if (key == nullptr) return {};
  return fail(Code::kCorrupt, "{}: {}: does not name \"{}\", for which there are weights", name_,
              key, path);
}

}  // namespace signalbox::weights
