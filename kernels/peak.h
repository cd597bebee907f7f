#pragma once
// The peak rate of one core, so that a benchmark can report which fraction of it a model reaches.
// It is measured, because no table covers every processor and its clock rate under wide
// instructions.

#include <cstdint>

#include "kernels/kernels.h"

namespace signalbox::kernels {

/// The number format of a product's factors.
enum class Factors : uint8_t { kF32, kI8 };

/// Measures the peak rate in 1e9 operations per second. A multiply-add counts as two operations. It
/// runs on registers with the tier's best instruction for these factors, and takes the best of many
/// short runs on this thread, 30 ms in total. A tier without a byte instruction is measured in
/// single precision; its byte products may then exceed the result slightly.
double measured_peak_gflops(const Table& table, Factors factors);

}  // namespace signalbox::kernels
