// Each step takes its memory from the block of the thread that runs it.

#include "engine/encoder_steps.h"

#include <algorithm>

namespace signalbox::engine {

using kernels::Finish;

void Block::multiply_to(const Linear& layer, const float* from, Finish finish, float* to) const {
  multiply(layer, pass_.kernels, pass_.scratch.batch, begin_, rows_, from, finish, scratch_, to);
}

void Block::normalize(const Norm& norm) const {
  norm.apply(pass_.kernels, rows_, pass_.norm_eps, x(), x());
}

const float* Block::normalized(const Norm& norm) const {
  norm.apply(pass_.kernels, rows_, pass_.norm_eps, x(), scratch_.normed.data());
  return scratch_.normed.data();
}

const float* Block::neighbours(int32_t count) const {
  const Batch& batch = pass_.scratch.batch;
  const int64_t hidden = pass_.shape.hidden;
  float* to = scratch_.up.data();  // (rows, count, hidden)
  for (int64_t row = begin_; row < begin_ + rows_; ++row) {
    const int32_t sequence = batch.sequence_of(static_cast<int32_t>(row));
    const int64_t first = batch.begin(sequence), end = first + batch.length(sequence);
    for (int64_t at = row - count / 2; at <= row + count / 2; ++at, to += hidden) {
      if (at < first || at >= end) {
        std::fill_n(to, hidden, 0.0f);
      } else {
        std::copy_n(pass_.scratch.x.data() + at * hidden, hidden, to);
      }
    }
  }
  return scratch_.up.data();
}

void Block::store(const Linear& layer, const float* from, float* to) const {
  multiply_to(layer, from, Finish::kStore, to);
}

void Block::normalize(const RmsNorm& norm) const {
  norm.apply(pass_.kernels, rows_, pass_.norm_eps, x(), x());
}

const float* Block::normalized(const RmsNorm& norm) const {
  norm.apply(pass_.kernels, rows_, pass_.norm_eps, x(), scratch_.normed.data());
  return scratch_.normed.data();
}

void Block::project(const Linear& layer, const float* from) const {
  multiply_to(layer, from, Finish::kStore, qkv());
}

void Block::rotate(const RopeTables& rope) const {
  engine::rotate(pass_.kernels, pass_.shape, rope, pass_.scratch.batch, begin_, rows_, qkv());
}

void Block::add(const Linear& layer, const float* from) const {
  multiply_to(layer, from, Finish::kAdd, x());
}

void Block::feed_forward(const Linear& up, Activation activation, const Linear& down,
                         const float* from) const {
  float* wide = scratch_.up.data();  // (rows, up.out())
  const bool fused = activation == Activation::kGelu;
  multiply_to(up, from, fused ? Finish::kGelu : Finish::kStore, wide);
  if (!fused) activate(pass_.kernels, activation, int64_t{rows_} * up.out(), wide);
  add(down, wide);
}

void Block::feed_forward(const Linear& up, Finish gate, const Linear& down,
                         const float* from) const {
  multiply_to(up, from, gate, scratch_.up.data());  // (rows, up.out() / 2)
  add(down, scratch_.up.data());
}

namespace {

// Returns the row of a token in the table of positions.
int64_t position_of(const Embeddings& e, const Batch& batch, int64_t row) {
  const int64_t first = batch.begin(batch.sequence_of(static_cast<int32_t>(row)));
  if (e.padding < 0) return e.first_position + row - first;
  if (batch.ids[row] == e.padding) return e.first_position - 1;
  const auto skipped = std::count(batch.ids.begin() + first, batch.ids.begin() + row, e.padding);
  return e.first_position + row - first - skipped;
}

}  // namespace

void embed(const Embeddings& e, const Pass& pass) {
  const kernels::Table& kernels = pass.kernels;
  const Batch& batch = pass.scratch.batch;
  for_blocks(pass, [&](const Block& block) {
    float* to = e.projection ? block.scratch().up.data() : block.x();  // (rows, width)
    for (int64_t row = block.begin(); row < block.begin() + block.rows(); ++row) {
      float* x = to + (row - block.begin()) * e.width;  // (width)
      widen(e.tokens, int64_t{batch.ids[row]} * e.width, kernels,
            {x, static_cast<size_t>(e.width)});
      if (e.types.size() > 0) {
        kernels.add(e.width, e.types.data() + int64_t{batch.types[row]} * e.width, x);
      }
      if (e.positions.size() > 0) {
        kernels.add(e.width, e.positions.data() + position_of(e, batch, row) * e.width, x);
      }
    }
    const auto normalize = [&](float* x) {
      if (e.norm.gamma.size() > 0) e.norm.apply(kernels, block.rows(), pass.norm_eps, x, x);
    };
    if (!e.projects_first) normalize(to);
    if (e.projection) {
      multiply(*e.projection, kernels, batch, block.begin(), block.rows(), to,
               kernels::Finish::kStore, block.scratch(), block.x());
    }
    if (e.projects_first) normalize(block.x());
  });
}

}  // namespace signalbox::engine
