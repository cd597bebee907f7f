#pragma once
// The settings in a GLiNER checkpoint's gliner_config.json that affect the computation. GLiNER is
// an encoder that reads a list of labels in front of a text, and a head that scores spans of words
// for each label: Zaratiana et al., "GLiNER: Generalist Model for Named Entity Recognition using
// Bidirectional Transformer", 2023. An unsupported value that would change the result is rejected
// by name.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

/// The prefix of the encoder's tensors in a checkpoint of GLiNER.
inline constexpr const char* kGlinerEncoder = "token_rep_layer.bert_layer.model.";

struct GlinerConfig {
  int32_t hidden = 0;           // width of the vectors of words, labels and spans; even
  int32_t width_max = 0;        // words of a span
  int32_t words_max = 0;        // words of a text; more are left out
  int32_t lstm_layers = 0;      // over the words, in both directions
  int32_t label_id = -1;        // of the mark before each label; -1: the tokenizer has it
  std::string label_mark = {};  // the token before each label
  std::string text_mark = {};   // the token between the labels and the text
  std::vector<std::string> labels =
      {};                  // `signalbox_labels`, our key: marked unless others are named
  float least_score = 0;   // `signalbox_threshold`, our key: spans above it are marked
  bool reads_mark = true;  // a label's vector is that of its mark; otherwise of the token after it
};

/// Missing keys have the defaults of the published code. Errors: kUnsupported for another option;
/// kCorrupt for values out of range.
Result<GlinerConfig> read_gliner_config(const weights::HfObject& file);

/// Returns true for a directory with a gliner_config.json.
bool is_gliner(const std::filesystem::path& directory);

/// Returns the configuration of GLiNER's encoder: the member `encoder_config` of
/// gliner_config.json, or `beside`, the encoder's own config.json, which may be null. GLiNER adds
/// tokens to the vocabulary of its encoder, so `vocab_size` is that of gliner_config.json, or else
/// what `file` holds. Errors: kNotFound without either; kCorrupt; kUnsupported for another GLiNER,
/// or another encoder than DeBERTa.
Result<weights::HfConfig> find_encoder_config(const weights::HfConfig& gliner,
                                              const weights::HfConfig* beside,
                                              const weights::SafeTensors& file);

/// Opens config.json, or in a directory of GLiNER the configuration of its encoder. Errors: kIo and
/// those of find_encoder_config().
Result<weights::HfConfig> open_encoder_config(const std::filesystem::path& directory,
                                              const weights::SafeTensors& file);

}  // namespace signalbox::engine
