#pragma once
// A document's tree out of JSON and as JSON: clients may write and read either.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/yaml.h"

namespace signalbox::config {

/// All on line 1, since lines of JSON are no place that people look at. kInvalid for a key that is
/// given twice; `name` goes in front.
Result<yaml::Node> from_json(const json::Value& value, std::string_view name);

/// Plain words of YAML that JSON has a type for become that; all others are strings.
std::string json_of(const yaml::Node& node);

}  // namespace signalbox::config
