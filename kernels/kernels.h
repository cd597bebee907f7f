#pragma once
// The table of numerical operations. Entries take pointers and sizes, never allocate or throw, and
// do not depend on any model. Each tier (dispatch.cc lists them by processor) overwrites entries
// with faster equivalents. kernels/ref defines the exact results in double precision.
//
// All matrices are row-major and dense. Pointers need no alignment. Inputs and outputs must not
// overlap unless the entry is marked "in place". A row's result does not depend on other rows, so a
// text's result does not depend on its batch.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"

namespace signalbox::kernels {

/// A window that covers all keys.
inline constexpr int32_t kNoWindow = INT32_MAX;

struct AttentionShape {
  int32_t tokens;
  int32_t heads;
  int32_t head_dim;
  int32_t window = kNoWindow;  // token i attends to token j when |i - j| <= window
  int32_t kv_heads = 0;   // heads of keys and values, a divisor of `heads`; 0: equal to `heads`
  bool causal = false;    // token i attends only to tokens j <= i
  float scale = 0;        // factor of the scores; 0: 1 / sqrt(head_dim)
  int32_t distances = 0;  // rows of the tables in DistanceTerms; 0: no tables

  /// Number of heads whose keys and values are stored.
  int32_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  /// Width of one token's queries, keys and values.
  int64_t qkv_width() const { return int64_t{heads + 2 * key_heads()} * head_dim; }
};

/// The terms that a network adds to the score of query i and key j for their distance d = j - i.
/// DeBERTa adds two products with vectors of the distance, multiplied by the scale like the score
/// (He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", 2020). T5 adds a
/// number (Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
/// Transformer", 2019).
struct DistanceTerms {
  /// The row of d in the tables is rows[d], for -tokens < d < tokens. From one d to the next it
  /// stays the same or rises by one.
  const int32_t* rows = nullptr;
  const float* keys = nullptr;  // (distances, heads, head_dim): query i . keys[rows[d]], or null
  // (distances, heads, head_dim): key j . queries[rows[d]], or null
  const float* queries = nullptr;
  /// Added for -tokens < d < tokens: bias[head * bias_stride + d]; or null.
  const float* bias = nullptr;
  int64_t bias_stride = 0;
};

/// Returns the floats of scratch that `attention` needs: one head's keys and values, and a block of
/// queries with their scores. It grows linearly with the tokens.
int64_t attention_scratch(const AttentionShape& shape);

/// Returns the bytes of scratch that `attention_i16` needs.
int64_t attention_i16_scratch(const AttentionShape& shape);

/// The form in which the weights of a linear layer are stored. It also determines the conversion of
/// the activations.
enum class Format : uint8_t { kF32, kBF16, kI8 };

/// A product y (rows, out) = x (rows, in) w^T with w (out, in).
struct LinearShape {
  int32_t rows;
  int32_t in;
  int32_t out;
};

/// The operation applied to the sums before they are written. v is the sum plus the bias of its
/// column.
enum class Finish : uint8_t {
  kStore,  // y = v
  kAdd,    // y += v
  kGelu,   // y = gelu(v)
  // For gated weights, y (rows, out / 2) = f(v of column c) * v of column out / 2 + c with
  kGeglu,      // f = gelu
  kGegluTanh,  // f = gelu's approximation by a tanh
  kSwiglu,     // f(v) = v / (1 + exp(-v))
};

constexpr bool is_gated(Finish finish) {
  return finish == Finish::kGeglu || finish == Finish::kGegluTanh || finish == Finish::kSwiglu;
}

/// An adapter's contribution to the sums of one row, added before they are finished: reduced up^T,
/// accumulated in the order of k. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models",
/// 2021.
struct LowRank {
  int32_t rank = 0;                // 0: no contribution
  const float* reduced = nullptr;  // (rank): the row times the adapter's first matrix
  const void* up = nullptr;        // (out, rank) packed by pack_linear in kF32, gated if w is
};

/// gelu(v) = v/2 (1 + erf(v / sqrt 2)), the exact form of Hendrycks and Gimpel, "Gaussian Error
/// Linear Units", 2016, which also gives the approximation v/2 (1 + tanh(sqrt(2/pi) (v + 0.044715
/// v^3))). The gates are from Shazeer, "GLU Variants Improve Transformer", 2020.
struct Epilogue {
  Finish finish = Finish::kStore;
  const float* bias = nullptr;        // packed by pack_bias, or nullptr
  const LowRank* low_rank = nullptr;  // (rows), or nullptr
};

/// Returns the bytes that pack_linear writes for w (out, in), a multiple of 64. For gated weights
/// `out` is even and the two halves of the outputs are interleaved as Finish::kGeglu expects.
int64_t packed_linear_bytes(Format format, int32_t in, int32_t out, bool gated = false);

/// Packs w (out, in), as stored in checkpoints, for the products of every tier. kI8 quantises each
/// row of w symmetrically with its own scale. `packed` must be aligned to 4 bytes.
void pack_linear(Format format, int32_t in, int32_t out, const float* w, void* packed,
                 bool gated = false);

/// Returns true if the scales of a packed matrix are finite, or if the format has no scales.
bool has_finite_scales(Format format, int32_t in, int32_t out, const void* packed,
                       bool gated = false);

/// Restores the weights w (out, in) from a packed matrix.
void unpack_linear(Format format, int32_t in, int32_t out, const void* packed, float* w,
                   bool gated = false);

/// packed_bias_size() returns the floats of a packed bias; pack_bias() packs bias (out).
int64_t packed_bias_size(int32_t out, bool gated = false);
void pack_bias(int32_t out, const float* bias, float* packed, bool gated = false);

/// Returns the bytes of one row of `cols` values written by quantize_rows.
int64_t quantized_row_bytes(int32_t cols);

/// Rounds x (n) to bfloat16, to nearest even, and writes n two-byte values to y.
void narrow_bf16(int64_t n, const float* x, void* y);

/// Returns the floats of scratch that linear_bf16 needs.
int64_t bf16_scratch(const LinearShape& shape);

/// The code that multiplies in single precision.
enum class Gemm : uint8_t { kOwn, kOpenBlas };

struct Table {
  std::string_view tier;
  std::string_view gemm;  // "own" or "openblas": the code behind linear_f32

  /// y = finish(x w^T): x (rows, in); `packed` comes from pack_linear in kF32.
  void (*linear_f32)(const LinearShape& shape, const float* x, const void* packed,
                     const Epilogue& epilogue, float* y);

  /// linear_f32 by OpenBLAS. Use it only through a table of Gemm::kOpenBlas, where it is
  /// linear_f32.
  void (*linear_f32_openblas)(const LinearShape& shape, const float* x, const void* packed,
                              const Epilogue& epilogue, float* y);

  /// linear_f32 with `packed` in kBF16. Tiers with a bfloat16 dot product round x to bfloat16; the
  /// others widen the weights. Sums are in single precision. scratch (bf16_scratch(shape)).
  void (*linear_bf16)(const LinearShape& shape, const float* x, float* scratch, const void* packed,
                      const Epilogue& epilogue, float* y);

  /// linear_f32 with x from quantize_rows and `packed` in kI8. The sums are exact and the same on
  /// every tier.
  void (*linear_i8)(const LinearShape& shape, const uint8_t* q, const float* scales,
                    const void* packed, const Epilogue& epilogue, float* y);

  /// Quantises x (rows, cols) to 8 bits: q (rows, quantized_row_bytes(cols)) and scales (rows). (q
  /// - 128) * scale is x to within half a scale, and a row's largest magnitude is 127 scales. Every
  /// tier gives the same bytes.
  void (*quantize_rows)(int32_t rows, int32_t cols, const float* x, uint8_t* q, float* scales);

  /// In place, x (n) = gelu(x), its form with tanh, tanh(x), or max(x, 0). The form with tanh,
  /// v/2 (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3))), is up to 5e-4 off the exact one.
  void (*gelu)(int64_t n, float* x);
  void (*gelu_tanh)(int64_t n, float* x);
  void (*tanh)(int64_t n, float* x);
  void (*relu)(int64_t n, float* x);

  /// y (rows, cols) = norm(x) * gamma + beta over each row, norm(v) = (v - mean) / sqrt(variance +
  /// eps): Ba, Kiros and Hinton, "Layer Normalization", 2016. gamma, beta (cols). y may be x.
  void (*layer_norm)(int32_t rows, int32_t cols, const float* gamma, const float* beta, float eps,
                     const float* x, float* y);

  /// y (rows, cols) = x / sqrt(mean of the squares of the row + eps) * gamma: Zhang and Sennrich,
  /// "Root Mean Square Layer Normalization", 2019. gamma (cols). y may be x.
  void (*rms_norm)(int32_t rows, int32_t cols, const float* gamma, float eps, const float* x,
                   float* y);

  /// In place, rotates the queries and keys of qkv (tokens, heads + 2 key_heads, head_dim) by their
  /// positions: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021,
  /// pairing dimension i with i + head_dim / 2. rotations (shape.tokens, 2, head_dim / 2): cosines,
  /// then sines. head_dim is even; window and causal have no effect.
  void (*rope)(const AttentionShape& shape, const float* rotations, float* qkv);

  /// Self-attention of one head of one sequence within a window. It writes this head's part of out
  /// (tokens, heads, head_dim) = softmax(q k^T / sqrt(head_dim)) v with qkv (tokens, heads + 2
  /// key_heads, head_dim): queries, keys, values. Groups of heads / key_heads query heads share a
  /// key head: Ainslie et al., "GQA", 2023. `terms` are added to the scores, or nullptr. scratch
  /// (attention_scratch(shape)). The cost is tokens x min(tokens, window), and with tables also
  /// tokens x min(2 tokens, shape.distances). The softmax is online (Milakov and Gimelshein, 2018).
  void (*attention)(const AttentionShape& shape, int32_t head, const float* qkv,
                    const DistanceTerms* terms, float* scratch, float* out);

  /// attention in 16-bit integers with exact sums. `scratch` has attention_i16_scratch(shape)
  /// bytes, aligned to 64.
  void (*attention_i16)(const AttentionShape& shape, int32_t head, const float* qkv,
                        const DistanceTerms* terms, void* scratch, float* out);

  /// out (cols) = mean over the rows of x (rows, cols); rows > 0.
  void (*mean_rows)(int32_t rows, int32_t cols, const float* x, float* out);

  /// In place, x (n) /= max(|x|, 1e-12), as in sentence-transformers.
  void (*l2_normalize)(int32_t n, float* x);

  /// y (n) += x (n).
  void (*add)(int64_t n, const float* x, float* y);

  /// Returns the sum of x[i] y[i] over n.
  float (*dot)(int32_t n, const float* x, const float* y);

  /// sums (n) = exact dot products of one 8-bit row with n others: the sum over i < cols of (q[i] -
  /// 128) (rows[r][i] - 128). All rows are in the format of quantize_rows. Rows are given by
  /// address because a search reads scattered rows. cols <= 32,768.
  void (*dots_i8)(int32_t n, int32_t cols, const uint8_t* q, const uint8_t* const* rows,
                  int32_t* sums);

  /// Widens x (n) from IEEE half precision or bfloat16 to y (n) exactly. x holds n little-endian
  /// two-byte values.
  void (*widen_f16)(int64_t n, const void* x, float* y);
  void (*widen_bf16)(int64_t n, const void* x, float* y);
};

/// Names of all tiers, slowest first.
std::span<const std::string_view> tier_names();

/// Returns the table of one tier. kInvalid for an unknown name; kUnsupported if this processor
/// lacks a required feature, or if kOpenBlas cannot be used (the message has the reason).
Result<const Table*> table_of(std::string_view tier, Gemm gemm = Gemm::kOwn);

/// Returns the code that was measured to be faster in single precision from 32 rows up, for a
/// process whose fastest tier is `tier`. It does not depend on the number of rows, because the two
/// sum in different orders and a row's result must not depend on its batch.
Gemm faster_gemm(std::string_view tier, bool has_avx);

/// Returns the table that this process uses. The environment variable SIGNALBOX_ISA names the tier,
/// otherwise it is the fastest supported one. SIGNALBOX_GEMM, "own" or "openblas", names the code
/// that multiplies in single precision; otherwise it is the faster one, or our own if a tier is
/// named or OpenBLAS cannot be used. It is chosen at the first call. Thread-safe.
Result<const Table*> active_table();

}  // namespace signalbox::kernels
