#pragma once
// Which kernels run, for who may not know kernels: a word for people.

#include <string_view>

namespace signalbox::engine {

/// The tier of kernels/kernels.h that this process uses: "vnni"; "" where SIGNALBOX_ISA names none
/// that can run. Thread-safe.
std::string_view kernel_tier();

}  // namespace signalbox::engine
