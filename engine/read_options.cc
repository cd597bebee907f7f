// The messages have the form of all errors about a configuration: file, key, value.

#include "engine/read_options.h"

#include <string>

namespace signalbox::engine {

Result<void> require(const weights::HfObject& config, std::string_view key, std::string_view only) {
  SIGNALBOX_TRY(const std::string value, config.string(key, only));
  if (value == only) return {};
  return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: \"{}\")",
              config.where(key), value, only);
}

Result<void> refuse(const weights::HfObject& config, std::string_view key) {
  SIGNALBOX_TRY(const bool value, config.boolean(key, false));
  if (!value) return {};
  return fail(Code::kUnsupported, "{}: true is not supported", config.where(key));
}

Result<void> check_heads(const weights::HfObject& config, std::string_view hidden_key,
                         int32_t hidden, std::string_view heads_key, int32_t heads) {
  if (hidden % heads == 0) return {};
  return fail(Code::kCorrupt, "{} {} is not a multiple of {} {}", config.where(hidden_key), hidden,
              heads_key, heads);
}

Result<float> read_eps(const weights::HfObject& config, std::string_view key, double fallback) {
  SIGNALBOX_TRY(const double eps, config.number(key, 0, 1, fallback));
  return static_cast<float>(eps);
}

}  // namespace signalbox::engine
