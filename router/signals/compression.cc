// A profile sets every weight; weights that the configuration sets replace those of the profile.

#include "router/signals/compression.h"

#include <algorithm>

#include "base/error.h"
#include "router/config/routing.h"

namespace signalbox::signals {
namespace {

compress::Options options_of(const config::PromptCompression& config) {
  const auto profile = compress::profile(config.profile);
  SIGNALBOX_CHECK(profile.has_value());  // the configuration reader accepts the same names
  compress::Options out = *profile;
  out.tokens_max = config.max_tokens;
  out.bytes_min = config.min_length;
  out.textrank = config.textrank_weight.value_or(out.textrank);
  out.position = config.position_weight.value_or(out.position);
  out.tfidf = config.tfidf_weight.value_or(out.tfidf);
  out.novelty = config.novelty_weight.value_or(out.novelty);
  out.position_depth = config.position_depth.value_or(out.position_depth);
  out.first = config.preserve_first_n.value_or(out.first);
  out.last = config.preserve_last_n.value_or(out.last);
  return out;
}

}  // namespace

Compression::Compression(const config::PromptCompression& config)
    : enabled_(config.enabled && config.max_tokens > 0),
      skipped_(config.skip_signals),
      options_(options_of(config)) {}

bool Compression::concerns(std::string_view type) const {
  return enabled_ && !config::is_guard_signal(type) &&
         std::find(skipped_.begin(), skipped_.end(), type) == skipped_.end();
}

}  // namespace signalbox::signals
