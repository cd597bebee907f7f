// Reads gliner_config.json with the names of the published code.

#include "engine/gliner_config.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGlinerFile = "gliner_config.json";
constexpr std::string_view kEncoderKey = "encoder_config";
constexpr int32_t kVocabularyMax = 1 << 24;

/// A key whose other values name networks that the engine does not have.
struct OnlyValue {
  std::string_view key;
  std::string_view supported;
};

constexpr std::array kOnlyValues = {
    OnlyValue{"span_mode", "markerV0"}, OnlyValue{"subtoken_pooling", "first"},
    OnlyValue{"words_splitter_type", "whitespace"}, OnlyValue{"post_fusion_schema", ""}};

/// Keys that name a second network. Missing or null: there is none.
constexpr std::array<std::string_view, 4> kOtherNetworks = {"labels_encoder", "labels_decoder",
                                                            "relations_layer", "triples_layer"};

constexpr std::array<std::string_view, 2> kModelTypes = {"gliner", "gliner_uni_encoder_span"};

Result<void> check_kind(const weights::HfObject& file) {
  for (const OnlyValue& only : kOnlyValues) {
    SIGNALBOX_TRY(const std::string value, file.string(only.key, only.supported));
    if (value == only.supported) continue;
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: \"{}\")",
                file.where(only.key), value, only.supported);
  }
  for (const std::string_view key : kOtherNetworks) {
    SIGNALBOX_TRY(const std::string value, file.string(key, ""));
    if (value.empty()) continue;
    return fail(Code::kUnsupported, "{}: \"{}\": a GLiNER with this network is not supported",
                file.where(key), value);
  }
  for (const std::string_view key : {"fuse_layers", "precomputed_prompts_mode"}) {
    SIGNALBOX_TRY(const bool value, file.boolean(key, false));
    if (value) return fail(Code::kUnsupported, "{}: true is not supported", file.where(key));
  }
  SIGNALBOX_TRY(const std::string type, file.string("model_type", kModelTypes[0]));
  if (std::ranges::find(kModelTypes, type) != kModelTypes.end()) return {};
  return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: {}, {})",
              file.where("model_type"), type, kModelTypes[0], kModelTypes[1]);
}

Result<std::string> read_mark(const weights::HfObject& file, std::string_view key,
                              std::string_view fallback) {
  constexpr size_t kBytesMax = 64;
  SIGNALBOX_TRY(std::string mark, file.string(key, fallback));
  if (!mark.empty() && mark.size() <= kBytesMax) return mark;
  return fail(Code::kCorrupt, "{}: {} bytes, expected 1 to {}", file.where(key), mark.size(),
              kBytesMax);
}

// Returns the object with its `model_type`, and with another `vocab_size` unless that is 0.
std::string completed(const json::Value& object, std::string_view type, int64_t vocabulary) {
  json::Writer out;
  out.begin_object().member("model_type", type);
  if (vocabulary > 0) out.member("vocab_size", vocabulary);
  for (const json::Member& member : object.members()) {
    const bool is_replaced = member.key == "vocab_size" && vocabulary > 0;
    if (member.key != "model_type" && !is_replaced) out.key(member.key).raw(member.value.raw());
  }
  return out.end_object().take();
}

// Returns the rows of the table of tokens, or 0 if neither the configuration nor the file has it.
Result<int64_t> vocabulary_of(const weights::HfObject& gliner, const weights::SafeTensors& file) {
  SIGNALBOX_TRY(const int32_t named, gliner.integer("vocab_size", -1, kVocabularyMax, -1));
  if (named > 0) return named;
  return rows_of(file, std::string(kGlinerEncoder) + "embeddings.word_embeddings.weight");
}

Result<weights::HfConfig> with_gliner_vocabulary(const weights::HfObject& gliner,
                                                 const weights::HfObject& encoder,
                                                 const weights::SafeTensors& file,
                                                 std::string_view name) {
  constexpr std::string_view kSupported = "deberta-v2";
  SIGNALBOX_TRY(const std::string type, encoder.string("model_type", kSupported));
  if (type != kSupported) {
    return fail(Code::kUnsupported,
                "{}: \"{}\" as the encoder of GLiNER is not supported (supported: {})",
                encoder.where("model_type"), type, kSupported);
  }
  SIGNALBOX_TRY(const int64_t vocabulary, vocabulary_of(gliner, file));
  return weights::HfConfig::parse(completed(encoder.value(), type, vocabulary), name);
}

}  // namespace

bool is_gliner(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / kGlinerFile, ignored);
}

Result<GlinerConfig> read_gliner_config(const weights::HfObject& file) {
  SIGNALBOX_TRY_VOID(check_kind(file));
  GlinerConfig out;
  SIGNALBOX_TRY(out.hidden, file.integer("hidden_size", 2, 1 << 13, 512));
  SIGNALBOX_TRY(out.width_max, file.integer("max_width", 1, 64, 12));
  SIGNALBOX_TRY(out.words_max, file.integer("max_len", 1, 1 << 12, 384));
  SIGNALBOX_TRY(const bool has_lstm, file.boolean("has_rnn", true));  // of older checkpoints
  SIGNALBOX_TRY(out.lstm_layers, file.integer("num_rnn_layers", 0, 8, has_lstm ? 1 : 0));
  SIGNALBOX_TRY(out.label_id, file.integer("class_token_index", -1, kVocabularyMax, -1));
  SIGNALBOX_TRY(out.label_mark, read_mark(file, "ent_token", "<<ENT>>"));
  SIGNALBOX_TRY(out.text_mark, read_mark(file, "sep_token", "<<SEP>>"));
  SIGNALBOX_TRY(out.labels, file.strings("signalbox_labels"));
  SIGNALBOX_TRY(const double least, file.number("signalbox_threshold", 0, 0.999, 0.5));
  out.least_score = static_cast<float>(least);
  SIGNALBOX_TRY(out.reads_mark, file.boolean("embed_ent_token", true));
  if (out.hidden % 2 == 0) return out;
  return fail(Code::kCorrupt,
              "{}: {}, expected an even number: each direction of the LSTM has half",
              file.where("hidden_size"), out.hidden);
}

Result<weights::HfConfig> find_encoder_config(const weights::HfConfig& gliner,
                                              const weights::HfConfig* beside,
                                              const weights::SafeTensors& file) {
  const weights::HfObject root = gliner.root();
  SIGNALBOX_TRY_VOID(check_kind(root));
  SIGNALBOX_TRY(const auto inner, root.object(kEncoderKey));
  if (inner) {
    return with_gliner_vocabulary(root, *inner, file,
                                  fmt::format("{}: {}", gliner.name(), kEncoderKey));
  }
  if (beside != nullptr) return with_gliner_vocabulary(root, beside->root(), file, beside->name());
  SIGNALBOX_TRY(const std::string name, root.string("model_name", "an unnamed model"));
  return fail(Code::kNotFound,
              "{}: missing, and no config.json either: add the config.json of the encoder, {}",
              root.where(kEncoderKey), name);
}

Result<weights::HfConfig> open_encoder_config(const fs::path& directory,
                                              const weights::SafeTensors& file) {
  const fs::path plain = directory / "config.json";
  if (!is_gliner(directory)) return weights::HfConfig::open(plain);
  SIGNALBOX_TRY(const auto gliner, weights::HfConfig::open(directory / kGlinerFile));
  std::error_code ignored;
  if (!fs::exists(plain, ignored)) return find_encoder_config(gliner, nullptr, file);
  SIGNALBOX_TRY(const auto beside, weights::HfConfig::open(plain));
  return find_encoder_config(gliner, &beside, file);
}

}  // namespace signalbox::engine
