#pragma once
// Decides which signal types read a shortened version (skeleton) of a long text instead of the text
// (`prompt_compression`).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/compress/compress.h"
#include "router/config/catalog.h"

namespace signalbox::signals {

/// Compression applies to signals that run a model over the user's text to find its class or
/// meaning. Keywords, structure, language and length are computed from the whole text. Jailbreak
/// and personal data signals also read the whole text, whatever `skip_signals` contains, because an
/// attacker could hide text from a guard that reads a summary. Immutable and thread-safe.
class Compression {
 public:
  explicit Compression(const config::PromptCompression& config);

  /// Returns whether signals of this type may read a skeleton.
  bool concerns(std::string_view type) const;
  /// Returns nullopt if the text is short enough.
  std::optional<compress::Skeleton> shorten(std::string_view text) const {
    return compress::shorten(text, options_);
  }

 private:
  bool enabled_;
  std::vector<std::string> skipped_;
  compress::Options options_;
};

}  // namespace signalbox::signals
