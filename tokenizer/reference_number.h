#pragma once
// JSON numbers with the value that the reference gives them. It reads with serde_json and without
// that library's feature float_roundtrip: the digits as one integer, then one multiplication or
// division by a power of ten. That is one bit off for a quarter of T5's scores, and sums of scores
// that are equal but for a bit decide between two ways to cut a word.

#include <string_view>

#include "base/error.h"

namespace signalbox::tokenizer {

/// `number`: JSON's form of one. kInvalid when it is out of the range of a double, as there.
Result<double> reference_number(std::string_view number);

}  // namespace signalbox::tokenizer
