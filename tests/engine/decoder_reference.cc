// Formulas from the papers, one token at a time.

#include "tests/engine/decoder_reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace signalbox::engine {
namespace {

using Row = std::vector<double>;  // (width)
using Rows = std::vector<Row>;    // (tokens, width)

// The positions that a position of a layer attends to. Read once a layer, because a search of the
// configuration for each pair of positions took most of the time of the tests.
struct Sight {
  bool ahead;
  int64_t window;  // 0: no bound

  bool sees(int64_t i, int64_t j) const {
    if (!ahead && j > i) return false;
    if (window == 0) return true;
    return ahead ? std::abs(i - j) <= window / 2 : i - j < window;
  }
};

struct DecoderKeys {
  json::Value root;

  double number(const char* key, double fallback) const {
    const auto value = root.find(key);
    return value && !value->is_null() ? value->number().value() : fallback;
  }
  int64_t integer(const char* key, int64_t fallback) const {
    return static_cast<int64_t>(number(key, static_cast<double>(fallback)));
  }
  bool flag(const char* key) const {
    const auto value = root.find(key);
    return value && value->is_bool() && value->boolean();
  }
  bool gemma() const { return root.find("model_type")->text() == "gemma3_text"; }
  std::string architecture() const {
    return std::string((*root.find("architectures")->items().begin()).text());
  }
  bool classifies() const { return architecture().find("Classification") != std::string::npos; }
  std::string prefix() const {
    return architecture().find("Classification") != std::string::npos ? "model." : "";
  }
  int64_t hidden() const { return integer("hidden_size", 0); }
  int64_t heads() const { return integer("num_attention_heads", 0); }
  int64_t kv_heads() const { return integer("num_key_value_heads", heads()); }
  int64_t dim() const { return integer("head_dim", gemma() ? 256 : 128); }

  bool slides(int64_t layer) const {
    if (const auto types = root.find("layer_types")) {
      int64_t i = 0;
      for (const json::Value& type : types->items())
        if (i++ == layer) return type.text() == "sliding_attention";
    }
    if (gemma()) return (layer + 1) % integer("_sliding_window_pattern", 6) != 0;
    return flag("use_sliding_window") && layer >= integer("max_window_layers", 28);
  }
  Sight sight(int64_t layer) const {
    const auto causal = root.find("is_causal");
    return {.ahead = flag("use_bidirectional_attention") || (causal && !causal->boolean()),
            .window = slides(layer) ? integer("sliding_window", 4096) : 0};
  }
  // Radians per position of the pairs of dimensions, (dim / 2).
  Row turns(int64_t layer) const {
    double theta = number("rope_theta", gemma() ? 1e6 : 1e4), factor = 1;
    if (gemma() && slides(layer)) {
      theta = number("rope_local_base_freq", 1e4);
    } else if (const auto scaling = root.find("rope_scaling"); scaling && scaling->is_object()) {
      factor = scaling->find("factor")->number().value();  // linear
    }
    Row out;
    for (int64_t i = 0; i < dim() / 2; ++i) {
      const double exponent = 2 * static_cast<double>(i) / static_cast<double>(dim());
      out.push_back(1 / std::pow(theta, exponent) / factor);
    }
    return out;
  }
};

class DecoderNetwork {
 public:
  DecoderNetwork(const json::Value& config, const Checkpoint& tensors)
      : c_{config}, tensors_(tensors) {}

  Rows run(const std::vector<int32_t>& ids) const {
    const std::vector<float>& table = at("embed_tokens.weight");
    Rows x;
    const int64_t hidden = c_.hidden();
    const double scale = c_.gemma() ? std::sqrt(static_cast<double>(hidden)) : 1;
    for (const int32_t id : ids) {
      Row& row = x.emplace_back();
      for (int64_t i = 0; i < hidden; ++i) row.push_back(scale * table[id * hidden + i]);
    }
    for (int64_t layer = 0; layer < c_.integer("num_hidden_layers", 0); ++layer) {
      const std::string name = fmt::format("layers.{}.", layer);
      add(attend(name, layer, normed(name + "input_layernorm", x)),
          c_.gemma() ? name + "post_attention_layernorm" : "", x);
      const char* before = c_.gemma() ? "pre_feedforward_layernorm" : "post_attention_layernorm";
      Rows branch = normed(name + before, x);
      for (Row& row : branch) row = feed_forward(name + "mlp.", row);
      add(branch, c_.gemma() ? name + "post_feedforward_layernorm" : "", x);
    }
    return normed("norm", x);
  }

  Row linear(const std::string& name, const Row& x, bool prefixed = true) const {
    const std::string full = (prefixed ? c_.prefix() : "") + name;
    const TestTensor& w = tensors_.at(full + ".weight");
    const auto bias = tensors_.find(full + ".bias");
    Row y(w.shape[0]);
    for (int64_t o = 0; o < w.shape[0]; ++o) {
      y[o] = bias == tensors_.end() ? 0 : bias->second.values[o];
      for (int64_t i = 0; i < w.shape[1]; ++i) y[o] += x[i] * w.values[o * w.shape[1] + i];
    }
    return y;
  }

 private:
  const std::vector<float>& at(const std::string& name) const {
    return tensors_.at(c_.prefix() + name).values;
  }

  // Normalises x[begin, begin + gamma's width) in place.
  void normalize(const std::string& name, Row& x, size_t begin = 0) const {
    const std::vector<float>& gamma = at(name + ".weight");
    double squares = 0;
    for (size_t i = 0; i < gamma.size(); ++i) squares += x[begin + i] * x[begin + i];
    const double mean = squares / static_cast<double>(gamma.size());
    const double scale = 1 / std::sqrt(mean + c_.number("rms_norm_eps", 1e-6));
    const double more = c_.gemma() ? 1 : 0;
    for (size_t i = 0; i < gamma.size(); ++i) x[begin + i] *= scale * (double{gamma[i]} + more);
  }
  Rows normed(const std::string& name, Rows x) const {
    for (Row& row : x) normalize(name, row);
    return x;
  }
  // x += branch, normalised if there is a norm.
  void add(const Rows& branch, const std::string& norm, Rows& x) const {
    const Rows& added = norm.empty() ? branch : normed(norm, branch);
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += added[t][i];
  }

  // Normalises and rotates each head of x at its position.
  Row placed(const std::string& norm, Row x, const Row& turns, size_t position) const {
    const auto dim = static_cast<size_t>(c_.dim());
    for (size_t head = 0; head < x.size(); head += dim) {
      normalize(norm, x, head);
      for (size_t i = head; i < head + dim / 2; ++i) {
        // Single precision as in Hugging Face's code.
        const double angle = static_cast<float>(position) * static_cast<float>(turns[i - head]);
        const double a = x[i], b = x[i + dim / 2];
        x[i] = a * std::cos(angle) - b * std::sin(angle);
        x[i + dim / 2] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
    return x;
  }

  Rows attend(const std::string& name, int64_t layer, const Rows& x) const {
    const std::string self = name + "self_attn.";
    const Row turns = c_.turns(layer);
    const Sight sight = c_.sight(layer);
    Rows q, k, v, out;
    for (size_t t = 0; t < x.size(); ++t) {
      q.push_back(placed(self + "q_norm", linear(self + "q_proj", x[t]), turns, t));
      k.push_back(placed(self + "k_norm", linear(self + "k_proj", x[t]), turns, t));
      v.push_back(linear(self + "v_proj", x[t]));
    }
    const int64_t dim = c_.dim(), group = c_.heads() / c_.kv_heads();
    const double scale =
        c_.gemma() ? c_.number("query_pre_attn_scalar", 256) : static_cast<double>(dim);
    for (size_t i = 0; i < x.size(); ++i) {
      Row mixed(c_.heads() * dim);
      for (int64_t head = 0; head < c_.heads(); ++head) {
        const int64_t from = head * dim, shared = head / group * dim;
        Row weights(x.size());
        double largest = -INFINITY, total = 0;
        for (size_t j = 0; j < x.size(); ++j) {
          for (int64_t d = 0; d < dim; ++d) weights[j] += q[i][from + d] * k[j][shared + d];
          weights[j] = sight.sees(static_cast<int64_t>(i), static_cast<int64_t>(j))
                           ? weights[j] / std::sqrt(scale)
                           : -INFINITY;
          largest = std::max(largest, weights[j]);
        }
        for (double& weight : weights) total += weight = std::exp(weight - largest);
        for (size_t j = 0; j < x.size(); ++j)
          for (int64_t d = 0; d < dim; ++d)
            mixed[from + d] += weights[j] / total * v[j][shared + d];
      }
      out.push_back(linear(self + "o_proj", mixed));
    }
    return out;
  }

  Row feed_forward(const std::string& name, const Row& x) const {
    Row gate = linear(name + "gate_proj", x);
    const Row up = linear(name + "up_proj", x);
    const bool gelu = c_.gemma();
    for (size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i], inner = g + 0.044715 * g * g * g;
      gate[i] = gelu ? 0.5 * g * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * inner)) * up[i]
                     : g / (1 + std::exp(-g)) * up[i];
    }
    return linear(name + "down_proj", gate);
  }

  const DecoderKeys c_;
  const Checkpoint& tensors_;
};

}  // namespace

bool is_decoder(const json::Value& config) {
  const std::string_view type = config.find("model_type")->text();
  return type == "qwen3" || type == "gemma3_text";
}

std::map<std::string, std::vector<int64_t>> decoder_shapes(const json::Value& config) {
  const DecoderKeys c{config};
  const int64_t h = c.hidden(), m = c.integer("intermediate_size", 0), dim = c.dim();
  std::map<std::string, std::vector<int64_t>> out;
  const auto linear = [&](const std::string& name, int64_t in, int64_t rows, bool bias) {
    out[name + ".weight"] = {rows, in};
    if (bias) out[name + ".bias"] = {rows};
  };
  out[c.prefix() + "embed_tokens.weight"] = {c.integer("vocab_size", 0), h};
  for (int64_t i = 0; i < c.integer("num_hidden_layers", 0); ++i) {
    const std::string at = fmt::format("{}layers.{}.", c.prefix(), i);
    const bool bias = c.flag("attention_bias");
    linear(at + "self_attn.q_proj", h, c.heads() * dim, bias);
    linear(at + "self_attn.k_proj", h, c.kv_heads() * dim, bias);
    linear(at + "self_attn.v_proj", h, c.kv_heads() * dim, bias);
    linear(at + "self_attn.o_proj", c.heads() * dim, h, bias);
    linear(at + "mlp.gate_proj", h, m, false);
    linear(at + "mlp.up_proj", h, m, false);
    linear(at + "mlp.down_proj", m, h, false);
    for (const char* norm : {"self_attn.q_norm", "self_attn.k_norm"})
      out[fmt::format("{}{}.weight", at, norm)] = {dim};
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
      out[fmt::format("{}{}.weight", at, norm)] = {h};
    for (const char* norm : {"pre_feedforward_layernorm", "post_feedforward_layernorm"})
      if (c.gemma()) out[fmt::format("{}{}.weight", at, norm)] = {h};
  }
  out[c.prefix() + "norm.weight"] = {h};
  const bool tokens = c.architecture().find("ForToken") != std::string::npos;
  if (c.classifies()) linear("score", h, c.integer("num_labels", 2), tokens);
  return out;
}

ReferenceOutput decoder_reference(const json::Value& config, const Checkpoint& tensors,
                                  const std::vector<int32_t>& ids) {
  const DecoderKeys c{config};
  const DecoderNetwork network(config, tensors);
  const bool sequence = c.architecture().find("ForSequence") != std::string::npos;
  ReferenceOutput out;
  const Rows x = network.run(ids);
  for (size_t t = 0; t < x.size(); ++t) {
    out.hidden.insert(out.hidden.end(), x[t].begin(), x[t].end());
    if (!c.classifies() || (sequence && t + 1 < x.size())) continue;
    const Row logits = network.linear("score", x[t], false);
    out.logits.insert(out.logits.end(), logits.begin(), logits.end());
  }
  return out;
}

}  // namespace signalbox::engine
