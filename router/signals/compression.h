#pragma once
// Which signals read a long text's skeleton instead of the text (`prompt_compression`).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/compress/compress.h"
#include "router/config/catalog.h"

namespace signalbox::signals {

/// Those that run a model over what the user says: its class, its meaning. Keywords, structure,
/// language and lengths are told of the whole text; so are jailbreaks and personal data, whatever
/// skip_signals holds, since a guard that reads a summary can be talked past. Immutable and
/// thread-safe.
class Compression {
 public:
  explicit Compression(const config::PromptCompression& config);

  /// Whether signals of the type may be given a skeleton.
  bool concerns(std::string_view type) const;
  /// Nothing when the text is short enough as it is.
  std::optional<compress::Skeleton> shorten(std::string_view text) const {
    return compress::shorten(text, options_);
  }

 private:
  bool enabled_;
  std::vector<std::string> skipped_;
  compress::Options options_;
};

}  // namespace signalbox::signals
