#pragma once
// Converts text to token ids with offsets into the caller's bytes. The results are identical to
// those of Hugging Face's tokenizers ("the reference") for the same tokenizer.json.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::tokenizer {

/// A half-open range: bytes of the encoded text ({0, 0} for special tokens), or tokens.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Span&) const = default;
};

/// One encoded text. Reuse it between calls to keep its capacity.
struct Encoding {
  std::vector<int32_t> ids;       // (tokens)
  std::vector<Span> offsets;      // (tokens)
  std::vector<uint8_t> type_ids;  // (tokens), set by the template; for BERT 0 for the first text
                                  // and 1 for its pair
  Span first_tokens;              // range of the first text's tokens
  Span second_tokens;             // range of the pair's tokens; {0, 0} without one
  void clear();
};

/// Determines which text of a pair is truncated: the longer one until both are equal and then both,
/// or only one of them. If that one becomes empty, the other is truncated too, where the reference
/// raises an error. A single text is truncated with any strategy.
enum class TruncationStrategy : uint8_t { kLongestFirst, kOnlyFirst, kOnlySecond };

/// The side that is truncated.
enum class TruncationSide : uint8_t { kRight, kLeft };

struct EncodeOptions {
  bool special_tokens = true;
  /// 0: no truncation. Otherwise the maximum number of tokens including special tokens. Special
  /// tokens are also cut if they alone exceed it.
  int32_t tokens_max = 0;
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  TruncationSide side = TruncationSide::kRight;
  /// The number of tokens that consecutive windows share. Each window has at least one new token.
  int32_t stride = 0;
};

/// Called for each window. The encoding is valid until the call returns. Return false to stop.
using TakeWindow = std::function<bool(const Encoding& window)>;

/// Immutable after loading; one instance serves any number of threads without locks.
class Tokenizer {
 public:
  /// Opens a tokenizer.json or its compiled form, which stays mapped. Errors: kNotFound, kIo,
  /// kCorrupt (malformed), kUnsupported (an unsupported component, by name).
  static Result<std::unique_ptr<const Tokenizer>> open(const std::filesystem::path& path);
  /// open() for the tokenizer.json of a model directory, with the changes that its
  /// tokenizer_config.json and special_tokens_map.json make (hf/settings.h).
  static Result<std::unique_ptr<const Tokenizer>> open_directory(
      const std::filesystem::path& directory);
  /// open() for bytes in memory. Errors start with `name`.
  static Result<std::unique_ptr<const Tokenizer>> parse(std::string_view bytes,
                                                        std::string_view name);
  /// Returns the compiled form of a tokenizer.json. It is larger and opens in a fraction of the
  /// time. Errors: see parse().
  static Result<std::string> compile(std::string_view json, std::string_view name);
  virtual ~Tokenizer() = default;

  /// Replaces `out`. The text may contain any bytes; invalid UTF-8 is read as U+FFFD. At most 4 GiB
  /// - 1 bytes.
  virtual void encode(std::string_view text, const EncodeOptions& options, Encoding& out) const = 0;
  /// encode() for two texts in one sequence. Offsets of the second text are relative to its own
  /// start.
  virtual void encode_pair(std::string_view first, std::string_view second,
                           const EncodeOptions& options, Encoding& out) const = 0;

  /// Encodes all of a long text as windows of at most options.tokens_max tokens. The first window
  /// equals the result of encode(). The reference calls the others the overflow, and since release
  /// 0.22 it stops at tokens_max tokens of text. Here the windows always reach the end, as in
  /// earlier releases.
  virtual void encode_windows(std::string_view text, const EncodeOptions& options,
                              const TakeWindow& take) const = 0;
  /// encode_windows() for two texts: each window of the first with each of the second, in the
  /// reference's order. If both are truncated, the number of results is the product.
  virtual void encode_pair_windows(std::string_view first, std::string_view second,
                                   const EncodeOptions& options, const TakeWindow& take) const = 0;

  /// The number of ids including added tokens. Every id is below it.
  virtual int32_t vocabulary_size() const = 0;

  /// The number of types. Every type id is below it.
  virtual int32_t types() const = 0;

  /// The limit per text that the model's files state; 0 if they state none. The encode functions
  /// do not apply it.
  virtual int32_t tokens_max() const = 0;
  /// The side that the model's files truncate. The encode functions do not apply it.
  virtual TruncationSide side() const = 0;
};

}  // namespace signalbox::tokenizer
