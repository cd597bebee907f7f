#pragma once
// Parses JSON numbers to the same values as the reference. It uses serde_json without that
// library's feature float_roundtrip: the digits form one integer, which is multiplied or divided
// once by a power of ten. The result is off by one bit for a quarter of T5's scores. This matters,
// because sums of scores can differ in a single bit, and that bit decides how a word is split.

#include <string_view>

#include "base/error.h"

namespace signalbox::tokenizer {

/// `number` is a JSON number. Returns kInvalid if it is out of range for a double, like the
/// reference.
Result<double> reference_number(std::string_view number);

}  // namespace signalbox::tokenizer
