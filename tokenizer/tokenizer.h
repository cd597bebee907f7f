#pragma once
// Text to token ids with offsets into the caller's bytes, exactly as Hugging Face's tokenizers
// computes them from the same tokenizer.json.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::tokenizer {

/// Half-open range: of bytes in the text that was encoded ({0, 0} for special tokens), or of
/// tokens.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Span&) const = default;
};

/// One encoded text. Reuse it between calls: its capacity is kept.
struct Encoding {
  std::vector<int32_t> ids;       // (tokens)
  std::vector<Span> offsets;      // (tokens)
  std::vector<uint8_t> type_ids;  // (tokens), as the template says; in BERT's, 0 for the first text
                                  // and 1 for its pair
  Span first_tokens;              // which tokens are the first text's
  Span second_tokens;             // and which its pair's; {0, 0} without one
  void clear();
};

/// Which text of a pair is cut: the longer until both are alike and then both, or one of them. When
/// nothing is left of that one, the other is cut as well, where the reference raises an error. A
/// single text is cut by any.
enum class TruncationStrategy : uint8_t { kLongestFirst, kOnlyFirst, kOnlySecond };

/// The side that is cut off.
enum class TruncationSide : uint8_t { kRight, kLeft };

struct EncodeOptions {
  bool special_tokens = true;
  /// 0: no truncation. Otherwise at most this many tokens, special tokens included, and those cut
  /// too where they alone are more.
  int32_t tokens_max = 0;
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  TruncationSide side = TruncationSide::kRight;
  /// How many tokens of a text one window shares with the next; at least one is new.
  int32_t stride = 0;
};

/// Called with one window after the other; the encoding is good until it returns. False stops.
using TakeWindow = std::function<bool(const Encoding& window)>;

/// Immutable after loading; one instance serves any number of threads without locks.
class Tokenizer {
 public:
  /// Reads a tokenizer.json, or the compiled form of one, which is mapped and stays mapped. Errors:
  /// kNotFound, kIo, kCorrupt (malformed), kUnsupported (a component that is not built, by its
  /// name).
  static Result<std::unique_ptr<const Tokenizer>> open(const std::filesystem::path& path);
  /// The same from memory; `name` goes in front of errors.
  static Result<std::unique_ptr<const Tokenizer>> parse(std::string_view bytes,
                                                        std::string_view name);
  /// The compiled form of a tokenizer.json: larger, and opened in a fraction of the time. Errors as
  /// parse() has them.
  static Result<std::string> compile(std::string_view json, std::string_view name);
  virtual ~Tokenizer() = default;

  /// Replaces `out`. The text may hold any bytes; what is not UTF-8 reads as U+FFFD. At most 4 GiB
  /// - 1 bytes.
  virtual void encode(std::string_view text, const EncodeOptions& options, Encoding& out) const = 0;
  /// The same for two texts in one sequence; offsets of the second count from its own start.
  virtual void encode_pair(std::string_view first, std::string_view second,
                           const EncodeOptions& options, Encoding& out) const = 0;

  /// All of a long text, as windows of at most options.tokens_max tokens. The first is what
  /// encode() gives. The reference, which calls the others the overflow, has ended it at tokens_max
  /// tokens of text since release 0.22; here, as before, the windows reach the end.
  virtual void encode_windows(std::string_view text, const EncodeOptions& options,
                              const TakeWindow& take) const = 0;
  /// The same for two texts: each window of the first with each of the second, in the reference's
  /// order. Where both are cut, these are as many as the product.
  virtual void encode_pair_windows(std::string_view first, std::string_view second,
                                   const EncodeOptions& options, const TakeWindow& take) const = 0;

  /// Number of ids, added tokens included: every id is below it.
  virtual int32_t vocabulary_size() const = 0;
};

}  // namespace signalbox::tokenizer
