#pragma once
// The steps that the layers of encoders consist of, so that the forward pass of a network reads as
// a list of named operations. Attention runs head by head over the whole batch. Everything else
// runs block by block.

#include <cstdint>
#include <optional>

#include "engine/activation.h"
#include "engine/scratch.h"
#include "engine/trunk.h"

namespace signalbox::engine {

/// The parts of one forward pass, which outlive it.
struct Pass {
  const kernels::Table& kernels;
  const TrunkShape& shape;
  float norm_eps;
  Scratch& scratch;
  Workers& workers;
};

/// The embedding of a token: its row of each table that the network has, normalised.
struct Embeddings {
  weights::Tensor tokens;            // (vocabulary, width), F32, F16 or BF16, in the file
  Buffer<float> positions;           // (positions, width), or empty
  Buffer<float> types;               // (types, width), or empty
  Norm norm;                         // (width), (hidden) if the projection precedes it, or empty
  std::optional<Linear> projection;  // width to hidden, for networks that have narrower tables
  bool projects_first = false;       // the projection precedes the norm
  int32_t width = 0;
  int32_t first_position = 0;  // row of a sequence's first token
  /// For networks that skip padding when they count positions: a padding token has the row before
  /// the first, and the tokens after it count on as if it were absent. -1: all tokens count.
  int32_t padding = -1;
};

/// A block of the batch's rows in the hands of one thread.
class Block {
 public:
  Block(const Pass& pass, int64_t begin, int32_t rows, BlockScratch& scratch)
      : pass_(pass), begin_(begin), rows_(rows), scratch_(scratch) {}

  int64_t begin() const { return begin_; }
  int32_t rows() const { return rows_; }
  BlockScratch& scratch() const { return scratch_; }
  /// The residual stream, (rows, hidden).
  float* x() const { return pass_.scratch.x.data() + begin_ * pass_.shape.hidden; }
  /// Queries, keys and values, (rows, shape.qkv()).
  float* qkv() const { return pass_.scratch.qkv.data() + begin_ * pass_.shape.qkv(); }
  /// A second buffer of hidden states, (rows, hidden), if shape.has_side.
  float* side() const { return pass_.scratch.side.data() + begin_ * pass_.shape.hidden; }
  /// The output of attention, (rows, shape.mixed()).
  const float* mixed() const { return pass_.scratch.mixed.data() + begin_ * pass_.shape.mixed(); }

  /// x = norm(x).
  void normalize(const Norm& norm) const;
  void normalize(const RmsNorm& norm) const;
  /// Returns norm(x), (rows, hidden), in the block's own memory.
  const float* normalized(const Norm& norm) const;
  const float* normalized(const RmsNorm& norm) const;
  /// Returns each token's residual stream between those of its neighbours in its sequence, (rows,
  /// count hidden), in the block's own memory; zeros stand for neighbours beyond the ends. `count`
  /// is odd and includes the token.
  const float* neighbours(int32_t count) const;
  /// to = from w^T; from (rows, w.in()), to (rows, w.out()).
  void store(const Linear& layer, const float* from, float* to) const;
  /// qkv = from w^T; from (rows, hidden).
  void project(const Linear& qkv, const float* from) const;
  /// Rotates the queries and keys by their positions in their sequences.
  void rotate(const RopeTables& rope) const;
  /// x += from w^T; from (rows, hidden).
  void add(const Linear& layer, const float* from) const;
  /// x += activation(from up^T) down^T; from (rows, hidden).
  void feed_forward(const Linear& up, Activation activation, const Linear& down,
                    const float* from) const;
  /// The same with a gate in the product, Finish::kGeglu or another.
  void feed_forward(const Linear& up, kernels::Finish gate, const Linear& down,
                    const float* from) const;

 private:
  void multiply_to(const Linear& layer, const float* from, kernels::Finish finish, float* to) const;

  const Pass& pass_;
  const int64_t begin_;
  const int32_t rows_;
  BlockScratch& scratch_;
};

/// Calls step(block) for the blocks of the whole batch, in parallel.
template <class Step>
void for_blocks(const Pass& pass, const Step& step) {
  for_blocks(pass.scratch, pass.workers, pass.scratch.batch.tokens(),
             [&](int64_t begin, int32_t rows, BlockScratch& scratch) {
               step(Block(pass, begin, rows, scratch));
             });
}

/// Writes the embeddings of the batch's tokens to x.
void embed(const Embeddings& embeddings, const Pass& pass);

}  // namespace signalbox::engine
