#pragma once
// The contents of weights/manifest.yaml when the program was configured.

#include <string_view>

namespace signalbox::weights {

std::string_view manifest_text();

}  // namespace signalbox::weights
