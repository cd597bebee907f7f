// Feeds arbitrary requests that refer to contexts. The resolved request must be JSON, must have the
// contexts in front of its messages and no references, and must otherwise be unchanged.

#include <cstdint>

#include "base/error.h"
#include "router/contexts/refs.h"

namespace contexts = signalbox::contexts;
namespace json = signalbox::json;

namespace {

size_t size_of(const json::Value& list) {
  size_t count = 0;
  for (auto item = list.items().begin(); item != list.items().end(); ++item) ++count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto request = json::Document::parse({reinterpret_cast<const char*>(data), size});
  if (!request || !request->root().is_object()) return 0;
  const json::Value root = request->root();
  const auto messages = root.find("messages");
  if (!messages || !messages->is_array() || root.count("messages") != 1) return 0;
  const auto ids = contexts::read_refs(*request, 3);
  if (!ids || !contexts::has_refs(*request)) return 0;
  const auto content = std::make_shared<const std::string>(R"({"a":1},{"b":2})");
  const std::vector<std::shared_ptr<const std::string>> contents(ids->size(), content);
  const auto body = contexts::expand(*request, contents, 2 * size + 100);
  SIGNALBOX_CHECK(body.has_value());
  const auto expanded = json::Document::parse(*body);
  SIGNALBOX_CHECK(expanded && !contexts::has_refs(*expanded));
  SIGNALBOX_CHECK(size_of(*expanded->root().find("messages")) ==
                  size_of(*messages) + 2 * contents.size());
  const std::string_view own = messages->raw().substr(1);
  SIGNALBOX_CHECK(expanded->root().find("messages")->raw().ends_with(own));
  return 0;
}
