#pragma once
// The settings in a DeBERTa-v2 config.json that affect the computation. DeBERTa-v3 has the same
// network. An unsupported value that would change the result is rejected by name.

#include <cstdint>

#include "base/error.h"
#include "engine/activation.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", 2020, and "DeBERTaV3",
/// 2021, with Hugging Face's names.
struct DebertaConfig {
  int32_t vocabulary = 0;
  int32_t positions = 0;  // rows of the table of absolute positions; 0: no table
  int32_t types = 0;      // rows of the table of segment types; 0: no table
  int32_t tokens_max = 0;
  int32_t embedding = 0;  // width of the embedding tables
  int32_t hidden = 0;
  int32_t heads = 0;  // hidden is a multiple of it
  int32_t layers = 0;
  int32_t intermediate = 0;
  Activation activation = Activation::kGelu;
  float norm_eps = 0;

  bool reads_keys = false;          // the distance has a key, which the query reads ("c2p")
  bool reads_queries = false;       // the distance has a query, which the key reads ("p2c")
  bool relative = false;            // distances count at all; the two above then name the terms
  bool shares_projections = false;  // distances have the queries and keys of the content's layers
  bool normalizes_distances = false;
  int32_t span = 0;          // the table of distances has 2 span rows
  int32_t buckets = 0;       // distances are grouped into buckets; 0: they are not
  int32_t distance_max = 0;  // the buckets do not distinguish greater distances

  int32_t taps = 0;  // width of the convolution beside the first layer; 0: none
  Activation tap_activation = Activation::kTanh;

  int32_t head_dim() const { return hidden / heads; }
  /// Factor of the scores. It falls with the number of terms that are added up in a score.
  float score_scale() const;
  /// Row of a distance j - i in the table of distances.
  int32_t row_of(int32_t distance) const;
};

/// Missing keys have the defaults of Hugging Face's configuration. Errors: kUnsupported for another
/// option; kCorrupt for values out of range or contradictory.
Result<DebertaConfig> read_deberta_config(const weights::HfConfig& file);

}  // namespace signalbox::engine
