#pragma once
// The one table of numerical operations. Every entry works on pointers and sizes, allocates
// nothing, throws nothing, and knows no model. Tiers (base, avx2, avx512) overwrite entries with
// faster ones of the same meaning; kernels/ref states that meaning in double precision.
//
// All matrices are row-major and dense. Pointers need no alignment. Inputs and outputs do not
// overlap unless it says "in place". A row's result depends on that row alone, so a text's result
// does not depend on its batch.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"

namespace signalbox::kernels {

/// A window that hides no key.
inline constexpr int32_t kNoWindow = INT32_MAX;

struct AttentionShape {
  int32_t tokens;
  int32_t heads;
  int32_t head_dim;
  int32_t window = kNoWindow;  // token i attends to token j when |i - j| <= window
};

/// Floats of scratch that `attention` needs: one head's keys and values, and a block of queries
/// with their scores. Grows with the tokens, never with their square.
int64_t attention_scratch(const AttentionShape& shape);

/// Bytes of one row of `cols` values as quantize_rows writes it.
int64_t quantized_row_bytes(int32_t cols);

/// Bytes that pack_linear_i8 writes for a matrix of this shape; a multiple of 64.
int64_t packed_linear_i8_bytes(int32_t in, int32_t out);

/// Lays w (out, in), 8-bit weights of which one stands for w * scales[its row], out for linear_i8
/// of any tier. |w| <= 127. packed is aligned to 4 bytes.
void pack_linear_i8(int32_t in, int32_t out, const int8_t* w, const float* scales, void* packed);

struct Table {
  std::string_view tier;

  /// Floats that pack_linear writes for a matrix of this shape.
  int64_t (*packed_linear_size)(int32_t in, int32_t out);

  /// Lays w (out, in), as checkpoints store it, out for `linear` of this same tier.
  void (*pack_linear)(int32_t in, int32_t out, const float* w, float* packed);

  /// y = x w^T, with x (rows, in), w packed, y (rows, out).
  void (*linear)(int32_t rows, int32_t in, int32_t out, const float* x, const float* packed,
                 float* y);

  /// q (rows, quantized_row_bytes(cols)) and scales (rows): x (rows, cols) in 8 bits, so that
  /// (q - 128) * scale is x to within half a scale, and a row's largest magnitude is 127 scales.
  /// The same bytes on every tier.
  void (*quantize_rows)(int32_t rows, int32_t cols, const float* x, uint8_t* q, float* scales);

  /// y = x w^T, with x (rows, in) as quantize_rows gives it, w packed by pack_linear_i8, y (rows,
  /// out). The sums are exact: the same bits on every tier.
  void (*linear_i8)(int32_t rows, int32_t in, int32_t out, const uint8_t* q, const float* scales,
                    const void* packed, float* y);

  /// In place, x (rows, cols) += bias (cols).
  void (*add_bias)(int32_t rows, int32_t cols, const float* bias, float* x);

  /// In place, x (rows, cols) = gelu(x + bias), gelu(v) = v/2 (1 + erf(v / sqrt 2)), the exact form
  /// of Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
  void (*add_bias_gelu)(int32_t rows, int32_t cols, const float* bias, float* x);

  /// y (rows, cols) = gelu(a) * b, where x (rows, 2, cols) holds a row of a, then a row of b:
  /// Shazeer, "GLU Variants Improve Transformer", 2020. y may be x: its rows then lie together at
  /// the front.
  void (*geglu)(int32_t rows, int32_t cols, const float* x, float* y);

  /// In place, x (n) = gelu(x), tanh(x), or max(x, 0).
  void (*gelu)(int64_t n, float* x);
  void (*tanh)(int64_t n, float* x);
  void (*relu)(int64_t n, float* x);

  /// y (rows, cols) = norm(x) * gamma + beta over each row, norm(v) = (v - mean) / sqrt(variance +
  /// eps): Ba, Kiros and Hinton, "Layer Normalization", 2016. gamma, beta (cols). y may be x.
  void (*layer_norm)(int32_t rows, int32_t cols, const float* gamma, const float* beta, float eps,
                     const float* x, float* y);

  /// In place, residual (rows, cols) = layer_norm(residual + x + bias). bias, gamma, beta (cols).
  void (*add_bias_residual_norm)(int32_t rows, int32_t cols, const float* x, const float* bias,
                                 const float* gamma, const float* beta, float eps, float* residual);

  /// In place, turns the queries and keys of qkv (tokens, 3, heads, head_dim) by their positions:
  /// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, with
  /// dimension i paired with i + head_dim / 2. rotations (tokens, 2, head_dim / 2): cosines, then
  /// sines. head_dim is even.
  void (*rope)(int32_t tokens, int32_t heads, int32_t head_dim, const float* rotations, float* qkv);

  /// Self-attention of one sequence within a window: out (tokens, heads, head_dim) = softmax(q k^T
  /// / sqrt(head_dim)) v with qkv (tokens, 3, heads, head_dim); scratch (attention_scratch(shape)).
  /// Costs tokens x min(tokens, window); the softmax is online (Milakov and Gimelshein, 2018).
  void (*attention)(const AttentionShape& shape, const float* qkv, float* scratch, float* out);

  /// out (cols) = mean over the rows of x (rows, cols); rows > 0.
  void (*mean_rows)(int32_t rows, int32_t cols, const float* x, float* out);

  /// In place, x (n) /= max(|x|, 1e-12), as sentence-transformers does it.
  void (*l2_normalize)(int32_t n, float* x);

  /// y (n) += x (n).
  void (*add)(int64_t n, const float* x, float* y);

  /// sum of x[i] y[i] over n.
  float (*dot)(int32_t n, const float* x, const float* y);

  /// y (n) = x (n) widened from IEEE half precision or bfloat16, exactly; x holds n two-byte
  /// values, little-endian.
  void (*widen_f16)(int64_t n, const void* x, float* y);
  void (*widen_bf16)(int64_t n, const void* x, float* y);
};

/// Names of all tiers, slowest first.
std::span<const std::string_view> tier_names();

/// The table of one tier. kInvalid for an unknown name, kUnsupported when this processor lacks what
/// it needs.
Result<const Table*> table_of(std::string_view tier);

/// The table this process uses: the tier that the environment variable SIGNALBOX_ISA names,
/// otherwise the fastest that the processor can run. Decided at the first call. Thread-safe.
Result<const Table*> active_table();

}  // namespace signalbox::kernels
