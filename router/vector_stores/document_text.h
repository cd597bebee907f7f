#pragma once
// The text of a file, and its parts that are embedded.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::vector_stores {

/// Returns ".md" for "Notes.MD"; "" for a name without an extension.
std::string extension_of(std::string_view file_name);
/// True if files with this extension can be read.
bool is_readable(std::string_view extension);

/// All of them.
std::vector<std::string> readable_extensions();

/// Returns the text of a file: HTML without its markup, and every other format as it is. Errors:
/// kInvalid for bytes that are not UTF-8 text, and for a file without text.
Result<std::string> document_text(std::string_view file_name, std::string_view bytes);

/// The text that a browser would show, in lines. Takes linear time.
std::string html_text(std::string_view html);

/// The sizes of chunks. A token counts as four bytes.
struct Chunking {
  uint32_t tokens_max = 800;
  uint32_t overlap_tokens = 400;  // that a chunk shares with the one before

  bool operator==(const Chunking&) const = default;
};
inline constexpr uint32_t kChunkTokensMin = 100, kChunkTokensMax = 4096;
inline constexpr size_t kTokenBytes = 4;

/// Cuts a text into chunks of at most `bytes_max` bytes (at least 16). Each chunk begins within the
/// last `overlap` bytes (at most half of `bytes_max`) of the one before. A chunk ends at the end of
/// a paragraph, a line, a sentence or a word if there is one in its last quarter, and never inside
/// a character.
std::vector<std::string_view> cut(std::string_view text, size_t bytes_max, size_t overlap);

}  // namespace signalbox::vector_stores
