// The products with the inputs are computed for all rows at once; only those with the state go row
// by row.

#include "engine/lstm.h"

#include <cmath>

namespace signalbox::engine {
namespace {

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

BiLstm::Direction BiLstm::read_direction(TensorReader& reader, const std::string& name,
                                         const std::string& suffix, int32_t width) {
  const int32_t half = width / 2, gates = 4 * half;
  const Buffer<float> input = reader.read(name + "weight_ih" + suffix, {gates, width});
  const Buffer<float> memory = reader.read(name + "weight_hh" + suffix, {gates, half});
  Buffer<float> bias = reader.read(name + "bias_ih" + suffix, {gates});
  const Buffer<float> second = reader.read(name + "bias_hh" + suffix, {gates});
  if (!reader.status()) return {};
  for (int32_t i = 0; i < gates; ++i) bias[i] += second[i];
  return {reader.packed(width, gates, input, bias), reader.packed(half, gates, memory, {})};
}

BiLstm BiLstm::read(TensorReader& reader, std::string_view name, int32_t layer, int32_t width) {
  BiLstm out;
  out.width_ = width;
  const std::string at = fmt::format("{}.", name), suffix = fmt::format("_l{}", layer);
  out.forward_ = read_direction(reader, at, suffix, width);
  out.backward_ = read_direction(reader, at, suffix + "_reverse", width);
  return out;
}

// Writes the states of one direction to its half of the rows of y (rows, width).
void BiLstm::run(const kernels::Table& kernels, const Direction& direction, bool backward,
                 int32_t rows, const float* x, float* y) const {
  const int32_t half = width_ / 2, gates = 4 * half;
  Operands unused;                                                    // for packed formats
  Buffer<float> inputs(size_t{static_cast<uint32_t>(rows)} * gates);  // (rows, gates)
  direction.input.apply(kernels, rows, x, kernels::Finish::kStore, unused, inputs.data());
  std::vector<float> state(half), cell(half);
  for (int32_t step = 0; step < rows; ++step) {
    const int64_t row = backward ? rows - 1 - step : step;
    float* sums = inputs.data() + row * gates;  // (gates)
    direction.memory.apply(kernels, 1, state.data(), kernels::Finish::kAdd, unused, sums);
    for (int32_t i = 0; i < half; ++i) {
      const float in = sigmoid(sums[i]), forget = sigmoid(sums[half + i]);
      const float out = sigmoid(sums[3 * half + i]);
      cell[i] = forget * cell[i] + in * std::tanh(sums[2 * half + i]);
      state[i] = out * std::tanh(cell[i]);
    }
    std::copy_n(state.data(), half, y + row * width_ + (backward ? half : 0));
  }
}

Buffer<float> BiLstm::apply(const kernels::Table& kernels, int32_t rows, const float* x,
                            Workers& workers) const {
  Buffer<float> y(size_t{static_cast<uint32_t>(rows)} * width_);
  workers.for_each(2, [&](int32_t direction, int32_t) {
    const bool backward = direction == 1;
    run(kernels, backward ? backward_ : forward_, backward, rows, x, y.data());
  });
  return y;
}

}  // namespace signalbox::engine
