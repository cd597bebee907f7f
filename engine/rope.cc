// Computes frequencies in double precision and rounds once.

#include "engine/rope.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace signalbox::engine {
namespace {

using Scaling = RopeConfig::Scaling;

Result<Scaling> read_scaling(const weights::HfObject& rope) {
  // "type" is the older name
  const std::string_view key = rope.has("rope_type") ? "rope_type" : "type";
  SIGNALBOX_TRY(const std::string name, rope.string(key, "default"));
  if (name == "default") return Scaling::kNone;
  if (name == "linear") return Scaling::kLinear;
  if (name == "dynamic") return Scaling::kDynamic;
  if (name == "yarn") return Scaling::kYarn;
  return fail(Code::kUnsupported,
              "{}: \"{}\" is not supported (supported: default, linear, dynamic, yarn)",
              rope.where(key), name);
}

// The attention temperature that the paper fits to the factor.
double yarn_scale(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

// If the factor is not the quotient of the two lengths, releases of Hugging Face's library disagree
// which of them counts.
Result<void> check_factor(const weights::HfObject& rope, double factor, double stretch) {
  if (!rope.has("original_max_position_embeddings") || std::abs(factor - stretch) < 1e-6) return {};
  return fail(Code::kUnsupported,
              "{}: {} is not supported (supported: max_position_embeddings / "
              "original_max_position_embeddings, {:.6g})",
              rope.where("factor"), factor, stretch);
}

Result<void> read_yarn(const weights::HfObject& rope, RopeConfig& out) {
  SIGNALBOX_TRY(out.original,
                rope.integer("original_max_position_embeddings", 1, 1 << 24, out.positions));
  const double stretch = std::max(1.0, static_cast<double>(out.positions) / out.original);
  SIGNALBOX_TRY(out.factor, rope.number("factor", 1, 1e4, stretch));
  SIGNALBOX_TRY_VOID(check_factor(rope, out.factor, stretch));
  SIGNALBOX_TRY(const double mscale, rope.number("mscale", 0, 1e3, 0));
  SIGNALBOX_TRY(const double mscale_all, rope.number("mscale_all_dim", 0, 1e3, 0));
  const double fitted = mscale != 0 && mscale_all != 0
                            ? yarn_scale(out.factor, mscale) / yarn_scale(out.factor, mscale_all)
                            : yarn_scale(out.factor, 1);
  SIGNALBOX_TRY(out.attention_factor, rope.number("attention_factor", 0, 1e3, fitted));
  SIGNALBOX_TRY(out.beta_fast, rope.number("beta_fast", 1e-3, 1e6, 32));
  SIGNALBOX_TRY(out.beta_slow, rope.number("beta_slow", 1e-3, 1e6, 1));
  SIGNALBOX_TRY(out.truncate, rope.boolean("truncate", true));
  return {};
}

}  // namespace

Result<void> require_whole_heads(const weights::HfObject& object) {
  SIGNALBOX_TRY(const double part, object.number("partial_rotary_factor", 0, 1, 1));
  if (part == 1) return {};
  return fail(Code::kUnsupported, "{}: {} is not supported (only whole heads are rotated)",
              object.where("partial_rotary_factor"), part);
}

Result<RopeConfig> read_rope(const weights::HfObject& rope, double theta, int32_t positions) {
  RopeConfig out;
  out.positions = positions;
  SIGNALBOX_TRY(out.theta, rope.number("rope_theta", 1.001, 1e12, theta));
  SIGNALBOX_TRY(out.scaling, read_scaling(rope));
  SIGNALBOX_TRY_VOID(require_whole_heads(rope));
  if (out.scaling == Scaling::kYarn) {
    SIGNALBOX_TRY_VOID(read_yarn(rope, out));
  } else if (out.scaling != Scaling::kNone) {
    SIGNALBOX_TRY(out.factor, rope.number("factor", 1, 1e4));
  }
  return out;
}

// Dimensions that rotate often within the original length are unchanged. Those that rotate less
// than once are slowed down by the factor. A ramp connects the two ranges.
void Rope::yarn(std::vector<double>& frequencies) const {
  const double d = head_dim_;
  const auto dimension = [&](double rotations) {
    return d * std::log(config_.original / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(config_.theta));
  };
  double low = dimension(config_.beta_fast), high = dimension(config_.beta_slow);
  if (config_.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, d - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double slowed = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] *= slowed / config_.factor + (1 - slowed);
  }
}

std::vector<float> Rope::frequencies(int32_t length) const {
  const double d = head_dim_;
  double theta = config_.theta;
  if (config_.scaling == Scaling::kDynamic && length > config_.positions && head_dim_ > 2) {
    const double stretch = config_.factor * length / config_.positions - (config_.factor - 1);
    theta *= std::pow(stretch, d / (d - 2));
  }
  std::vector<double> exact(head_dim_ / 2);
  for (size_t i = 0; i < exact.size(); ++i) {
    exact[i] = std::pow(theta, -2.0 * static_cast<double>(i) / d);
    if (config_.scaling == Scaling::kLinear) exact[i] /= config_.factor;
  }
  if (config_.scaling == Scaling::kYarn) yarn(exact);
  return {exact.begin(), exact.end()};
}

bool Rope::is_stretched(int32_t length) const {
  return config_.scaling == Scaling::kDynamic && length > config_.positions;
}

// The first table serves all lengths that do not change the frequencies.
void Rope::prepare(const Batch& batch, RopeTables& tables) const {
  const int32_t sequences = batch.sequences();
  tables.of.resize(sequences);
  tables.tables.resize(std::max<size_t>(tables.tables.size(), sequences + 1));
  int32_t longest = 0;
  for (int32_t i = 0; i < sequences; ++i) {
    if (!is_stretched(batch.length(i))) longest = std::max(longest, batch.length(i));
  }
  const float* shared = longest > 0 ? rotations(longest, tables.tables[0]) : nullptr;
  for (int32_t i = 0; i < sequences; ++i) {
    const int32_t length = batch.length(i);
    tables.of[i] = is_stretched(length) ? rotations(length, tables.tables[i + 1]) : shared;
  }
}

const float* Rope::rotations(int32_t length, Rotations& cache) const {
  const int32_t length_of = is_stretched(length) ? length : 0;
  if (cache.length_of != length_of) cache.filled = 0;
  cache.length_of = length_of;
  if (cache.filled >= length) return cache.table.data();

  const size_t row = head_dim_;
  if (cache.table.size() < length * row) {
    Buffer<float> larger(std::max(length * row, 2 * cache.table.size()));
    if (cache.filled > 0)
      std::memcpy(larger.data(), cache.table.data(), cache.filled * row * sizeof(float));
    cache.table = std::move(larger);
  }
  const std::vector<float> turns = frequencies(length);
  for (; cache.filled < length; ++cache.filled) {
    float* cosines = cache.table.data() + cache.filled * row;
    float* sines = cosines + turns.size();
    for (size_t i = 0; i < turns.size(); ++i) {
      const double angle = turns[i] * static_cast<float>(cache.filled);
      cosines[i] = static_cast<float>(std::cos(angle) * config_.attention_factor);
      sines[i] = static_cast<float>(std::sin(angle) * config_.attention_factor);
    }
  }
  return cache.table.data();
}

}  // namespace signalbox::engine
