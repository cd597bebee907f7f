// The layers of the head one row at a time.

#include "tests/engine/gliner_network.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "tests/engine/random_network.h"
#include "tests/engine/reference.h"

namespace signalbox::engine {
namespace {

using Values = std::vector<double>;  // (width)

constexpr std::string_view kGlinerDefaults =
    R"({"model_name":"tiny","span_mode":"markerV0","max_width":4,"hidden_size":8,"max_len":40,)"
    R"("num_rnn_layers":1,"class_token_index":56,"vocab_size":58,"encoder_config":{)"
    R"("model_type":"deberta-v2","vocab_size":40,"hidden_size":12,"num_attention_heads":3,)"
    R"("num_hidden_layers":2,"intermediate_size":16,"max_position_embeddings":96,)"
    R"("type_vocab_size":0,"relative_attention":true,"position_buckets":8,)"
    R"("position_biased_input":false,"share_att_key":true,"norm_rel_ebd":"layer_norm",)"
    R"("pos_att_type":"c2p|p2c"}})";
constexpr const char* kEncoderPrefix = "token_rep_layer.bert_layer.model.";

// The encoder's config.json, as a bare network with the vocabulary of GLiNER.
json::Document encoder_of(const json::Value& config) {
  const std::string own = R"({"architectures":["DebertaV2Model"],"vocab_size":58})";
  return json::Document::parse(merge_objects(json::Document::parse(own).value().root(),
                                             *config.find("encoder_config")))
      .value();
}

class Layers {
 public:
  explicit Layers(const Checkpoint& tensors) : tensors_(tensors) {}

  // Returns w x + b for the tensors of those names; without a name there is no bias.
  Values product(const std::string& weight, const std::string& bias, const Values& x) const {
    const TestTensor& w = tensors_.at(weight);
    Values out;
    for (int64_t row = 0; row < w.shape[0]; ++row) {
      double sum = bias.empty() ? 0 : tensors_.at(bias).values[row];
      for (size_t i = 0; i < x.size(); ++i) sum += w.values[row * x.size() + i] * x[i];
      out.push_back(sum);
    }
    return out;
  }

  Values linear(const std::string& name, const Values& x) const {
    return product(name + ".weight", name + ".bias", x);
  }

  Values projected(const std::string& name, const Values& x) const {
    Values up = linear(name + ".0", x);
    for (double& v : up) v = std::max(v, 0.0);
    return linear(name + ".3", up);
  }

  // Replaces the rows by the states of one layer in both directions.
  void recur(int64_t layer, std::vector<Values>& rows) const {
    const std::vector<Values> x = rows;
    for (Values& row : rows) row.clear();
    for (const bool backward : {false, true}) {
      const std::string end = "_l" + std::to_string(layer) + (backward ? "_reverse" : "");
      const size_t half = x.front().size() / 2;
      Values state(half), cell(half);
      for (size_t step = 0; step < x.size(); ++step) {
        const size_t at = backward ? x.size() - 1 - step : step;
        const Values a = product("rnn.lstm.weight_ih" + end, "rnn.lstm.bias_ih" + end, x[at]);
        const Values b = product("rnn.lstm.weight_hh" + end, "rnn.lstm.bias_hh" + end, state);
        const auto gate = [&](size_t i) { return 1 / (1 + std::exp(-a[i] - b[i])); };
        for (size_t i = 0; i < half; ++i) {
          const double fresh = std::tanh(a[2 * half + i] + b[2 * half + i]);
          cell[i] = gate(half + i) * cell[i] + gate(i) * fresh;
        }
        for (size_t i = 0; i < half; ++i) state[i] = gate(3 * half + i) * std::tanh(cell[i]);
        rows[at].insert(rows[at].end(), state.begin(), state.end());
      }
    }
  }

 private:
  const Checkpoint& tensors_;
};

void add_linear(std::map<std::string, std::vector<int64_t>>& shapes, const std::string& name,
                int64_t in, int64_t out) {
  shapes[name + ".weight"] = {out, in};
  shapes[name + ".bias"] = {out};
}

}  // namespace

GlinerNetwork::GlinerNetwork(std::string_view options)
    : config_(json::Document::parse(
                  merge_objects(json::Document::parse(std::string(options)).value().root(),
                                json::Document::parse(std::string(kGlinerDefaults)).value().root()))
                  .value()) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, shape] : reference_shapes(encoder_of(config_.root()).root()))
    shapes[kEncoderPrefix + name] = shape;
  const int64_t hidden = integer("hidden_size");
  add_linear(shapes, "token_rep_layer.projection", 12, hidden);
  for (int64_t layer = 0; layer < integer("num_rnn_layers"); ++layer) {
    for (const char* direction : {"", "_reverse"}) {
      const std::string end = "_l" + std::to_string(layer) + direction;
      shapes["rnn.lstm.weight_ih" + end] = {2 * hidden, hidden};
      shapes["rnn.lstm.weight_hh" + end] = {2 * hidden, hidden / 2};
      shapes["rnn.lstm.bias_ih" + end] = shapes["rnn.lstm.bias_hh" + end] = {2 * hidden};
    }
  }
  const std::string spans = "span_rep_layer.span_rep_layer.";
  for (const std::string& name :
       {spans + "project_start", spans + "project_end", std::string("prompt_rep_layer")}) {
    add_linear(shapes, name + ".0", hidden, 4 * hidden);
    add_linear(shapes, name + ".3", 4 * hidden, hidden);
  }
  add_linear(shapes, spans + "out_project.0", 2 * hidden, 4 * hidden);
  add_linear(shapes, spans + "out_project.3", 4 * hidden, hidden);
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const auto& [name, shape] : shapes) {
    const bool gamma = name.ends_with("LayerNorm.weight");
    const float scale = shape.size() == 1 ? 0.3f : 1.5f / std::sqrt(static_cast<float>(shape[1]));
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    TestTensor& tensor = tensors_[name] = {shape, {}};
    for (int64_t i = 0; i < size; ++i)
      tensor.values.push_back(coarse(normal(random) * scale + (gamma ? 1.0f : 0.0f)));
  }
  write(tensors_);
  write_config(config_.root().raw());
  write_letter_tokenizer(directory() / "tokenizer.json", kLabelMark);
}

void GlinerNetwork::write_config(std::string_view text) const {
  std::ofstream(directory() / "gliner_config.json") << text;
}

void GlinerNetwork::write(const Checkpoint& tensors) const {
  write_checkpoint(directory() / "model.safetensors", tensors, "F32");
}

std::vector<double> GlinerNetwork::logits(const std::vector<int32_t>& ids,
                                          const std::vector<int32_t>& labels,
                                          const std::vector<int32_t>& words) const {
  const Layers layers(tensors_);
  Checkpoint encoder;
  for (const auto& [name, tensor] : tensors_) {
    if (name.starts_with(kEncoderPrefix))
      encoder[name.substr(std::string_view(kEncoderPrefix).size())] = tensor;
  }
  const auto hidden = reference(encoder_of(config_.root()).root(), encoder, ids).hidden;
  const size_t width = hidden.size() / ids.size();
  const auto state = [&](int32_t token) {
    const Values x(hidden.begin() + token * width, hidden.begin() + (token + 1) * width);
    return layers.linear("token_rep_layer.projection", x);
  };
  const auto hidden_size = static_cast<size_t>(integer("hidden_size"));
  std::vector<Values> rows;
  for (const int32_t word : words) rows.push_back(word < 0 ? Values(hidden_size) : state(word));
  for (int64_t layer = 0; layer < integer("num_rnn_layers"); ++layer) layers.recur(layer, rows);
  const int64_t width_max = integer("max_width");
  std::vector<double> out(words.size() * width_max * labels.size());
  for (size_t first = 0; first < words.size(); ++first) {
    for (size_t last = first; last < std::min(words.size(), first + width_max); ++last) {
      Values both = layers.projected("span_rep_layer.span_rep_layer.project_start", rows[first]);
      const Values end = layers.projected("span_rep_layer.span_rep_layer.project_end", rows[last]);
      both.insert(both.end(), end.begin(), end.end());
      for (double& v : both) v = std::max(v, 0.0);
      const Values span = layers.projected("span_rep_layer.span_rep_layer.out_project", both);
      for (size_t label = 0; label < labels.size(); ++label) {
        const Values of_label = layers.projected("prompt_rep_layer", state(labels[label]));
        double& logit = out[(first * width_max + last - first) * labels.size() + label];
        for (size_t i = 0; i < hidden_size; ++i) logit += span[i] * of_label[i];
      }
    }
  }
  return out;
}

}  // namespace signalbox::engine
