#pragma once
// Shapes, error bounds and plain quantisation, shared by the tests and the benchmarks of kernels.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernels.h"

namespace signalbox::kernels {

/// Quantises x (n) to q (n) with the scale of its largest magnitude / 127, and returns the scale.
template <class Integer>
float quantize(int64_t n, const float* x, Integer* q) {
  float largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  const float scale = largest / 127.0f;
  for (int64_t i = 0; i < n; ++i)
    q[i] = static_cast<Integer>(largest > 0 ? std::nearbyint(x[i] / scale) : 0);
  return scale;
}

struct MatrixCase {
  int32_t rows;
  int32_t cols;
};

// Covers every tail of the widest tier, one row and many, and the widths of real models.
inline constexpr MatrixCase kMatrixCases[] = {{1, 1},  {1, 2},    {2, 3},    {3, 7},   {1, 8},
                                              {5, 15}, {2, 16},   {3, 17},   {4, 31},  {2, 33},
                                              {7, 64}, {13, 100}, {16, 384}, {9, 768}, {3, 1536}};

struct LinearCase {
  int32_t rows;
  int32_t in;
  int32_t out;
};

// Covers row counts of every block and of several sweeps, tails of a step and of a panel, and inner
// dimensions of one or several blocks of steps. `out` is even, so that each case can be gated.
inline constexpr LinearCase kLinearCases[] = {
    {1, 1, 2},      {1, 5, 4},     {2, 4, 64},     {3, 17, 66},    {4, 64, 48},
    {5, 8, 128},    {6, 97, 130},  {7, 384, 32},   {13, 192, 70},  {12, 384, 1152},
    {33, 1536, 96}, {200, 40, 34}, {401, 100, 64}, {12, 3072, 70},
};

// Covers token counts around the edges of panels and tiles, head sizes of every tail, and windows
// from a single token to more than the whole sequence.
inline constexpr AttentionShape kAttentionCases[] = {
    {1, 1, 1},
    {2, 1, 3},
    {3, 2, 8},
    {4, 3, 16},
    {5, 2, 17},
    {16, 2, 32},
    {17, 12, 32},
    {31, 3, 33},
    {65, 2, 64},
    {200, 4, 32},
    {128, 1, 64},
    {129, 1, 80},
    {300, 2, 8},
    {2, 1, 3, 0},
    {7, 2, 16, 1},
    {50, 1, 20, 0},
    {97, 2, 24, 5},
    {129, 2, 64, 16},
    {130, 1, 8, 47},
    {300, 2, 64, 64},
    {301, 1, 80, 63},
    {260, 1, 48, 128},
    {200, 1, 12, 199},
    {90, 1, 40, 1000},
    // Shared keys, and queries that see only what came before.
    {40, 4, 16, kNoWindow, 2},
    {131, 3, 32, 16, 1},
    {1, 2, 8, kNoWindow, 1, true},
    {50, 1, 17, kNoWindow, 1, true},
    {129, 6, 16, kNoWindow, 2, true},
    {300, 2, 64, kNoWindow, 0, true},
    {260, 2, 33, 40, 1, true},
    {64, 1, 8, 0, 1, true}};

struct DistanceCase {
  AttentionShape shape;
  bool keys, queries, bias;
  int32_t first_row = 0;  // for the most distant key before
};

// Covers each term alone and together, rows that every distance has and rows that many share, a
// table that the sequence uses in part, another scale, and windows.
inline constexpr DistanceCase kDistanceCases[] = {
    {{1, 1, 8, kNoWindow, 0, false, 0, 4}, true, true, false, 2},
    {{2, 2, 3, kNoWindow, 0, false, 0.5f, 9}, true, true, false, 3},
    {{31, 2, 16, kNoWindow, 0, false, 0.1f, 61}, true, false, false},
    {{33, 3, 17, kNoWindow, 0, false, 0, 300}, false, true, false, 100},
    {{65, 2, 64, kNoWindow, 0, false, 0.072f, 140}, true, true, false, 5},
    {{129, 2, 32, kNoWindow, 0, false, 0, 130}, true, true, true, 1},
    {{300, 1, 64, kNoWindow, 0, false, 0.05f, 200}, true, true, false},
    {{301, 2, 24, 50, 2, false, 0, 90}, true, true, false, 3},
    {{200, 1, 33, kNoWindow, 0, true, 0, 100}, true, true, true},
    {{17, 2, 8, kNoWindow, 0, false, 1, 0}, false, false, true},
    {{150, 3, 80, kNoWindow, 0, false, 0.2f, 0}, false, false, true},
    {{260, 2, 12, 30, 0, false, 0, 0}, false, false, true}};

inline constexpr AttentionShape kRopeCases[] = {{1, 1, 2},
                                                {3, 2, 8},
                                                {5, 1, 10},
                                                {2, 3, 34},
                                                {9, 2, 64},
                                                {4, 5, 80},
                                                {33, 12, 64},
                                                {7, 4, 16, kNoWindow, 2},
                                                {3, 3, 34, kNoWindow, 1, true}};

// Maximum error relative to the double-precision result, for inputs of unit scale.
inline constexpr double kElementwiseBound = 4e-6;
inline constexpr double kNormBound = 2e-5;
inline constexpr double kAttentionBound = 5e-6;
inline constexpr double kAttentionI16Bound = 1.5e-3;
// Bound for the rounding of a running sum of `in` products of unit scale. The sum's magnitude grows
// with the square root of `in`.
inline constexpr double linear_bound(int32_t in) {
  return 1e-6 + 3e-7 * in;
}

}  // namespace signalbox::kernels
