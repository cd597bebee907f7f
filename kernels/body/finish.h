#pragma once
// What becomes of the sums of a panel before they are written: bias, activation, gate or residual
// (Finish in kernels.h). Works on a row of 64 columns at a time, while it is in the first-level
// cache.

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
  constexpr int64_t kColumns = kFinish == Finish::kGeglu ? kGate : kPanelColumns;
  for (int64_t c = 0; c < kColumns; c += kLanes<Arch>) {
    Batch<Arch> value = with_bias(c);
    if constexpr (kFinish == Finish::kAdd) value += Batch<Arch>::load_unaligned(y + c);
    if constexpr (kFinish == Finish::kGelu) value = gelu_of<Arch>(value);
    if constexpr (kFinish == Finish::kGeglu) value = gelu_of<Arch>(value) * with_bias(c + kGate);
    value.store_unaligned(y + c);
  }
}

// Rows of one panel; row_sums(r) gives the 64 sums of row r. A panel that reaches past the last
// column goes through a row of its own.
template <class Arch, Finish kFinish, class RowSums>
void finish_rows(int64_t panel, int64_t rows, const float* bias, int64_t y_stride, float* y,
                 const RowSums& row_sums) {
  constexpr int64_t kColumns = kFinish == Finish::kGeglu ? kPanelColumns / 2 : kPanelColumns;
  const int64_t first = panel * kColumns;
  const int64_t left = y_stride - first;
  if (bias != nullptr) bias += panel * kPanelColumns;
  y += first;
  for (int64_t r = 0; r < rows; ++r, y += y_stride) {
    if (left >= kColumns) {
      finish_row<Arch, kFinish>(row_sums(r), bias, y);
      continue;
    }
    alignas(64) float row[kColumns] = {};
    if (kFinish == Finish::kAdd) std::memcpy(row, y, left * sizeof(float));
    finish_row<Arch, kFinish>(row_sums(r), bias, row);
    std::memcpy(y, row, left * sizeof(float));
  }
}

template <class Arch, class RowSums>
void finish_rows(const Epilogue& epilogue, int64_t panel, int64_t rows, int64_t y_stride, float* y,
                 const RowSums& row_sums) {
  const auto run = [&]<Finish kFinish>() {
    finish_rows<Arch, kFinish>(panel, rows, epilogue.bias, y_stride, y, row_sums);
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
  }
}

}  // namespace signalbox::kernels::body
