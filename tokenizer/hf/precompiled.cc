// Reads a `normalizer` of type Precompiled.

#include "tokenizer/hf/sections.h"

#include "base/base64.h"
#include "tokenizer/normalize/precompiled.h"

namespace signalbox::tokenizer {

Result<std::unique_ptr<const Normalizer>> read_precompiled(const Field& normalizer) {
  SIGNALBOX_TRY(const Field charsmap, normalizer.member("precompiled_charsmap"));
  SIGNALBOX_TRY(const std::string_view text, charsmap.string());
  const auto blob = base64::decode(text);
  if (!blob) return charsmap.corrupt("{}", blob.error().message);
  auto precompiled = Precompiled::parse(*blob);
  if (!precompiled) return charsmap.corrupt("{}", precompiled.error().message);
  return std::move(*precompiled);
}

}  // namespace signalbox::tokenizer
