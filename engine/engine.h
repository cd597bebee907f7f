#pragma once
// The engine's public interface: opens a model directory as an object that converts text to
// vectors, class probabilities and marked spans. The parts behind it (tokenizer, trunk, heads,
// kernels) can be used separately, but most callers need only this file.
//
//   auto model = engine::TextModel::open("models/pii");
//   if (!model) return model.error().message;
//   const engine::Input input{.text = "Call Ada on 555 0100"};
//   auto answers = (*model)->answer({&input, 1});   // answers->front().entities

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/patience.h"

namespace signalbox::engine {

class TextModel;

/// Embeds texts. Implementations are immutable and thread-safe.
class TextEmbedder {
 public:
  virtual ~TextEmbedder() = default;
  /// Returns the model that embeds, or nullptr if it is not a TextModel of this process.
  virtual const TextModel* text_model() const { return nullptr; }
  /// Length of one embedding.
  virtual int32_t dim() const = 0;
  /// The maximum number of tokens of one input, including special tokens.
  virtual int32_t tokens_max() const = 0;
  /// Writes L2-normalised embeddings to out (texts, dim), row-major. Texts above the model's limit
  /// are truncated on the right. A text's embedding does not depend on the other texts. Requires
  /// out.size() == texts.size() * dim().
  virtual Result<void> embed(std::span<const std::string_view> texts,
                             std::span<float> out) const = 0;
  /// embed() for one of many concurrent callers, with a deadline and a stop token. A model with a
  /// queue (served_model.h) interleaves callers text by text. Texts that are still queued at the
  /// deadline or stop fail with kDeadline or kCancelled. Other models run immediately.
  virtual Result<void> embed_within(const Patience& patience,
                                    std::span<const std::string_view> texts,
                                    std::span<float> out) const {
    static_cast<void>(patience);
    return embed(texts, out);
  }
};

/// The vector that a text's hidden states become: their mean, the first token's, the last token's,
/// or the largest value of each dimension.
enum class Pooling : uint8_t { kMean, kFirst, kLast, kMax };

/// For inputs that run without an adapter.
inline constexpr int32_t kNoAdapter = -1;

struct EmbedOptions {
  int32_t layers = 0;  // stop after this many layers; 0: all
  int32_t dim = 0;     // keep this many numbers, for models trained for it (matryoshka); 0: all
  std::optional<Pooling> pooling = {};  // nullopt: from the model directory
  int32_t adapter = kNoAdapter;         // index into OpenOptions::adapters
  bool operator==(const EmbedOptions&) const = default;
};

/// A head classifies the text as a whole or each of its tokens.
enum class HeadKind : uint8_t { kSequence, kTokens };

/// The scores that logits become: probabilities that sum to 1, an independent probability for each
/// label, or the logits themselves (regression).
enum class Scores : uint8_t { kSoftmax, kSigmoid, kRaw };

struct HeadInfo {
  std::string name;              // name of its directory
  int32_t adapter = kNoAdapter;  // the only adapter whose inputs it answers
  HeadKind kind = HeadKind::kSequence;
  Scores scores = Scores::kSoftmax;
  std::vector<std::string> labels;
  /// Languages that the head judges well by measurement (ISO 639-1); empty: its files name none.
  std::vector<std::string> languages = {};
  /// Added to the log-odds of a finding in any other language, because the head is less reliable
  /// there; 0 or less.
  float unsupported_shift = 0;
  /// The head reads the hidden states after this many layers of the trunk.
  int32_t layers = 0;
  /// For a screen: an input is harmless for every head of the same adapter if the probability of
  /// class 1 is below this. 0: the head is not a screen.
  float clears_below = 0;
};

/// The text of a pair that a token head marks.
enum class Marked : uint8_t { kText, kPair };

/// A text, or two for models that judge pairs (inference, relevance).
struct Input {
  std::string_view text;
  std::optional<std::string_view> pair = {};
  int32_t adapter = kNoAdapter;  // index into OpenOptions::adapters
  /// Use kPair for models that judge every word of an answer (`pair`) by a context (`text`).
  Marked marked = Marked::kText;
  bool raw = false;  // leave the scores of sequence heads as logits
  /// If the adapter has a screen that clears this input, the layers after the screen do not run,
  /// and heads that read them have no answer.
  bool screened = false;
};

/// A span marked by a token head.
struct Entity {
  std::string type;    // the label without its B-, I-, E- or S-
  uint32_t begin = 0;  // bytes in the marked text, half-open, without surrounding white space
  uint32_t end = 0;
  float score = 0;  // mean probability of its tokens' labels
};

/// The scores of a token head for one token, for callers that need more than spans.
struct TokenScores {
  uint32_t begin = 0;  // bytes in the marked text, half-open; may begin with white space
  uint32_t end = 0;
  std::vector<float> scores;  // (labels)
};

/// The result of one head for one input. Empty if the input runs with another adapter than the
/// head's, or was cleared by a screen before the head's layers.
struct Answer {
  std::vector<float> scores;     // (labels), for a sequence head
  std::vector<Entity> entities;  // for a token head, in text order
  /// For a token head that marks a pair: all tokens that were not truncated.
  std::vector<TokenScores> tokens = {};
};

/// Returns true if the head is a screen and its answer, with scores, clears the input.
inline bool clears(const HeadInfo& head, const Answer& answer) {
  return head.clears_below > 0 && answer.scores.size() == 2 && answer.scores[1] < head.clears_below;
}

/// The raw model outputs.
struct States {
  std::vector<float> last_hidden_state;    // (tokens, hidden)
  std::vector<std::vector<float>> logits;  // per head: (labels) or (tokens, labels); as in Answer
};

/// Number format of the trunk's matrices in storage and products. Heads and norms stay in single
/// precision.
enum class Precision : uint8_t {
  kF32,
  kBF16,  // weights and activations in bfloat16, sums in single precision
  kI8,    // weights in 8 bits with a scale per output; activations with a scale per token
};

inline constexpr int32_t kThreadsMax = 256;
inline constexpr int32_t kLabelsMax = 100;

struct OpenOptions {
  /// For matrices that are not already packed in the file.
  Precision precision = Precision::kF32;
  /// Threads of one forward pass, 1 to kThreadsMax. Results do not depend on it.
  int32_t threads = 1;

  /// Additional directories with a head for the same trunk (config.json, model.safetensors). Other
  /// tensors in their weights files are ignored. A head declared for another model is an error.
  std::vector<std::filesystem::path> heads = {};

  /// Directory of a low-rank adapter in PEFT's format (adapter_config.json,
  /// adapter_model.safetensors) to merge into the model: its weights, and its head if it has one.
  /// Empty for none. A model with packed matrices cannot merge an adapter.
  std::filesystem::path adapter = {};

  /// Directories of adapters that share the trunk. Each input runs with one of them or none, and a
  /// batch may mix them. Their low-rank layers stay separate and in single precision. Each may have
  /// its own head. An adapter that changes anything else in the trunk is an error. Cannot be
  /// combined with `adapter`.
  std::vector<std::filesystem::path> adapters = {};

  /// The labels that a GLiNER model marks, in words ("phone number"), at most kLabelsMax; empty:
  /// those of its directory. Any other model has its own.
  std::vector<std::string> labels = {};
  /// A GLiNER model marks spans whose probability is above this; none: that of its directory, or
  /// 0.5.
  std::optional<float> least_score = {};
};

/// Tokens of a long text that a classifier reads at a time: a larger window would dilute a short
/// relevant passage, and the cost of attention is quadratic.
inline constexpr int32_t kWindowTokens = 256;
/// The smallest window of TextModel::windows().
inline constexpr int32_t kWindowTokensMin = 16;

/// A model directory (config.json, model.safetensors, tokenizer.json) loaded for inference: one
/// trunk and any number of heads. A text takes one pass through the trunk regardless of the number
/// of heads. Without a tokenizer.json only states() works; the other functions fail with kNotFound.
class TextModel : public TextEmbedder {
 public:
  /// Opens a model directory, or an adapter or head of one (engine/model_path.h) with its heads.
  /// Errors name the file: kNotFound, kIo, kCorrupt, kUnsupported (an unsupported architecture or
  /// option).
  static Result<std::unique_ptr<const TextModel>> open(const std::filesystem::path& path,
                                                       const OpenOptions& options = {});

  const TextModel* text_model() const final { return this; }

  /// Width of the hidden states; equal to dim() unless dense layers follow the pooling.
  virtual int32_t hidden() const = 0;
  virtual int32_t layers() const = 0;
  /// All ids are below this.
  virtual int32_t vocabulary() const = 0;
  /// Multiply-adds that one sequence of `tokens` takes in the trunk: matrix products, and attention
  /// within the windows.
  virtual double multiply_adds(int32_t tokens) const = 0;
  /// The directory's own head if it has one, then the heads of OpenOptions: `heads`, `adapters`.
  virtual std::span<const HeadInfo> heads() const = 0;

  using TextEmbedder::embed;
  /// embed() with options; out is (texts, options.dim). kInvalid for options out of range,
  /// including the adapter.
  virtual Result<void> embed(std::span<const std::string_view> texts, const EmbedOptions& options,
                             std::span<float> out) const = 0;

  using TextEmbedder::embed_within;
  virtual Result<void> embed_within(const Patience& patience,
                                    std::span<const std::string_view> texts,
                                    const EmbedOptions& options, std::span<float> out) const {
    static_cast<void>(patience);
    return embed(texts, options, out);
  }

  /// Returns every head's answer to every input, (inputs, heads) row-major. Inputs above the limit
  /// are truncated on the right; in a pair the longer text first. An input's answers do not depend
  /// on the others. kInvalid for an unknown adapter.
  virtual Result<std::vector<Answer>> answer(std::span<const Input> inputs) const = 0;
  /// answer() with a deadline and a stop token; see embed_within().
  virtual Result<std::vector<Answer>> answer_within(const Patience& patience,
                                                    std::span<const Input> inputs) const {
    static_cast<void>(patience);
    return answer(inputs);
  }

  /// Runs one sequence of ids through the trunk and all heads. `types` are the segments of the ids,
  /// or empty for all zeros. kInvalid for an id, type or adapter out of range, another number of
  /// types than ids, or more ids than the network has positions.
  virtual Result<States> states(std::span<const int32_t> ids, std::span<const uint8_t> types,
                                int32_t adapter) const = 0;
  Result<States> states(std::span<const int32_t> ids, int32_t adapter = kNoAdapter) const {
    return states(ids, {}, adapter);
  }

  /// Returns the number of tokens that embed() and answer() use for an input, 1 to tokens_max(),
  /// without running the model. kInvalid for an input without tokens or an unknown adapter.
  virtual Result<int32_t> tokens(const Input& input) const = 0;
  /// Returns true if an input has more than tokens_max() tokens, so that answer() truncates it.
  /// kInvalid: see tokens().
  virtual Result<bool> is_cut(const Input& input) const = 0;

  /// Splits a long text into pieces of at most `tokens` tokens each, including special tokens.
  /// Consecutive pieces share `overlap` tokens, and together they cover the whole text. Pieces
  /// begin and end between words if words are not longer than the overlap, so that a piece has the
  /// same tokens as in the whole text. Requires 0 <= overlap < tokens / 2 and 16 <= tokens <=
  /// tokens_max().
  virtual Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                        int32_t overlap) const = 0;

  /// Converts text to ids as in embed().
  virtual Result<std::vector<int32_t>> encode(std::string_view text) const = 0;
};

}  // namespace signalbox::engine
