// The metadata keys are llama.cpp's (gguf-py/gguf/constants.py). Sizes that both the metadata and
// the tensors give are taken from the tensors, because the engine checks them against the tensors.

#include "tools/gguf_to_hf.h"

#include <algorithm>
#include <vector>

#include "base/json_writer.h"
#include "tools/vocabulary/wordpiece_to_hf.h"

namespace signalbox::tools {
namespace {

using weights::Gguf;
using weights::TensorList;

constexpr std::string_view kWordStart = "\u2581";  // precedes pieces that begin a word

// llama.cpp's llama_pooling_type
constexpr int64_t kPoolingNone = 0;
constexpr int64_t kPoolingMean = 1;
constexpr int64_t kPoolingFirst = 2;
constexpr int64_t kPoolingLast = 3;

// The number of rows of a table; 0 if the table is missing.
int64_t rows_of(const TensorList& tensors, std::string_view name) {
  for (const weights::Tensor& tensor : tensors.tensors()) {
    if (tensor.name == name && !tensor.shape.empty()) return tensor.shape[0];
  }
  return 0;
}

Result<std::string> config_json(const Gguf& file, const TensorList& tensors) {
  SIGNALBOX_TRY(const auto layers, file.get<int64_t>("bert.block_count"));
  SIGNALBOX_TRY(const auto hidden, file.get<int64_t>("bert.embedding_length"));
  SIGNALBOX_TRY(const auto intermediate, file.get<int64_t>("bert.feed_forward_length"));
  SIGNALBOX_TRY(const auto heads, file.get<int64_t>("bert.attention.head_count"));
  SIGNALBOX_TRY(const auto eps, file.get<double>("bert.attention.layer_norm_epsilon"));
  json::Writer out;
  out.begin_object().key("architectures").begin_array().string("BertModel").end_array();
  out.member("model_type", "bert").member("hidden_act", "gelu").member("hidden_size", hidden);
  out.member("intermediate_size", intermediate).member("num_attention_heads", heads);
  out.member("num_hidden_layers", layers).member("layer_norm_eps", static_cast<float>(eps));
  out.member("max_position_embeddings", rows_of(tensors, "embeddings.position_embeddings.weight"));
  out.member("type_vocab_size", rows_of(tensors, "embeddings.token_type_embeddings.weight"));
  out.member("vocab_size", rows_of(tensors, "embeddings.word_embeddings.weight"));
  return out.end_object().take();
}

bool is_special(std::string_view token) {
  return token.size() > 2 && token.starts_with('[') && token.ends_with(']');
}

// Returns a piece in BERT's notation: GGUF's "_word" is BERT's "word", and GGUF's "ing" is "##ing".
std::string bert_token(std::string_view piece) {
  if (is_special(piece)) return std::string(piece);
  if (!piece.starts_with(kWordStart)) return fmt::format("##{}", piece);
  return std::string(piece.substr(kWordStart.size()));
}

bool has_upper_case(std::string_view token) {
  return !is_special(token) &&
         std::ranges::any_of(token, [](char c) { return 'A' <= c && c <= 'Z'; });
}

Result<void> add_tokenizer(const Gguf& file, std::map<std::string, std::string>& out) {
  SIGNALBOX_TRY(const auto pieces,
                file.get<std::vector<std::string_view>>("tokenizer.ggml.tokens"));
  std::vector<std::string> tokens;
  for (const std::string_view piece : pieces) tokens.push_back(bert_token(piece));
  // The file does not contain this setting. A vocabulary for lower-case text has no capital letter.
  const bool lowercase = std::ranges::none_of(tokens, has_upper_case);
  SIGNALBOX_TRY(out["tokenizer.json"], wordpiece_to_hf(tokens, {.lowercase = lowercase}));
  // Without this key, the class of the tokenizer folds case whatever tokenizer.json states.
  json::Writer settings;
  settings.begin_object().member("tokenizer_class", "BertTokenizer");
  settings.member("do_lower_case", lowercase);
  out["tokenizer_config.json"] = settings.end_object().take();
  return {};
}

Result<void> add_pooling(const Gguf& file, std::map<std::string, std::string>& out) {
  const weights::GgufValue* pooling_type = file.find("bert.pooling_type");
  if (pooling_type == nullptr) return {};
  SIGNALBOX_TRY(const auto type, file.get<int64_t>("bert.pooling_type"));
  if (type == kPoolingNone || type == kPoolingMean) return {};  // the engine's default
  if (type != kPoolingFirst && type != kPoolingLast) {
    return fail(Code::kUnsupported,
                "{}: bert.pooling_type: {} is not supported (supported: 0 to 3)", file.name(),
                type);
  }
  out["modules.json"] =
      R"([{"type": "sentence_transformers.models.Transformer", "path": ""},)"
      R"( {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])";
  json::Writer pooling;
  pooling.begin_object();
  pooling.member(type == kPoolingFirst ? "pooling_mode_cls_token" : "pooling_mode_lasttoken", true);
  out["1_Pooling/config.json"] = pooling.end_object().take();
  return {};
}

}  // namespace

Result<std::map<std::string, std::string>> gguf_to_hf(const Gguf& file, const TensorList& tensors) {
  std::map<std::string, std::string> out;
  SIGNALBOX_TRY(out["config.json"], config_json(file, tensors));
  const weights::GgufValue* model = file.find("tokenizer.ggml.model");
  const auto* name = model == nullptr ? nullptr : std::get_if<std::string_view>(model);
  if (name != nullptr && *name == "bert") {
    if (auto made = add_tokenizer(file, out); !made)
      return fail_in(file.name(), std::move(made).error());
  }
  SIGNALBOX_TRY_VOID(add_pooling(file, out));
  return out;
}

}  // namespace signalbox::tools
