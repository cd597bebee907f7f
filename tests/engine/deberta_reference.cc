// Each score of attention is computed from its own three products, without tables by distance.

#include "tests/engine/deberta_reference.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/error.h"

namespace signalbox::engine {
namespace {

using Row = std::vector<double>;  // (width)
using Rows = std::vector<Row>;    // (tokens, width)

struct DebertaKeys {
  explicit DebertaKeys(const json::Value& config)
      : root(config), buckets(integer("position_buckets", -1)), far(read_far()) {}

  const json::Value root;
  const int64_t buckets, far;  // read once, because row() runs for each pair of tokens

  int64_t integer(const char* key, int64_t fallback) const {
    const auto value = root.find(key);
    return value ? value->integer().value() : fallback;
  }
  std::string text(const char* key, const char* fallback) const {
    const auto value = root.find(key);
    if (!value) return fallback;
    return std::string(value->is_string() ? value->text() : value->raw());
  }
  bool flag(const char* key, bool fallback) const {
    const auto value = root.find(key);
    return value ? value->boolean() : fallback;
  }
  bool has_term(const char* term) const {
    return ascii::lower_case(text("pos_att_type", "")).find(term) != std::string::npos;
  }
  bool is_relative() const { return flag("relative_attention", false); }
  bool shares() const { return flag("share_att_key", false); }
  std::string architecture() const {
    return std::string((*root.find("architectures")->items().begin()).text());
  }
  std::string prefix() const { return architecture() == "DebertaV2Model" ? "" : "deberta."; }
  bool classifies(const char* what) const {
    return architecture() == std::string("DebertaV2For") + what + "Classification";
  }
  int64_t hidden() const { return integer("hidden_size", 0); }
  int64_t heads() const { return integer("num_attention_heads", 0); }
  int64_t positions() const { return integer("max_position_embeddings", 512); }
  int64_t read_far() const {
    const int64_t most = integer("max_relative_positions", -1);
    return most < 1 ? positions() : most;
  }
  int64_t span() const { return buckets > 0 ? buckets : far; }
  // The row of the difference i - j in the table of distances.
  int64_t row(int64_t difference) const {
    const int64_t middle = buckets / 2;
    int64_t place = difference;
    if (buckets > 0 && std::abs(difference) > middle) {
      const auto half = static_cast<double>(middle);
      const double all = std::log(static_cast<double>(far - 1) / half);
      const double log = std::log(std::abs(static_cast<double>(difference)) / half);
      const auto steps = static_cast<int64_t>(std::ceil(log / all * (half - 1)));
      place = difference > 0 ? middle + steps : -(middle + steps);
    }
    return std::clamp<int64_t>(place + span(), 0, 2 * span() - 1);
  }
};

double activated(const std::string& function, double x) {
  return function == "tanh"   ? std::tanh(x)
         : function == "relu" ? std::max(x, 0.0)
                              : 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

class DebertaNetwork {
 public:
  DebertaNetwork(const json::Value& config, const Checkpoint& tensors)
      : c_{config}, tensors_(tensors) {}

  ReferenceOutput run(const std::vector<int32_t>& ids) const {
    const Rows embedded = embed(ids);
    Rows x = embedded, distances;
    if (c_.is_relative()) {
      distances = table("encoder.rel_embeddings.weight");
      if (c_.text("norm_rel_ebd", "none") == "layer_norm")
        distances = norm("encoder.LayerNorm", distances);
    }
    for (int64_t i = 0; i < c_.integer("num_hidden_layers", 0); ++i) {
      x = layer(fmt::format("encoder.layer.{}.", i), x, distances);
      if (i == 0 && c_.integer("conv_kernel_size", 0) > 0)
        x = norm("encoder.conv.LayerNorm", sum(x, convolution(embedded)));
    }
    ReferenceOutput out;
    for (const Row& row : x) out.hidden.insert(out.hidden.end(), row.begin(), row.end());
    if (c_.classifies("Sequence")) {
      Rows pooled = dense("pooler.dense", Rows(1, x[0]));
      for (double& v : pooled[0]) v = activated(c_.text("pooler_hidden_act", "gelu"), v);
      out.logits = dense("classifier", pooled)[0];
    } else if (c_.classifies("Token")) {
      for (const Row& row : dense("classifier", x))
        out.logits.insert(out.logits.end(), row.begin(), row.end());
    }
    return out;
  }

 private:
  const TestTensor* find(const std::string& name) const {
    for (const std::string& full : {c_.prefix() + name, name}) {
      const auto found = tensors_.find(full);
      if (found != tensors_.end()) return &found->second;
    }
    return nullptr;
  }

  Rows table(const std::string& name) const {
    const TestTensor& tensor = *find(name);
    Rows out;
    for (auto at = tensor.values.begin(); at != tensor.values.end(); at += tensor.shape[1])
      out.emplace_back(at, at + tensor.shape[1]);
    return out;
  }

  Rows dense(const std::string& name, const Rows& x) const {
    const Rows w = table(name + ".weight");
    const TestTensor* bias = find(name + ".bias");
    Rows out;
    for (const Row& row : x) {
      Row& y = out.emplace_back();
      for (size_t o = 0; o < w.size(); ++o) {
        double value = bias != nullptr ? bias->values[o] : 0;
        for (size_t i = 0; i < row.size(); ++i) value += row[i] * w[o][i];
        y.push_back(value);
      }
    }
    return out;
  }

  Rows norm(const std::string& name, Rows x) const {
    const auto &gamma = find(name + ".weight")->values, &beta = find(name + ".bias")->values;
    for (Row& row : x) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) variance += (v - mean) * (v - mean) / double(row.size());
      for (size_t i = 0; i < row.size(); ++i)
        row[i] = (row[i] - mean) / std::sqrt(variance + 1e-7) * gamma[i] + beta[i];
    }
    return x;
  }

  static Rows sum(Rows a, const Rows& b) {
    for (size_t t = 0; t < a.size(); ++t) {
      for (size_t i = 0; i < a[t].size(); ++i) a[t][i] += b[t][i];
    }
    return a;
  }

  Rows embed(const std::vector<int32_t>& ids) const {
    const Rows words = table("embeddings.word_embeddings.weight");
    Rows x, positions, types;
    for (const int32_t id : ids) x.push_back(words[id]);
    if (c_.flag("position_biased_input", true)) {
      positions = table("embeddings.position_embeddings.weight");
      positions.resize(x.size());
      x = sum(x, positions);
    }
    if (c_.integer("type_vocab_size", 0) > 0) {
      types.assign(x.size(), table("embeddings.token_type_embeddings.weight")[0]);
      x = sum(x, types);
    }
    if (find("embeddings.embed_proj.weight") != nullptr) x = dense("embeddings.embed_proj", x);
    return norm("embeddings.LayerNorm", x);
  }

  Rows convolution(const Rows& x) const {
    const TestTensor& w = *find("encoder.conv.conv.weight");  // (hidden, hidden, taps)
    const auto& bias = find("encoder.conv.conv.bias")->values;
    const auto tokens = static_cast<int64_t>(x.size());
    const int64_t hidden = c_.hidden(), taps = w.shape[2];
    const std::string function = c_.text("conv_act", "tanh");
    Rows out(x.size(), Row(hidden));
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t o = 0; o < hidden; ++o) {
        double value = bias[o];
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t at = t + tap - taps / 2;
          if (at < 0 || at >= tokens) continue;
          for (int64_t i = 0; i < hidden; ++i)
            value += w.values[(o * hidden + i) * taps + tap] * x[at][i];
        }
        out[t][o] = activated(function, value);
      }
    }
    return out;
  }

  Rows layer(const std::string& at, const Rows& x, const Rows& distances) const {
    const Rows mixed = attention(at + "attention.self.", x, distances);
    const Rows y = norm(at + "attention.output.LayerNorm",
                        sum(x, dense(at + "attention.output.dense", mixed)));
    Rows up = dense(at + "intermediate.dense", y);
    const std::string function = c_.text("hidden_act", "gelu");
    for (Row& row : up) {
      for (double& v : row) v = activated(function, v);
    }
    return norm(at + "output.LayerNorm", sum(y, dense(at + "output.dense", up)));
  }

  Rows attention(const std::string& self, const Rows& x, const Rows& distances) const {
    const Rows q = dense(self + "query_proj", x), k = dense(self + "key_proj", x);
    const Rows v = dense(self + "value_proj", x);
    const bool c2p = c_.has_term("c2p"), p2c = c_.has_term("p2c");
    Rows keys, queries;
    if (!distances.empty() && c2p)
      keys = dense(self + (c_.shares() ? "key_proj" : "pos_key_proj"), distances);
    if (!distances.empty() && p2c)
      queries = dense(self + (c_.shares() ? "query_proj" : "pos_query_proj"), distances);
    const int64_t dim = c_.hidden() / c_.heads();
    const auto tokens = static_cast<int64_t>(x.size());
    const double scale = std::sqrt(static_cast<double>(dim * (1 + (c2p ? 1 : 0) + (p2c ? 1 : 0))));
    Rows out(x.size(), Row(c_.hidden()));
    for (int64_t first = 0; first < c_.hidden(); first += dim) {
      const auto dot = [&](const Row& a, const Row& b) {
        double sum = 0;
        for (int64_t d = first; d < first + dim; ++d) sum += a[d] * b[d];
        return sum;
      };
      for (int64_t i = 0; i < tokens; ++i) {
        Row weights;
        for (int64_t j = 0; j < tokens; ++j) {
          double score = dot(q[i], k[j]);
          if (!keys.empty()) score += dot(q[i], keys[c_.row(i - j)]);
          if (!queries.empty()) score += dot(k[j], queries[c_.row(i - j)]);
          weights.push_back(score / scale);
        }
        const double largest = *std::ranges::max_element(weights);
        double total = 0;
        for (double& weight : weights) total += weight = std::exp(weight - largest);
        for (int64_t j = 0; j < tokens; ++j) {
          for (int64_t d = first; d < first + dim; ++d) out[i][d] += weights[j] / total * v[j][d];
        }
      }
    }
    return out;
  }

  const DebertaKeys c_;
  const Checkpoint& tensors_;
};

}  // namespace

bool is_deberta(const json::Value& config) {
  const auto type = config.find("model_type");
  return type && type->text() == "deberta-v2";
}

ReferenceOutput deberta_reference(const json::Value& config, const Checkpoint& tensors,
                                  const std::vector<int32_t>& ids) {
  return DebertaNetwork(config, tensors).run(ids);
}

std::map<std::string, std::vector<int64_t>> deberta_shapes(const json::Value& config) {
  const DebertaKeys c{config};
  std::map<std::string, std::vector<int64_t>> out;
  const int64_t h = c.hidden(), m = c.integer("intermediate_size", 0);
  const int64_t width = c.integer("embedding_size", h);
  const auto linear = [&](const std::string& name, int64_t in, int64_t rows) {
    out[name + ".weight"] = {rows, in};
    out[name + ".bias"] = {rows};
  };
  const auto norm = [&](const std::string& name) {
    out[name + ".weight"] = {h};
    out[name + ".bias"] = {h};
  };
  const std::string p = c.prefix(), encoder = p + "encoder.";
  out[p + "embeddings.word_embeddings.weight"] = {c.integer("vocab_size", 0), width};
  if (c.flag("position_biased_input", true))
    out[p + "embeddings.position_embeddings.weight"] = {c.positions(), width};
  if (const int64_t types = c.integer("type_vocab_size", 0); types > 0)
    out[p + "embeddings.token_type_embeddings.weight"] = {types, width};
  if (width != h) out[p + "embeddings.embed_proj.weight"] = {h, width};
  norm(p + "embeddings.LayerNorm");
  if (c.is_relative()) out[encoder + "rel_embeddings.weight"] = {2 * c.span(), h};
  if (c.text("norm_rel_ebd", "none") == "layer_norm") norm(encoder + "LayerNorm");
  if (const int64_t taps = c.integer("conv_kernel_size", 0); taps > 0) {
    linear(encoder + "conv.conv", h, h);
    out[encoder + "conv.conv.weight"] = {h, h, taps};
    norm(encoder + "conv.LayerNorm");
  }
  for (int64_t i = 0; i < c.integer("num_hidden_layers", 0); ++i) {
    const std::string at = fmt::format("{}layer.{}.", encoder, i), self = at + "attention.self.";
    for (const char* name : {"query_proj", "key_proj", "value_proj"}) linear(self + name, h, h);
    if (c.is_relative() && !c.shares()) {
      if (c.has_term("c2p")) linear(self + "pos_key_proj", h, h);
      if (c.has_term("p2c")) linear(self + "pos_query_proj", h, h);
    }
    linear(at + "attention.output.dense", h, h);
    norm(at + "attention.output.LayerNorm");
    linear(at + "intermediate.dense", h, m);
    linear(at + "output.dense", m, h);
    norm(at + "output.LayerNorm");
  }
  const bool sequence = c.classifies("Sequence");
  if (sequence) linear("pooler.dense", h, h);
  if (sequence || c.classifies("Token")) linear("classifier", h, c.integer("num_labels", 2));
  return out;
}

}  // namespace signalbox::engine
