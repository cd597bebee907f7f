#pragma once
// openapi.yaml, compiled in.

#include <string_view>

namespace signalbox::api {

std::string_view openapi_text();

}  // namespace signalbox::api
