#pragma once
// Finishes the sums of a panel before they are written: adds an adapter's contribution and the
// bias, then applies the activation, gate or residual (Finish in kernels.h). Processes one row of
// 64 columns at a time while it is in the first-level cache.

#include <cstring>

#include "kernels/body/elementwise.h"
#include "kernels/body/panel.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

template <class Arch, Finish kFinish>
[[gnu::always_inline]] inline void finish_row(const float* sums, const float* bias, float* y) {
  constexpr int64_t kGate = kPanelColumns / 2;
  const auto with_bias = [&](int64_t c) {
    const auto sum = Batch<Arch>::load_unaligned(sums + c);
    return bias == nullptr ? sum : sum + Batch<Arch>::load_unaligned(bias + c);
  };
  constexpr int64_t kColumns = is_gated(kFinish) ? kGate : kPanelColumns;
  for (int64_t c = 0; c < kColumns; c += kLanes<Arch>) {
    Batch<Arch> value = with_bias(c);
    if constexpr (kFinish == Finish::kAdd) value += Batch<Arch>::load_unaligned(y + c);
    if constexpr (kFinish == Finish::kGelu) value = gelu_of<Arch>(value);
    if constexpr (kFinish == Finish::kGeglu) value = gelu_of<Arch>(value);
    if constexpr (kFinish == Finish::kGegluTanh) value = gelu_tanh_of<Arch>(value);
    if constexpr (kFinish == Finish::kSwiglu) value = silu_of<Arch>(value);
    if constexpr (is_gated(kFinish)) value *= with_bias(c + kGate);
    value.store_unaligned(y + c);
  }
}

// Each tier has its own copy, because this function is not inlined.
namespace {

// Computes out (64) = sums + the adapter's contribution to one row of a panel. It is separate from
// the row loops so that their code is the same with and without adapters.
template <class Arch>
[[gnu::noinline]] void add_low_rank(const LowRank& part, int64_t panel, const float* sums,
                                    float* out) {
  constexpr int64_t kGroup = 4 * kLanes<Arch>;
  const auto* up = reinterpret_cast<const float*>(Panel<F32>(part.up, part.rank, panel).steps);
  for (int64_t c = 0; c < kPanelColumns; c += kGroup) {
    Batch<Arch> acc[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) acc[i] = Batch<Arch>::load_unaligned(sums + c + i * kLanes<Arch>);
    for (int64_t k = 0; k < part.rank; ++k) {
      const Batch<Arch> factor(part.reduced[k]);
      const float* w = up + k * kPanelColumns + c;
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        acc[i] = xsimd::fma(factor, Batch<Arch>::load_unaligned(w + i * kLanes<Arch>), acc[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) acc[i].store_unaligned(out + c + i * kLanes<Arch>);
  }
}

}  // namespace

// Finishes the rows of one panel. row_sums(r) returns the 64 sums of row r. low_rank belongs to
// these rows or is null. A panel that extends past the last column is finished in a temporary row.
template <class Arch, Finish kFinish, class RowSums>
void finish_rows(int64_t panel, int64_t rows, const float* bias, const LowRank* low_rank,
                 int64_t y_stride, float* y, const RowSums& row_sums) {
  constexpr int64_t kColumns = is_gated(kFinish) ? kPanelColumns / 2 : kPanelColumns;
  const int64_t first = panel * kColumns;
  const int64_t left = y_stride - first;
  if (bias != nullptr) bias += panel * kPanelColumns;
  y += first;
  alignas(64) float adapted[kPanelColumns];
  for (int64_t r = 0; r < rows; ++r, y += y_stride) {
    const float* sums = row_sums(r);
    if (low_rank != nullptr && low_rank[r].rank > 0) {
      add_low_rank<Arch>(low_rank[r], panel, sums, adapted);
      sums = adapted;
    }
    if (left >= kColumns) {
      finish_row<Arch, kFinish>(sums, bias, y);
      continue;
    }
    alignas(64) float row[kColumns] = {};
    if (kFinish == Finish::kAdd) std::memcpy(row, y, left * sizeof(float));
    finish_row<Arch, kFinish>(sums, bias, row);
    std::memcpy(y, row, left * sizeof(float));
  }
}

// Finishes rows [top, top + rows) of the product; y points to the first of them.
template <class Arch, class RowSums>
void finish_rows(const Epilogue& epilogue, int64_t panel, int64_t top, int64_t rows,
                 int64_t y_stride, float* y, const RowSums& row_sums) {
  const LowRank* low_rank = epilogue.low_rank == nullptr ? nullptr : epilogue.low_rank + top;
  const auto run = [&]<Finish kFinish>() {
    finish_rows<Arch, kFinish>(panel, rows, epilogue.bias, low_rank, y_stride, y, row_sums);
  };
  switch (epilogue.finish) {
    case Finish::kStore:
      return run.template operator()<Finish::kStore>();
    case Finish::kAdd:
      return run.template operator()<Finish::kAdd>();
    case Finish::kGelu:
      return run.template operator()<Finish::kGelu>();
    case Finish::kGeglu:
      return run.template operator()<Finish::kGeglu>();
    case Finish::kGegluTanh:
      return run.template operator()<Finish::kGegluTanh>();
    case Finish::kSwiglu:
      return run.template operator()<Finish::kSwiglu>();
  }
}

}  // namespace signalbox::kernels::body
