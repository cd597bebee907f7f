#pragma once
// The texts of the strings with escapes in a JSON document. They are resolved when one of them is
// read, for a block of the source at a time, so that texts that nobody reads cost nothing. A list
// of all strings with escapes was rejected: if they are short, it takes more memory than the
// source.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::json {

struct Escape {
  char32_t code;
  size_t bytes;  // in the source; 0: it is not an escape
};

/// Reads the escape at a backslash of a text that ends in '\0'.
Escape escape_at(std::string_view text, size_t at);

/// Returns the first quote, backslash or control character at or after `at`. The text ends in '\0'.
size_t plain_end(std::string_view text, size_t at);

/// Call add() for every string with escapes in the order of the source, then finish(). After that,
/// text_of() is thread-safe, and moving the object leaves the texts where they are.
class EscapedTexts {
 public:
  /// Notes a string by the place of its first quote.
  void add(uint32_t begin);
  void finish();

  /// Returns the text of the string in source[begin, end), which has a backslash.
  std::string_view text_of(std::string_view source, uint32_t begin, uint32_t end) const;
  /// Returns false if the string that begins there surely has no escapes.
  bool may_have(uint32_t begin) const;
  /// The memory held now: it grows when texts are read.
  size_t memory_bytes() const;

 private:
  struct Mark {
    uint32_t begin;  // of a string with escapes, in the source
    uint32_t at;     // of its text
  };
  // The texts of the strings with escapes that begin in one block. A string without a mark begins
  // soon after one with a mark, so what lies between them is quickly read.
  struct Block {
    std::vector<Mark> marks;
    std::string texts;
  };
  struct Slot {
    ~Slot() { delete block.load(); }
    uint32_t first = 0;  // string with escapes; 0: none begins in this block
    std::atomic<const Block*> block = nullptr;
  };

  static std::unique_ptr<const Block> resolve(std::string_view source, uint32_t first);
  const Block& block_of(std::string_view source, uint32_t begin) const;

  std::vector<uint32_t> firsts_;  // of the blocks, until finish()
  std::unique_ptr<Slot[]> slots_;
  size_t blocks_ = 0;
};

}  // namespace signalbox::json
