#pragma once
// A context as a file holds it: a head that says what it is, with a checksum of its own, and the
// compressed messages, which the id in the head is the checksum of. So a start reads heads only,
// and no damaged byte reaches a prompt.
//
// The head is text, one "key value" a line, since nothing about it is worth another format:
//
//   signalbox context 1
//   id ctx_0f3a...
//   tenant "..."             as JSON
//   created 1700000000
//   messages 12
//   bytes 104857             of the messages
//   packed 31337             of what follows the head
//   sum 9a...                SHA-256 of the lines above
//   (an empty line)

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/contexts/context.h"

namespace signalbox::contexts {

/// A head is no longer than this; tenants are shorter than half of it.
inline constexpr size_t kHeadBytesMax = 4096;
/// Of the messages of one context, whatever is configured: what no JSON of ours may be longer than.
inline constexpr uint64_t kContentBytesMax = uint64_t{1} << 30;

struct Head {
  Context context;   // never pinned: that is not said here
  size_t bytes = 0;  // of the head itself, to the first packed byte
  uint64_t packed_bytes = 0;
};

std::string write_head(const Context& context, uint64_t packed_bytes);

/// Reads the head at the front of a file, of which `front` is at least the first kHeadBytesMax
/// bytes, or all. Errors: kCorrupt.
Result<Head> read_head(std::string_view front);

/// The messages of a whole file. Errors: kCorrupt; kTooLarge for more than `bytes_max` bytes of
/// them, before they are allocated.
Result<std::string> read_content(std::string_view file, size_t bytes_max);

}  // namespace signalbox::contexts
