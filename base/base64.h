#pragma once
// Base64 of RFC 4648 with the standard alphabet and padding, for binary data in JSON, and with the
// alphabet for URLs, for tokens. The decoders are strict: each byte sequence has exactly one
// encoding, so white space, wrong padding and stray bits are errors.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::base64 {

std::string encode(std::string_view bytes);

/// Errors: kInvalid with the offset of the bad character.
Result<std::string> decode(std::string_view text);

/// Decodes the alphabet for URLs, with "-" and "_", and without padding, as strictly.
Result<std::string> decode_url(std::string_view text);

}  // namespace signalbox::base64
