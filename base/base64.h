#pragma once
// Base64 of RFC 4648 with its standard alphabet and padding, as binary data stands in JSON. Strict:
// one text for each sequence of bytes, so white space, missing padding and stray bits are errors.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::base64 {

std::string encode(std::string_view bytes);

/// kInvalid with the offset of what is wrong.
Result<std::string> decode(std::string_view text);

}  // namespace signalbox::base64
