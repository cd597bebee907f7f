#pragma once
// openapi.yaml, compiled into the program.

#include <string_view>

namespace signalbox::admin {

std::string_view openapi_text();

}  // namespace signalbox::admin
