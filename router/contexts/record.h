#pragma once
// The file format of a context: a head with metadata and its own checksum, then the compressed
// messages, whose checksum is the id in the head. So a start reads only the heads, and no damaged
// byte reaches a prompt.
//
// The head is text with one "key value" per line, because nothing in it needs another format:
//
//   signalbox context 1
//   id ctx_0f3a...
//   tenant "..."             as JSON
//   created 1700000000
//   messages 12
//   bytes 104857             bytes of the messages
//   packed 31337             bytes of the compressed messages after the head
//   sum 9a...                SHA-256 of the lines above
//   (an empty line)

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/contexts/context.h"

namespace signalbox::contexts {

/// The longest head. A tenant name is shorter than half of this.
inline constexpr size_t kHeadBytesMax = 4096;
/// The most bytes of one context's messages under any configuration: the limit of our JSON parser.
inline constexpr uint64_t kContentBytesMax = uint64_t{1} << 30;

struct Head {
  Context context;   // never pinned, because the head does not store pins
  size_t bytes = 0;  // size of the head itself, up to the first packed byte
  uint64_t packed_bytes = 0;
};

std::string write_head(const Context& context, uint64_t packed_bytes);

/// Reads the head of a file. `front` is at least the first kHeadBytesMax bytes, or the whole file.
/// Errors: kCorrupt.
Result<Head> read_head(std::string_view front);

/// Returns the messages of a whole file. Errors: kCorrupt; kTooLarge if they have more than
/// `bytes_max` bytes, before it allocates them.
Result<std::string> read_content(std::string_view file, size_t bytes_max);

}  // namespace signalbox::contexts
