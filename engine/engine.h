#pragma once
// The engine's public face: a model directory becomes an object that turns text into vectors, class
// probabilities and marked spans. Everything behind it (tokenizer, trunk, heads, kernels) can be
// used on its own, but most callers need this file only.
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

/// Something that embeds sentences. Implementations are immutable and thread-safe.
class TextEmbedder {
 public:
  virtual ~TextEmbedder() = default;
  /// Length of one embedding.
  virtual int32_t dim() const = 0;
  /// Most tokens of one input, special tokens included.
  virtual int32_t tokens_max() const = 0;
  /// Writes L2-normalised embeddings to out (texts, dim), row-major. Texts over the model's limit
  /// are cut on the right. A text's embedding does not depend on what else is in the call.
  /// Precondition: out.size() is texts.size() * dim().
  virtual Result<void> embed(std::span<const std::string_view> texts,
                             std::span<float> out) const = 0;
  /// The same for one of many callers, who may lose patience: a model that has them queue
  /// (served_model.h) lets them take turns after every text, and fails with kDeadline or kCancelled
  /// what still waits then. Other models run at once.
  virtual Result<void> embed_within(const Patience& patience,
                                    std::span<const std::string_view> texts,
                                    std::span<float> out) const {
    static_cast<void>(patience);
    return embed(texts, out);
  }
};

/// How the hidden states of a text become one vector: their mean, the first token's, the last's.
enum class Pooling : uint8_t { kMean, kFirst, kLast };

/// Of an input that runs through the model as it is.
inline constexpr int32_t kNoAdapter = -1;

struct EmbedOptions {
  int32_t layers = 0;  // leave the network after this many layers; 0: all
  int32_t dim = 0;     // keep this many numbers, for models trained so (matryoshka); 0: all
  std::optional<Pooling> pooling = {};  // none: what the model directory says
  int32_t adapter = kNoAdapter;         // of OpenOptions::adapters
  bool operator==(const EmbedOptions&) const = default;
};

/// What a head looks at: the text as a whole, or each of its tokens.
enum class HeadKind : uint8_t { kSequence, kTokens };

/// How its logits become scores: probabilities that add up to 1, a probability for each label on
/// its own, or as they are (regression).
enum class Scores : uint8_t { kSoftmax, kSigmoid, kRaw };

struct HeadInfo {
  std::string name;              // of the directory it came from
  int32_t adapter = kNoAdapter;  // it answers for inputs that run with this one, and no other
  HeadKind kind = HeadKind::kSequence;
  Scores scores = Scores::kSoftmax;
  std::vector<std::string> labels;
};

/// Which text of a pair a token head marks.
enum class Marked : uint8_t { kText, kPair };

/// A text, or two for models that judge pairs (inference, relevance).
struct Input {
  std::string_view text;
  std::optional<std::string_view> pair = {};
  int32_t adapter = kNoAdapter;  // of OpenOptions::adapters
  /// kPair: for models that judge every word of an answer by a context, which is the text.
  Marked marked = Marked::kText;
};

/// A span that a token head marked.
struct Entity {
  std::string type;    // the label without its B-, I-, E- or S-
  uint32_t begin = 0;  // bytes of the text that is marked, half-open, white space around left out
  uint32_t end = 0;
  float score = 0;  // mean probability of the labels of its tokens
};

/// What a token head says of one token, for those to whom a span is too little.
struct TokenScores {
  uint32_t begin = 0;  // bytes of the text that is marked, half-open; may begin with white space
  uint32_t end = 0;
  std::vector<float> scores;  // (labels)
};

/// What one head says about one input; empty when the input runs with another adapter than the
/// head's.
struct Answer {
  std::vector<float> scores;     // (labels), of a sequence head
  std::vector<Entity> entities;  // of a token head, in the order of the text that is marked
  /// Of a token head that marks a pair: every token of it, but for those that were cut.
  std::vector<TokenScores> tokens = {};
};

/// The raw numbers behind the answers.
struct States {
  std::vector<float> last_hidden_state;  // (tokens, hidden)
  std::vector<std::vector<float>>
      logits;  // a head each: (labels), or (tokens, labels); as in Answer
};

/// How the matrices of the trunk are held and multiplied. Heads and norms stay in single precision.
enum class Precision : uint8_t {
  kF32,
  kBF16,  // weights and activations in bfloat16, sums in single precision
  kI8,    // weights in 8 bits with a scale an output, activations with a scale a token
};

inline constexpr int32_t kThreadsMax = 256;

struct OpenOptions {
  /// Of matrices that the file does not hold packed already.
  Precision precision = Precision::kF32;
  /// Threads of one forward pass, 1 to kThreadsMax; answers do not depend on it.
  int32_t threads = 1;

  /// Further directories with a head for the same trunk (config.json, model.safetensors); what else
  /// their weights files hold is left alone. One that says it is for another model is refused.
  std::vector<std::filesystem::path> heads = {};

  /// Directory of a low-rank adapter as PEFT writes it (adapter_config.json,
  /// adapter_model.safetensors) that becomes part of the model: its weights, and its head when the
  /// adapter has one. Empty: none. A file whose matrices are packed cannot take one.
  std::filesystem::path adapter = {};

  /// Directories of adapters that share the trunk, each input running with one or none of them, any
  /// in one batch. Their low-rank layers stay apart and in single precision, and each may have a
  /// head of its own; one that changes anything else of the trunk is refused. Not together with
  /// `adapter`.
  std::vector<std::filesystem::path> adapters = {};
};

/// A model directory (config.json, model.safetensors, tokenizer.json) loaded for inference: one
/// trunk, any number of heads. However many heads there are, a text costs one pass through the
/// trunk. Without a tokenizer.json only states() works; the others fail with kNotFound.
class TextModel : public TextEmbedder {
 public:
  /// A model directory, or an adapter or a head of one (engine/model_path.h), which bring their
  /// heads with them. Errors name the file: kNotFound, kIo, kCorrupt, kUnsupported (an architecture
  /// or option that is not built).
  static Result<std::unique_ptr<const TextModel>> open(const std::filesystem::path& path,
                                                       const OpenOptions& options = {});

  /// Width of the hidden states; equal to dim().
  virtual int32_t hidden() const = 0;
  virtual int32_t layers() const = 0;
  /// Ids are below this.
  virtual int32_t vocabulary() const = 0;
  /// Multiply-adds that one sequence of `tokens` costs in the trunk: its matrix products and its
  /// attention, within the windows.
  virtual double multiply_adds(int32_t tokens) const = 0;
  /// The directory's own head if it has one, then those of OpenOptions: `heads`, `adapters`.
  virtual std::span<const HeadInfo> heads() const = 0;

  using TextEmbedder::embed;
  /// The same with options; out is (texts, options.dim). kInvalid for options out of range,
  /// an adapter included.
  virtual Result<void> embed(std::span<const std::string_view> texts, const EmbedOptions& options,
                             std::span<float> out) const = 0;

  using TextEmbedder::embed_within;
  virtual Result<void> embed_within(const Patience& patience,
                                    std::span<const std::string_view> texts,
                                    const EmbedOptions& options, std::span<float> out) const {
    static_cast<void>(patience);
    return embed(texts, options, out);
  }

  /// Every head's answer to every input, (inputs, heads) row-major. Inputs over the limit are cut
  /// on the right, the longer text of a pair first. An input's answers do not depend on the others.
  /// kInvalid for an adapter that is not there.
  virtual Result<std::vector<Answer>> answer(std::span<const Input> inputs) const = 0;
  /// As embed_within().
  virtual Result<std::vector<Answer>> answer_within(const Patience& patience,
                                                    std::span<const Input> inputs) const {
    static_cast<void>(patience);
    return answer(inputs);
  }

  /// One sequence of ids through the trunk and all heads. kInvalid for an id or an adapter out of
  /// range, or more than tokens_max() ids.
  virtual Result<States> states(std::span<const int32_t> ids,
                                int32_t adapter = kNoAdapter) const = 0;

  /// How many tokens embed() and answer() make of an input, 1 to tokens_max(): what it costs,
  /// without running it. kInvalid for an input without tokens, or an adapter that is not there.
  virtual Result<int32_t> tokens(const Input& input) const = 0;
  /// Whether an input has more than tokens_max() tokens, so that answer() does not see its end.
  /// kInvalid as tokens().
  virtual Result<bool> is_cut(const Input& input) const = 0;

  /// A long text in pieces of at most `tokens` tokens each, special tokens included, that share
  /// `overlap` of them with the next and together hold all of it. A piece ends and begins between
  /// words where words are no longer than the overlap, so that its tokens are those that it has in
  /// the whole text. Precondition: 0 <= overlap < tokens / 2, 16 <= tokens <= tokens_max().
  virtual Result<std::vector<std::string_view>> windows(std::string_view text, int32_t tokens,
                                                        int32_t overlap) const = 0;

  /// Text to ids, as embed() does it.
  virtual Result<std::vector<int32_t>> encode(std::string_view text) const = 0;
};

}  // namespace signalbox::engine
