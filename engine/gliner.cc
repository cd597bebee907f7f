// Words: projection, LSTM. Spans: the vectors of the first and the last word, joined and projected.
// A logit is the product of a span's vector with a label's.

#include "engine/gliner.h"

#include <algorithm>
#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

// Spans that pass the layers together.
constexpr int32_t kBlockSpans = 384;

struct WordRange {
  int32_t first, last;  // both included
};

// Returns the spans of at most `width_max` words, by their first word and then by their length.
std::vector<WordRange> spans_of(int32_t words, int32_t width_max) {
  std::vector<WordRange> out;
  for (int32_t first = 0; first < words; ++first) {
    const int32_t past = std::min(words, first + width_max);
    for (int32_t last = first; last < past; ++last) out.push_back({first, last});
  }
  return out;
}

float dot(int32_t n, const float* a, const float* b) {
  float sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

class GlinerHead::Reader {
 public:
  Reader(const weights::SafeTensors& file, const kernels::Table& kernels)
      : file_(file), reader_(file, kernels, "") {}

  Result<GlinerHead> read(const GlinerConfig& config, int32_t width,
                          const kernels::Table& kernels) {
    GlinerHead out(kernels);
    const int32_t hidden = config.hidden;
    out.width_ = width;
    out.hidden_ = hidden;
    out.width_max_ = config.width_max;
    if (width != hidden)
      out.projection_ = reader_.linear("token_rep_layer.projection", width, hidden, true);
    for (int32_t layer = 0; layer < config.lstm_layers && reader_.status(); ++layer)
      out.lstm_.push_back(BiLstm::read(reader_, "rnn.lstm", layer, hidden));
    out.start_ = mlp("span_rep_layer.span_rep_layer.project_start", hidden, hidden);
    out.end_ = mlp("span_rep_layer.span_rep_layer.project_end", hidden, hidden);
    out.span_ = mlp("span_rep_layer.span_rep_layer.out_project", 2 * hidden, hidden);
    out.label_ = mlp("prompt_rep_layer", hidden, hidden);
    if (!reader_.status()) return tl::unexpected<Error>(reader_.status().error());
    if (rows_of(file_, fmt::format("rnn.lstm.weight_ih_l{}", config.lstm_layers)) > 0) {
      return fail(Code::kCorrupt,
                  "gliner_config.json: num_rnn_layers: {}, but there are tensors of more layers",
                  config.lstm_layers);
    }
    out.arena_ = reader_.take_arena();
    return out;
  }

 private:
  Mlp mlp(const std::string& name, int32_t in, int32_t out) {
    return {reader_.linear(name + ".0", in, 4 * out, true),
            reader_.linear(name + ".3", 4 * out, out, true)};
  }

  const weights::SafeTensors& file_;
  TensorReader reader_;
};

Result<GlinerHead> GlinerHead::open(const GlinerConfig& config, int32_t width,
                                    const weights::SafeTensors& file,
                                    const kernels::Table& kernels) {
  return Reader(file, kernels).read(config, width, kernels);
}

// Returns the hidden states of some tokens, (tokens, hidden), projected. That of kNoToken is 0.
Buffer<float> GlinerHead::gather(const float* x, std::span<const int32_t> tokens) const {
  const auto rows = static_cast<int32_t>(tokens.size());
  Buffer<float> out(tokens.size() * width_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t row = std::max(tokens[i], 0);
    std::copy_n(x + row * width_, width_, out.data() + i * width_);
  }
  if (projection_) out = apply(*projection_, rows, out.data());
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == kNoToken) std::fill_n(out.data() + i * hidden_, hidden_, 0.0f);
  return out;
}

// Returns x w^T + bias, (rows, out), for x (rows, in).
Buffer<float> GlinerHead::apply(const Linear& layer, int32_t rows, const float* x) const {
  Buffer<float> y(size_t{static_cast<uint32_t>(rows)} * layer.out());
  Operands operands;
  operands.reserve(rows, layer.in());
  layer.apply(*kernels_, rows, x, kernels::Finish::kStore, operands, y.data());
  return y;
}

Buffer<float> GlinerHead::apply(const Mlp& mlp, int32_t rows, const float* x) const {
  Buffer<float> up = apply(mlp.up, rows, x);
  kernels_->relu(static_cast<int64_t>(up.size()), up.data());
  return apply(mlp.down, rows, up.data());
}

std::vector<float> GlinerHead::logits(const float* x, const GlinerLayout& layout) const {
  const auto words = static_cast<int32_t>(layout.words.size());
  const auto labels = static_cast<int32_t>(layout.labels.size());
  std::vector<float> out(size_t{layout.words.size()} * width_max_ * labels);
  if (out.empty()) return out;
  const Buffer<float> of_labels = apply(label_, labels, gather(x, layout.labels).data());
  Buffer<float> of_words = gather(x, layout.words);  // (words, hidden)
  for (const BiLstm& layer : lstm_) of_words = layer.apply(*kernels_, words, of_words.data());
  Buffer<float> starts = apply(start_, words, of_words.data());
  Buffer<float> ends = apply(end_, words, of_words.data());
  kernels_->relu(static_cast<int64_t>(starts.size()), starts.data());
  kernels_->relu(static_cast<int64_t>(ends.size()), ends.data());
  const std::vector<WordRange> spans = spans_of(words, width_max_);
  Buffer<float> joined(int64_t{kBlockSpans} * 2 * hidden_);  // (spans of a block, 2 hidden)
  for (size_t begin = 0; begin < spans.size(); begin += kBlockSpans) {
    const auto block =
        std::span(spans).subspan(begin, std::min<size_t>(kBlockSpans, spans.size() - begin));
    float* row = joined.data();
    for (const WordRange& span : block) {
      row = std::copy_n(starts.data() + int64_t{span.first} * hidden_, hidden_, row);
      row = std::copy_n(ends.data() + int64_t{span.last} * hidden_, hidden_, row);
    }
    const Buffer<float> of_spans = apply(span_, static_cast<int32_t>(block.size()), joined.data());
    for (size_t i = 0; i < block.size(); ++i) {
      const int64_t place = int64_t{block[i].first} * width_max_ + block[i].last - block[i].first;
      for (int32_t label = 0; label < labels; ++label) {
        out[place * labels + label] = dot(hidden_, of_spans.data() + i * hidden_,
                                          of_labels.data() + int64_t{label} * hidden_);
      }
    }
  }
  return out;
}

}  // namespace signalbox::engine
