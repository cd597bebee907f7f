#pragma once
// The one table of numerical operations. Every entry works on pointers and sizes, allocates
// nothing, throws nothing, and knows no model. Tiers (base, avx2, avx512, vnni, bf16) overwrite
// entries with faster ones of the same meaning; kernels/ref states that meaning in double
// precision.
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

/// The same for `attention_i16`, in bytes.
int64_t attention_i16_scratch(const AttentionShape& shape);

/// How the weights of a linear layer are stored, and what its rows are turned into before.
enum class Format : uint8_t { kF32, kBF16, kI8 };

/// A product y (rows, out) = x (rows, in) w^T with w (out, in).
struct LinearShape {
  int32_t rows;
  int32_t in;
  int32_t out;
};

/// What is done with the sums before they are written, each v = sum + bias of its column.
enum class Finish : uint8_t {
  kStore,  // y = v
  kAdd,    // y += v
  kGelu,   // y = gelu(v)
  kGeglu,  // y (rows, out / 2) = gelu(v of column c) * v of column out / 2 + c; of gated weights
};

/// What an adapter adds to the sums of one row before they are finished: reduced up^T, fed in the
/// order of k. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021.
struct LowRank {
  int32_t rank = 0;                // 0: nothing is added
  const float* reduced = nullptr;  // (rank): the row times the adapter's first matrix
  const void* up = nullptr;        // (out, rank) as pack_linear writes it in kF32, gated as w is
};

/// gelu(v) = v/2 (1 + erf(v / sqrt 2)), the exact form of Hendrycks and Gimpel, "Gaussian Error
/// Linear Units", 2016; the gate: Shazeer, "GLU Variants Improve Transformer", 2020.
struct Epilogue {
  Finish finish = Finish::kStore;
  const float* bias = nullptr;        // as pack_bias writes it, or none
  const LowRank* low_rank = nullptr;  // (rows), or none
};

/// Bytes that pack_linear writes for w (out, in); a multiple of 64. Gated: `out` is even and its
/// halves lie side by side, as Finish::kGeglu reads them.
int64_t packed_linear_bytes(Format format, int32_t in, int32_t out, bool gated = false);

/// Lays w (out, in), as checkpoints store it, out for the products of every tier. In kI8 each row
/// of w is quantised symmetrically, with a scale of its own. packed is aligned to 4 bytes.
void pack_linear(Format format, int32_t in, int32_t out, const float* w, void* packed,
                 bool gated = false);

/// Whether the scales of a packed matrix are numbers; true for formats that have none.
bool has_finite_scales(Format format, int32_t in, int32_t out, const void* packed,
                       bool gated = false);

/// The weights w (out, in) that a packed matrix stands for.
void unpack_linear(Format format, int32_t in, int32_t out, const void* packed, float* w,
                   bool gated = false);

/// Floats of a packed bias, and its packing: bias (out).
int64_t packed_bias_size(int32_t out, bool gated = false);
void pack_bias(int32_t out, const float* bias, float* packed, bool gated = false);

/// Bytes of one row of `cols` values as quantize_rows writes it.
int64_t quantized_row_bytes(int32_t cols);

/// y (n) two-byte values = x (n) rounded to bfloat16, to nearest even.
void narrow_bf16(int64_t n, const float* x, void* y);

/// Floats of scratch that linear_bf16 needs.
int64_t bf16_scratch(const LinearShape& shape);

struct Table {
  std::string_view tier;

  /// y = finish(x w^T): x (rows, in); packed by pack_linear in kF32.
  void (*linear_f32)(const LinearShape& shape, const float* x, const void* packed,
                     const Epilogue& epilogue, float* y);

  /// The same with packed in kBF16. Tiers with a dot product of bfloat16 round x to it, the others
  /// widen the weights; sums are in single precision. scratch (bf16_scratch(shape)).
  void (*linear_bf16)(const LinearShape& shape, const float* x, float* scratch, const void* packed,
                      const Epilogue& epilogue, float* y);

  /// The same with x as quantize_rows gives it; packed in kI8. The sums are exact: the same on
  /// every tier.
  void (*linear_i8)(const LinearShape& shape, const uint8_t* q, const float* scales,
                    const void* packed, const Epilogue& epilogue, float* y);

  /// q (rows, quantized_row_bytes(cols)) and scales (rows): x (rows, cols) in 8 bits, so that
  /// (q - 128) * scale is x to within half a scale, and a row's largest magnitude is 127 scales.
  /// The same bytes on every tier.
  void (*quantize_rows)(int32_t rows, int32_t cols, const float* x, uint8_t* q, float* scales);

  /// In place, x (n) = gelu(x), tanh(x), or max(x, 0).
  void (*gelu)(int64_t n, float* x);
  void (*tanh)(int64_t n, float* x);
  void (*relu)(int64_t n, float* x);

  /// y (rows, cols) = norm(x) * gamma + beta over each row, norm(v) = (v - mean) / sqrt(variance +
  /// eps): Ba, Kiros and Hinton, "Layer Normalization", 2016. gamma, beta (cols). y may be x.
  void (*layer_norm)(int32_t rows, int32_t cols, const float* gamma, const float* beta, float eps,
                     const float* x, float* y);

  /// In place, turns the queries and keys of qkv (tokens, 3, heads, head_dim) by their positions:
  /// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, with
  /// dimension i paired with i + head_dim / 2. rotations (tokens, 2, head_dim / 2): cosines, then
  /// sines. head_dim is even.
  void (*rope)(int32_t tokens, int32_t heads, int32_t head_dim, const float* rotations, float* qkv);

  /// Self-attention of one head of one sequence within a window: its part of out (tokens, heads,
  /// head_dim) = softmax(q k^T / sqrt(head_dim)) v with qkv (tokens, 3, heads, head_dim); scratch
  /// (attention_scratch(shape)). Costs tokens x min(tokens, window); the softmax is online (Milakov
  /// and Gimelshein, 2018).
  void (*attention)(const AttentionShape& shape, int32_t head, const float* qkv, float* scratch,
                    float* out);

  /// The same in 16-bit integers with exact sums; scratch in bytes (attention_i16_scratch(shape)),
  /// aligned to 64.
  void (*attention_i16)(const AttentionShape& shape, int32_t head, const float* qkv, void* scratch,
                        float* out);

  /// out (cols) = mean over the rows of x (rows, cols); rows > 0.
  void (*mean_rows)(int32_t rows, int32_t cols, const float* x, float* out);

  /// In place, x (n) /= max(|x|, 1e-12), as sentence-transformers does it.
  void (*l2_normalize)(int32_t n, float* x);

  /// y (n) += x (n).
  void (*add)(int64_t n, const float* x, float* y);

  /// sum of x[i] y[i] over n.
  float (*dot)(int32_t n, const float* x, const float* y);

  /// sums (n) = the dot products of one row in 8 bits with n others, each sum over i < cols of
  /// (q[i] - 128) (rows[r][i] - 128), exact; all as quantize_rows writes them. The rows are given
  /// by address, because those that a search meets lie apart. cols <= 32,768.
  void (*dots_i8)(int32_t n, int32_t cols, const uint8_t* q, const uint8_t* const* rows,
                  int32_t* sums);

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
/// otherwise the fastest of those that the processor can run. Decided at the first call.
/// Thread-safe.
Result<const Table*> active_table();

}  // namespace signalbox::kernels
