// Formulas from the papers, one token at a time.

#include "tests/engine/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "tests/engine/deberta_reference.h"
#include "tests/engine/decoder_reference.h"

namespace signalbox::engine {
namespace {

using Vector = std::vector<double>;

double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

bool is_roberta(std::string_view model_type) {
  return model_type == "roberta" || model_type == "camembert";
}

// The prefix of the encoder's tensors below a head.
std::string prefix_of(std::string_view model_type) {
  if (model_type == "modernbert") return "model.";
  return is_roberta(model_type) ? "roberta." : fmt::format("{}.", model_type);
}

// Typed access with the defaults of Hugging Face's classes.
struct Keys {
  json::Value root;

  double number(const char* key, double fallback) const {
    const auto value = root.find(key);
    return value && !value->is_null() ? value->number().value() : fallback;
  }
  int64_t integer(const char* key, int64_t fallback = -1) const {
    return static_cast<int64_t>(number(key, static_cast<double>(fallback)));
  }
  bool flag(const char* key) const {
    const auto value = root.find(key);
    return value && value->is_bool() && value->boolean();
  }
  std::string text(const char* key, const char* fallback) const {
    const auto value = root.find(key);
    return value && value->is_string() ? std::string(value->text()) : fallback;
  }
  std::string architecture() const {
    const auto names = root.find("architectures");
    return names ? std::string((*names->items().begin()).text()) : "";
  }
  bool modern() const { return text("model_type", "") == "modernbert"; }
  int64_t classes() const { return integer("num_labels", 2); }
};

// Radians per position for each pair of dimensions, and the factor for cosines and sines.
struct Turns {
  Vector frequencies;
  double scale = 1;
};

Turns turns(const Keys& rope, double theta, int64_t positions, int64_t dim, int64_t tokens) {
  const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
  const double d = static_cast<double>(dim);
  const double factor = rope.number("factor", 1);
  theta = rope.number("rope_theta", theta);
  if (type == "dynamic") {
    const auto longest = static_cast<double>(std::max(tokens, positions));
    theta *=
        std::pow(factor * longest / static_cast<double>(positions) - (factor - 1), d / (d - 2));
  }
  Turns out;
  for (int64_t i = 0; i < dim / 2; ++i)
    out.frequencies.push_back(1 / std::pow(theta, 2 * static_cast<double>(i) / d));
  if (type == "linear") {
    for (double& f : out.frequencies) f /= factor;
  }
  if (type == "yarn") {
    const double original =
        rope.number("original_max_position_embeddings", static_cast<double>(positions));
    const auto bound = [&](double rotations) {
      return d * std::log(original / (rotations * 2 * std::numbers::pi)) / (2 * std::log(theta));
    };
    double low = bound(rope.number("beta_fast", 32)), high = bound(rope.number("beta_slow", 1));
    if (!rope.root.find("truncate") || rope.flag("truncate")) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, d - 1);
    for (size_t i = 0; i < out.frequencies.size(); ++i) {
      const double ramp =
          std::clamp((static_cast<double>(i) - low) / (low == high ? 0.001 : high - low), 0.0, 1.0);
      const double f = out.frequencies[i];
      out.frequencies[i] = f / factor * ramp + f * (1 - ramp);
    }
    const auto fitted = [&](double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; };
    const double m = rope.number("mscale", 0), all = rope.number("mscale_all_dim", 0);
    out.scale =
        rope.number("attention_factor", m != 0 && all != 0 ? fitted(m) / fitted(all) : fitted(1));
  }
  return out;
}

class Network {
 public:
  Network(const json::Value& config, const Checkpoint& tensors, const std::vector<int32_t>& ids)
      : c_{config},
        tensors_(tensors),
        ids_(ids),
        tokens_(static_cast<int64_t>(ids.size())),
        hidden_(c_.integer("hidden_size")),
        heads_(c_.integer("num_attention_heads")) {}

  ReferenceOutput run() {
    const bool prefixed = c_.architecture().find("For") != std::string::npos;
    if (prefixed) prefix_ = prefix_of(c_.text("model_type", ""));
    ReferenceOutput out;
    out.hidden = c_.modern() ? modern_bert() : bert();
    if (c_.architecture().find("Classification") != std::string::npos)
      out.logits = head(out.hidden);
    return out;
  }

 private:
  const std::vector<float>* find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.values;
  }
  const std::vector<float>& at(const std::string& name) const { return tensors_.at(name).values; }

  Vector linear(const std::string& name, const Vector& x) const {
    const std::vector<int64_t>& shape = tensors_.at(name + ".weight").shape;
    const std::vector<float>& w = at(name + ".weight");
    const std::vector<float>* bias = find(name + ".bias");
    const auto rows = static_cast<int64_t>(x.size()) / shape[1];
    Vector y(rows * shape[0]);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < shape[0]; ++o) {
        double sum = bias != nullptr ? (*bias)[o] : 0;
        for (int64_t i = 0; i < shape[1]; ++i) sum += x[r * shape[1] + i] * w[o * shape[1] + i];
        y[r * shape[0] + o] = sum;
      }
    }
    return y;
  }

  Vector norm(const std::string& name, const Vector& x) const {
    const std::vector<float>& gamma = at(name + ".weight");
    const std::vector<float>* beta = find(name + ".bias");
    const double eps = c_.number(c_.modern() ? "norm_eps" : "layer_norm_eps", 1e-5);
    const size_t width = gamma.size();
    const auto n = static_cast<double>(width);
    Vector y(x.size());
    for (size_t row = 0; row < x.size(); row += width) {
      double mean = 0, variance = 0;
      for (size_t i = 0; i < width; ++i) mean += x[row + i] / n;
      for (size_t i = 0; i < width; ++i) variance += (x[row + i] - mean) * (x[row + i] - mean) / n;
      for (size_t i = 0; i < width; ++i) {
        y[row + i] = (x[row + i] - mean) / std::sqrt(variance + eps) * gamma[i] +
                     (beta != nullptr ? (*beta)[i] : 0);
      }
    }
    return y;
  }

  static Vector sum(Vector a, const Vector& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  // q, k and v (tokens, hidden); window < 0 for none.
  Vector attention(const Vector& q, const Vector& k, const Vector& v, int64_t window) const {
    const int64_t dim = hidden_ / heads_;
    Vector out(q.size());
    for (int64_t head = 0; head < heads_; ++head) {
      for (int64_t i = 0; i < tokens_; ++i) {
        const int64_t first = window < 0 ? 0 : std::max<int64_t>(0, i - window);
        const int64_t last = window < 0 ? tokens_ - 1 : std::min(tokens_ - 1, i + window);
        Vector scores;
        for (int64_t j = first; j <= last; ++j) {
          double score = 0;
          for (int64_t d = head * dim; d < (head + 1) * dim; ++d)
            score += q[i * hidden_ + d] * k[j * hidden_ + d];
          scores.push_back(score / std::sqrt(static_cast<double>(dim)));
        }
        const double largest = *std::ranges::max_element(scores);
        double total = 0;
        for (double& score : scores) total += score = std::exp(score - largest);
        for (int64_t j = first; j <= last; ++j) {
          for (int64_t d = head * dim; d < (head + 1) * dim; ++d)
            out[i * hidden_ + d] += scores[j - first] / total * v[j * hidden_ + d];
        }
      }
    }
    return out;
  }

  void rotate(const Turns& by, Vector& x) const {
    const int64_t dim = hidden_ / heads_, half = dim / 2;
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t first = t * hidden_; first < (t + 1) * hidden_; first += dim) {
        for (int64_t i = first; i < first + half; ++i) {
          // Single precision as in Hugging Face's code, with which checkpoints were trained.
          const double angle =
              static_cast<float>(t) * static_cast<float>(by.frequencies[i - first]);
          const double a = x[i], b = x[i + half];
          x[i] = (a * std::cos(angle) - b * std::sin(angle)) * by.scale;
          x[i + half] = (b * std::cos(angle) + a * std::sin(angle)) * by.scale;
        }
      }
    }
  }

  bool is_global(int64_t layer) const {
    const auto types = c_.root.find("layer_types");
    if (!types) return layer % c_.integer("global_attn_every_n_layers", 3) == 0;
    int64_t i = 0;
    for (const json::Value& type : types->items()) {
      if (i++ == layer) return type.text() == "full_attention";
    }
    return false;
  }

  Turns turns_of(bool global) const {
    const double global_theta = c_.number("global_rope_theta", 160000);
    const auto local = c_.root.find("local_rope_theta");
    const double local_theta =
        local && local->is_null() ? global_theta : c_.number("local_rope_theta", 10000);
    auto rope = c_.root.find("rope_scaling");
    if (const auto both = c_.root.find("rope_parameters"))
      rope = both->find(global ? "full_attention" : "sliding_attention");
    static const json::Document empty = json::Document::parse("{}").value();
    return turns({rope && rope->is_object() ? *rope : empty.root()},
                 global ? global_theta : local_theta, c_.integer("max_position_embeddings", 8192),
                 hidden_ / heads_, tokens_);
  }

  Vector modern_bert() const {
    Vector x;
    const std::vector<float>& table = at(prefix_ + "embeddings.tok_embeddings.weight");
    for (const int32_t id : ids_)
      x.insert(x.end(), table.begin() + id * hidden_, table.begin() + (id + 1) * hidden_);
    x = norm(prefix_ + "embeddings.norm", x);
    for (int64_t layer = 0; layer < c_.integer("num_hidden_layers"); ++layer) {
      const std::string at_layer = fmt::format("{}layers.{}.", prefix_, layer);
      const Vector qkv =
          linear(at_layer + "attn.Wqkv", layer == 0 ? x : norm(at_layer + "attn_norm", x));
      Vector parts[3];
      for (int64_t t = 0; t < tokens_; ++t) {
        for (int64_t part = 0; part < 3; ++part) {
          const auto from = qkv.begin() + (t * 3 + part) * hidden_;
          parts[part].insert(parts[part].end(), from, from + hidden_);
        }
      }
      const bool global = is_global(layer);
      rotate(turns_of(global), parts[0]);
      rotate(turns_of(global), parts[1]);
      const Vector mixed = attention(parts[0], parts[1], parts[2],
                                     global ? -1 : c_.integer("local_attention", 128) / 2);
      x = sum(x, linear(at_layer + "attn.Wo", mixed));
      const Vector wide = linear(at_layer + "mlp.Wi", norm(at_layer + "mlp_norm", x));
      const int64_t m = c_.integer("intermediate_size");
      Vector gated(tokens_ * m);
      for (int64_t t = 0; t < tokens_; ++t) {
        for (int64_t i = 0; i < m; ++i)
          gated[t * m + i] = gelu(wide[t * 2 * m + i]) * wide[t * 2 * m + m + i];
      }
      x = sum(x, linear(at_layer + "mlp.Wo", gated));
    }
    return norm(prefix_ + "final_norm", x);
  }

  Vector bert() const {
    const bool roberta = is_roberta(c_.text("model_type", ""));
    const int64_t first = roberta ? c_.integer("pad_token_id", 1) + 1 : 0;
    Vector x(tokens_ * hidden_);
    int64_t counted = 0;  // tokens before this one that are not RoBERTa's padding
    for (int64_t t = 0; t < tokens_; ++t) {
      const bool padding = roberta && ids_[t] == first - 1;
      const int64_t position = padding ? first - 1 : first + counted;
      counted += padding ? 0 : 1;
      for (int64_t i = 0; i < hidden_; ++i) {
        x[t * hidden_ + i] =
            double{at(prefix_ + "embeddings.word_embeddings.weight")[ids_[t] * hidden_ + i]} +
            at(prefix_ + "embeddings.position_embeddings.weight")[position * hidden_ + i] +
            at(prefix_ + "embeddings.token_type_embeddings.weight")[i];
      }
    }
    x = norm(prefix_ + "embeddings.LayerNorm", x);
    for (int64_t layer = 0; layer < c_.integer("num_hidden_layers"); ++layer) {
      const std::string at_layer = fmt::format("{}encoder.layer.{}.", prefix_, layer);
      const std::string self = at_layer + "attention.self.";
      const Vector mixed = attention(linear(self + "query", x), linear(self + "key", x),
                                     linear(self + "value", x), -1);
      x = norm(at_layer + "attention.output.LayerNorm",
               sum(x, linear(at_layer + "attention.output.dense", mixed)));
      Vector up = linear(at_layer + "intermediate.dense", x);
      for (double& value : up) value = gelu(value);
      x = norm(at_layer + "output.LayerNorm", sum(x, linear(at_layer + "output.dense", up)));
    }
    return x;
  }

  Vector head(Vector x) const {
    if (c_.architecture().find("ForSequence") != std::string::npos) {
      const bool mean = c_.text("classifier_pooling", "cls") == "mean";
      Vector pooled(hidden_);
      for (int64_t t = 0; t < (mean ? tokens_ : 1); ++t) {
        for (int64_t i = 0; i < hidden_; ++i)
          pooled[i] += x[t * hidden_ + i] / static_cast<double>(mean ? tokens_ : 1);
      }
      x = pooled;
    }
    std::string activation = "tanh", dense;
    if (c_.modern()) {
      activation = c_.text("classifier_activation", "gelu");
      dense = "head.dense";
    } else if (c_.architecture().find("ForSequence") != std::string::npos) {
      dense = is_roberta(c_.text("model_type", "")) ? "classifier.dense" : "bert.pooler.dense";
    }
    if (!dense.empty()) {
      x = linear(dense, x);
      for (double& v : x)
        v = activation == "gelu" ? gelu(v) : activation == "relu" ? std::max(v, 0.0) : std::tanh(v);
    }
    if (c_.modern()) x = norm("head.norm", x);
    return linear(tensors_.contains("classifier.weight") ? "classifier" : "classifier.out_proj", x);
  }

  const Keys c_;
  const Checkpoint& tensors_;
  const std::vector<int32_t>& ids_;
  const int64_t tokens_, hidden_, heads_;
  std::string prefix_;
};

}  // namespace

ReferenceOutput reference(const json::Value& config, const Checkpoint& tensors,
                          const std::vector<int32_t>& ids) {
  if (is_decoder(config)) return decoder_reference(config, tensors, ids);
  if (is_deberta(config)) return deberta_reference(config, tensors, ids);
  return Network(config, tensors, ids).run();
}

std::map<std::string, std::vector<int64_t>> reference_shapes(const json::Value& config) {
  if (is_decoder(config)) return decoder_shapes(config);
  if (is_deberta(config)) return deberta_shapes(config);
  const Keys c{config};
  std::map<std::string, std::vector<int64_t>> out;
  const int64_t h = c.integer("hidden_size"), m = c.integer("intermediate_size");
  const auto linear = [&](const std::string& name, int64_t in, int64_t width, bool bias) {
    out[name + ".weight"] = {width, in};
    if (bias) out[name + ".bias"] = {width};
  };
  const auto norm = [&](const std::string& name, bool bias) {
    out[name + ".weight"] = {h};
    if (bias) out[name + ".bias"] = {h};
  };
  const std::string architecture = c.architecture();
  const bool sequence = architecture.find("ForSequence") != std::string::npos;
  const bool tokens = architecture.find("ForToken") != std::string::npos;
  const std::string type = c.text("model_type", "");
  const bool prefixed = architecture.find("For") != std::string::npos;
  const std::string p = prefixed ? prefix_of(type) : "";
  if (c.modern()) {
    const bool norm_bias = c.flag("norm_bias"), mlp = c.flag("mlp_bias");
    out[p + "embeddings.tok_embeddings.weight"] = {c.integer("vocab_size"), h};
    norm(p + "embeddings.norm", norm_bias);
    for (int64_t i = 0; i < c.integer("num_hidden_layers"); ++i) {
      const std::string at = fmt::format("{}layers.{}.", p, i);
      if (i > 0) norm(at + "attn_norm", norm_bias);
      linear(at + "attn.Wqkv", h, 3 * h, c.flag("attention_bias"));
      linear(at + "attn.Wo", h, h, c.flag("attention_bias"));
      norm(at + "mlp_norm", norm_bias);
      linear(at + "mlp.Wi", h, 2 * m, mlp);
      linear(at + "mlp.Wo", m, h, mlp);
    }
    norm(p + "final_norm", norm_bias);
    if (prefixed) {
      linear("head.dense", h, h, c.flag("classifier_bias"));
      norm("head.norm", norm_bias);
    }
    if (sequence || tokens) linear("classifier", h, c.classes(), true);
    if (architecture == "ModernBertForMaskedLM") {
      out["decoder.bias"] = {c.integer("vocab_size")};
      const auto tied = config.find("tie_word_embeddings");
      if (tied && !tied->boolean()) out["decoder.weight"] = {c.integer("vocab_size"), h};
    }
    return out;
  }
  out[p + "embeddings.word_embeddings.weight"] = {c.integer("vocab_size"), h};
  out[p + "embeddings.position_embeddings.weight"] = {c.integer("max_position_embeddings"), h};
  out[p + "embeddings.token_type_embeddings.weight"] = {c.integer("type_vocab_size"), h};
  norm(p + "embeddings.LayerNorm", true);
  for (int64_t i = 0; i < c.integer("num_hidden_layers"); ++i) {
    const std::string at = fmt::format("{}encoder.layer.{}.", p, i);
    for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense"}) {
      linear(at + name, h, h, true);
    }
    norm(at + "attention.output.LayerNorm", true);
    linear(at + "intermediate.dense", h, m, true);
    linear(at + "output.dense", m, h, true);
    norm(at + "output.LayerNorm", true);
  }
  if (sequence && type == "bert") linear("bert.pooler.dense", h, h, true);
  if (sequence && is_roberta(type)) {
    linear("classifier.dense", h, h, true);
    linear("classifier.out_proj", h, c.classes(), true);
  } else if (sequence || tokens) {
    linear("classifier", h, c.classes(), true);
  }
  return out;
}

}  // namespace signalbox::engine
