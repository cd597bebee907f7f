#pragma once
// What one core can do at best, so that a benchmark can say which share of it a model reaches. It
// is measured rather than looked up: no table knows every processor and the clock it runs at under
// wide instructions.

#include "kernels/kernels.h"

namespace signalbox::kernels {

/// Floating-point operations a second, in 1e9, of multiply-adds (two operations each) in single
/// precision on registers of the tier's width: the best of many short runs on this thread, 30 ms in
/// all.
double measured_peak_gflops(const Table& table);

}  // namespace signalbox::kernels
