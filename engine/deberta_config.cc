// Reads config.json into a DebertaConfig.

#include "engine/deberta_config.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "engine/distances.h"
#include "engine/read_options.h"

namespace signalbox::engine {
namespace {

// Returns the parts of "c2p|p2c" in lower case and without spaces.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '|') {
      out.emplace_back();
    } else if (!ascii::is_space(c)) {
      out.back() += ascii::lower(c);
    }
  }
  return out;
}

// Newer files have a list of terms, older ones one string.
Result<void> read_terms(const weights::HfObject& config, DebertaConfig& out) {
  constexpr std::string_view kKey = "pos_att_type";
  std::vector<std::string> terms;
  const auto value = config.value().find(kKey);
  if (value && value->is_string()) {
    terms = parts_of(value->text());
  } else {
    SIGNALBOX_TRY(terms, config.strings(kKey));
  }
  for (const std::string& term : terms) {
    if (term == "c2p") {
      out.reads_keys = true;
    } else if (term == "p2c") {
      out.reads_queries = true;
    } else if (!term.empty()) {
      return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: c2p, p2c)",
                  config.where(kKey), term);
    }
  }
  return {};
}

Result<void> read_distances(const weights::HfObject& config, DebertaConfig& out) {
  constexpr int32_t kMost = 1 << 14;
  SIGNALBOX_TRY(out.relative, config.boolean("relative_attention", false));
  SIGNALBOX_TRY_VOID(read_terms(config, out));
  SIGNALBOX_TRY(out.shares_projections, config.boolean("share_att_key", false));
  SIGNALBOX_TRY(const int32_t buckets, config.integer("position_buckets", -1, kMost, -1));
  SIGNALBOX_TRY(const int32_t most, config.integer("max_relative_positions", -1, kMost, -1));
  SIGNALBOX_TRY(const std::string norm, config.string("norm_rel_ebd", "none"));
  for (const std::string& part : parts_of(norm)) {
    if (part == "layer_norm") {
      out.normalizes_distances = true;
    } else if (part != "none" && !part.empty()) {
      return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: none, layer_norm)",
                  config.where("norm_rel_ebd"), part);
    }
  }
  out.distance_max = most < 1 ? out.tokens_max : most;
  out.buckets = std::max(buckets, 0);
  out.span = out.buckets > 0 ? out.buckets : out.distance_max;
  if (out.buckets == 1) {
    return fail(Code::kCorrupt, "{}: 1, expected at least 2", config.where("position_buckets"));
  }
  return {};
}

// The convolution of v2-xlarge.
Result<void> read_convolution(const weights::HfObject& config, DebertaConfig& out) {
  SIGNALBOX_TRY(out.taps, config.integer("conv_kernel_size", 0, 15, 0));
  if (out.taps == 0) return {};
  if (out.taps % 2 == 0 || out.taps == 1) {
    return fail(Code::kCorrupt, "{}: {}, expected an odd number above 1",
                config.where("conv_kernel_size"), out.taps);
  }
  SIGNALBOX_TRY(const int32_t groups, config.integer("conv_groups", 1, 1 << 14, 1));
  if (groups != 1) {
    return fail(Code::kUnsupported, "{}: {} is not supported (supported: 1)",
                config.where("conv_groups"), groups);
  }
  SIGNALBOX_TRY(out.tap_activation, read_activation(config, "conv_act", "tanh"));
  return {};
}

}  // namespace

float DebertaConfig::score_scale() const {
  const int32_t terms = 1 + (reads_keys ? 1 : 0) + (reads_queries ? 1 : 0);
  return 1 / std::sqrt(static_cast<float>(terms * head_dim()));
}

int32_t DebertaConfig::row_of(int32_t distance) const {
  const int32_t bucket = buckets > 0 ? bucket_deberta(-distance, buckets, distance_max) : -distance;
  return std::clamp(bucket + span, 0, 2 * span - 1);
}

Result<DebertaConfig> read_deberta_config(const weights::HfConfig& file) {
  const weights::HfObject config = file.root();
  DebertaConfig out;
  SIGNALBOX_TRY(out.activation, read_activation(config, "hidden_act", "gelu"));
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22, 128100));
  SIGNALBOX_TRY(out.tokens_max, config.integer("max_position_embeddings", 2, 1 << 14, 512));
  SIGNALBOX_TRY(out.types, config.integer("type_vocab_size", 0, 64, 0));
  SIGNALBOX_TRY(out.hidden, config.integer("hidden_size", 1, 1 << 14, 1536));
  SIGNALBOX_TRY(out.embedding, config.integer("embedding_size", 1, 1 << 14, out.hidden));
  SIGNALBOX_TRY(out.heads, config.integer("num_attention_heads", 1, 256, 24));
  SIGNALBOX_TRY(out.layers, config.integer("num_hidden_layers", 1, 256, 24));
  SIGNALBOX_TRY(out.intermediate, config.integer("intermediate_size", 1, 1 << 16, 6144));
  SIGNALBOX_TRY(out.norm_eps, read_eps(config, "layer_norm_eps", 1e-7));
  SIGNALBOX_TRY(const bool biased, config.boolean("position_biased_input", true));
  if (biased) out.positions = out.tokens_max;
  SIGNALBOX_TRY_VOID(
      check_heads(config, "hidden_size", out.hidden, "num_attention_heads", out.heads));
  SIGNALBOX_TRY(const int32_t width,
                config.integer("attention_head_size", 1, 1 << 14, out.head_dim()));
  if (width != out.head_dim()) {
    return fail(Code::kUnsupported, "{}: {} is not supported (supported: hidden_size / heads, {})",
                config.where("attention_head_size"), width, out.head_dim());
  }
  SIGNALBOX_TRY_VOID(read_distances(config, out));
  SIGNALBOX_TRY_VOID(read_convolution(config, out));
  return out;
}

}  // namespace signalbox::engine
