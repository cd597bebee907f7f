// Words: projection, LSTM. Spans: the vectors of the first and the last word, joined and passed
// through two layers. A logit is the product of a span's vector with a label's.
//
// There are up to width_max times as many spans as words, so their layers are rearranged. The first
// one is a sum of a product with the first word and one with the last word, each computed once per
// word. The second one, which has no function after it, is multiplied with the labels first.

#include "engine/gliner.h"

#include <algorithm>
#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

// Rows that one thread passes through a layer together.
constexpr int32_t kBlockRows = 64;

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

// Calls step(begin, rows) for blocks of rows, whose borders do not depend on the threads.
template <class Step>
void by_blocks(int64_t rows, Workers& workers, const Step& step) {
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  workers.for_each(static_cast<int32_t>(blocks), [&](int32_t block, int32_t) {
    const int64_t begin = int64_t{block} * kBlockRows;
    step(begin, static_cast<int32_t>(std::min<int64_t>(kBlockRows, rows - begin)));
  });
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
    read_spans("span_rep_layer.span_rep_layer.out_project", hidden, out);
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

  void read_spans(const std::string& name, int32_t hidden, GlinerHead& out) {
    const int32_t wide = 4 * hidden;
    const Buffer<float> up = reader_.read(name + ".0.weight", {wide, 2 * hidden});
    const Buffer<float> bias = reader_.read(name + ".0.bias", {wide});
    const Buffer<float> down = reader_.read(name + ".3.weight", {hidden, wide});
    out.span_bias_ = reader_.read(name + ".3.bias", {hidden});
    if (!reader_.status()) return;
    Buffer<float> first(down.size()), last(down.size()), transposed(down.size());  // (wide, hidden)
    for (int64_t row = 0; row < wide; ++row) {
      const float* const from = up.data() + row * 2 * hidden;
      std::copy_n(from, hidden, first.data() + row * hidden);
      std::copy_n(from + hidden, hidden, last.data() + row * hidden);
      for (int64_t i = 0; i < hidden; ++i) transposed[row * hidden + i] = down[i * wide + row];
    }
    out.span_start_ = reader_.packed(hidden, wide, first, bias);
    out.span_end_ = reader_.packed(hidden, wide, last, {});
    out.span_down_ = reader_.packed(hidden, wide, transposed, {});
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
Buffer<float> GlinerHead::gather(const float* x, std::span<const int32_t> tokens,
                                 Workers& workers) const {
  const auto rows = static_cast<int32_t>(tokens.size());
  Buffer<float> out(tokens.size() * width_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t row = std::max(tokens[i], 0);
    std::copy_n(x + row * width_, width_, out.data() + i * width_);
  }
  if (projection_) out = apply(*projection_, rows, out.data(), workers);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == kNoToken) std::fill_n(out.data() + i * hidden_, hidden_, 0.0f);
  return out;
}

// Writes x w^T + bias to y (rows, out), for x (rows, in).
void GlinerHead::multiply(const Linear& layer, int32_t rows, const float* x, float* y) const {
  Operands operands;
  operands.reserve(rows, layer.in());
  layer.apply(*kernels_, rows, x, kernels::Finish::kStore, operands, y);
}

// Returns x w^T + bias, (rows, out), for x (rows, in).
Buffer<float> GlinerHead::apply(const Linear& layer, int32_t rows, const float* x,
                                Workers& workers) const {
  Buffer<float> y(size_t{static_cast<uint32_t>(rows)} * layer.out());
  by_blocks(rows, workers, [&](int64_t begin, int32_t count) {
    multiply(layer, count, x + begin * layer.in(), y.data() + begin * layer.out());
  });
  return y;
}

Buffer<float> GlinerHead::apply(const Mlp& mlp, int32_t rows, const float* x,
                                Workers& workers) const {
  Buffer<float> up = apply(mlp.up, rows, x, workers);
  kernels_->relu(static_cast<int64_t>(up.size()), up.data());
  return apply(mlp.down, rows, up.data(), workers);
}

/// The layer from a span's inner values, (4 hidden), to its logits, (labels).
struct GlinerHead::Scorer {
  Buffer<std::byte> memory;
  Linear layer;
};

GlinerHead::Scorer GlinerHead::scorer(int32_t labels, const float* of_labels,
                                      Workers& workers) const {
  const int32_t wide = 4 * hidden_;
  const Buffer<float> weights =
      apply(span_down_, labels, of_labels, workers);  // (labels, 4 hidden)
  Buffer<float> bias(labels);
  for (int32_t label = 0; label < labels; ++label)
    bias[label] = dot(hidden_, span_bias_.data(), of_labels + int64_t{label} * hidden_);
  Scorer out;
  out.memory = Buffer<std::byte>(kernels::packed_linear_bytes(kernels::Format::kF32, wide, labels));
  out.layer = pack_f32(wide, labels, weights.span(), bias.span(), out.memory.data());
  return out;
}

std::vector<float> GlinerHead::logits(const float* x, const GlinerLayout& layout,
                                      Workers& workers) const {
  const auto words = static_cast<int32_t>(layout.words.size());
  const auto labels = static_cast<int32_t>(layout.labels.size());
  std::vector<float> out(size_t{layout.words.size()} * width_max_ * labels);
  if (out.empty()) return out;
  const Buffer<float> of_labels =
      apply(label_, labels, gather(x, layout.labels, workers).data(), workers);
  const Scorer scores = scorer(labels, of_labels.data(), workers);
  Buffer<float> of_words = gather(x, layout.words, workers);  // (words, hidden)
  for (const BiLstm& layer : lstm_)
    of_words = layer.apply(*kernels_, words, of_words.data(), workers);
  Buffer<float> starts = apply(start_, words, of_words.data(), workers);
  Buffer<float> ends = apply(end_, words, of_words.data(), workers);
  kernels_->relu(static_cast<int64_t>(starts.size()), starts.data());
  kernels_->relu(static_cast<int64_t>(ends.size()), ends.data());
  starts = apply(span_start_, words, starts.data(), workers);  // (words, 4 hidden)
  ends = apply(span_end_, words, ends.data(), workers);        // (words, 4 hidden)
  const int64_t wide = 4 * int64_t{hidden_};
  const std::vector<WordRange> spans = spans_of(words, width_max_);
  by_blocks(static_cast<int64_t>(spans.size()), workers, [&](int64_t begin, int32_t rows) {
    const auto block = std::span(spans).subspan(begin, rows);
    Buffer<float> inner(rows * wide), logits(int64_t{rows} * labels);  // (rows, 4 hidden or labels)
    for (int32_t i = 0; i < rows; ++i) {
      float* const row = inner.data() + i * wide;
      std::copy_n(starts.data() + block[i].first * wide, wide, row);
      kernels_->add(wide, ends.data() + block[i].last * wide, row);
    }
    kernels_->relu(rows * wide, inner.data());
    multiply(scores.layer, rows, inner.data(), logits.data());
    for (int32_t i = 0; i < rows; ++i) {
      const int64_t place = int64_t{block[i].first} * width_max_ + block[i].last - block[i].first;
      std::copy_n(logits.data() + int64_t{i} * labels, labels, out.data() + place * labels);
    }
  });
  return out;
}

}  // namespace signalbox::engine
