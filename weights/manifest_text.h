#pragma once
// The bytes of weights/manifest.yaml as they were when the program was configured.

#include <string_view>

namespace signalbox::weights {

std::string_view manifest_text();

}  // namespace signalbox::weights
