#pragma once
// Reports the kernels in use, as text, to code that must not depend on kernels/.

#include <string_view>

namespace signalbox::engine {

/// Returns the tier of kernels/kernels.h that this process uses, such as "vnni". Empty if
/// SIGNALBOX_ISA names an unusable one. Thread-safe.
std::string_view kernel_tier();

}  // namespace signalbox::engine
