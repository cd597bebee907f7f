#pragma once
// A stored response as bytes: "SBR1", the time at which it was stored (64 bits), the lengths of its
// four texts (32 bits each), and the texts. Numbers have their least significant byte first.

#include <string>
#include <string_view>

#include "base/error.h"
#include "router/dialects/response_store.h"

namespace signalbox::shared_responses {

/// A longer record is neither written nor read.
inline constexpr size_t kRecordBytesMax = size_t{16} << 20;

std::string write_record(const dialects::StoredResponse& response);
/// Errors: kCorrupt.
Result<dialects::StoredResponse> read_record(std::string_view record);

}  // namespace signalbox::shared_responses
