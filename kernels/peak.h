#pragma once
// What one core can do at best, so that a benchmark can say which share of it a model reaches. It
// is measured rather than looked up: no table knows every processor and the clock it runs at under
// wide instructions.

#include <cstdint>

#include "kernels/kernels.h"

namespace signalbox::kernels {

/// The factors of a product.
enum class Factors : uint8_t { kF32, kI8 };

/// Operations a second, in 1e9, of multiply-adds (two operations each) on registers with the best
/// instruction the tier has for these factors: the best of many short runs on this thread, 30 ms in
/// all. A tier without one for bytes is measured in single precision, which
/// bytes may then exceed a little.
double measured_peak_gflops(const Table& table, Factors factors);

}  // namespace signalbox::kernels
