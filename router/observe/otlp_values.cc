// Field numbers come from common.proto and resource.proto.

#include "router/observe/otlp_values.h"

#include <utility>

namespace signalbox::observe {
namespace {

using protobuf::Writer;

Writer any_value(const Span::Value& value) {
  constexpr uint32_t kString = 1, kBool = 2, kInt = 3, kDouble = 4, kArray = 5;
  Writer out;
  if (const auto* text = std::get_if<std::string>(&value)) out.bytes(kString, *text);
  if (const auto* truth = std::get_if<bool>(&value)) out.varint(kBool, *truth ? 1 : 0);
  if (const auto* number = std::get_if<int64_t>(&value))
    out.varint(kInt, static_cast<uint64_t>(*number));
  if (const auto* number = std::get_if<double>(&value)) out.float64(kDouble, *number);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    constexpr uint32_t kValues = 1;
    Writer array;
    for (const std::string& text : *texts) array.message(kValues, Writer().bytes(kString, text));
    out.message(kArray, array);
  }
  return out;
}

}  // namespace

Writer otlp_attribute(std::string_view key, const Span::Value& value) {
  constexpr uint32_t kKey = 1, kValue = 2;
  Writer out;
  out.bytes(kKey, key).message(kValue, any_value(value));
  return out;
}

Writer otlp_resource(const Resource& resource) {
  constexpr uint32_t kAttributes = 1;
  const std::pair<std::string_view, const std::string&> all[] = {
      {"service.name", resource.service_name},
      {"service.instance.id", resource.service_instance},
      {"service.version", resource.service_version},
      {"deployment.environment", resource.deployment_environment},
  };
  Writer out;
  for (const auto& [key, value] : all) {
    if (!value.empty()) out.message(kAttributes, otlp_attribute(key, value));
  }
  return out;
}

Writer otlp_scope() {
  constexpr uint32_t kName = 1;
  Writer out;
  out.bytes(kName, "signalbox");
  return out;
}

}  // namespace signalbox::observe
