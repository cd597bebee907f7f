// Feeds pages, events and specs of arbitrary bytes. A reflector must continue after every input,
// and a spec must be converted to valid YAML.

#include <cstdint>
#include <string>

#include "base/yaml.h"
#include "router/kubernetes/overlay.h"
#include "router/kubernetes/reflector.h"

namespace kubernetes = signalbox::kubernetes;
namespace yaml = signalbox::yaml;

namespace {

void lay_over(const kubernetes::Resource& pool, const kubernetes::Resource& route) {
  const auto text = kubernetes::lay_over("version: v0.3\n", "file", pool.spec, route.spec);
  if (text) SIGNALBOX_CHECK(yaml::parse(*text, "result").has_value());
}

}  // namespace

/// The first line is a page; the others are events.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  kubernetes::Reflector reflector;
  bool is_page = true;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (is_page) {
      reflector.listed(200, line);
    } else if (!reflector.received(line)) {
      reflector.listed(200, R"({"metadata":{"resourceVersion":"1"},"items":[]})");
    }
    is_page = false;
    SIGNALBOX_CHECK(reflector.next(0.5).query.find('\n') == std::string::npos);
    SIGNALBOX_CHECK(reflector.next(0.5).pause.count() <= 30'000);
  }
  for (const auto& [name, resource] : reflector.resources()) lay_over(resource, resource);
  return 0;
}
