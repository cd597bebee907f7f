// What the tests of the daemon share.

#include "tests/router/net/gateway.h"

#include "base/json.h"

namespace signalbox::test {

std::string error_message(const std::string& body) {
  const auto document = json::Document::parse(body);
  if (!document) return "not JSON: " + body;
  const auto error = document->root().find("error");
  if (!error) return "no error: " + body;
  for (const char* member : {"type", "param", "code"}) {
    if (!error->find(member)) return std::string("no ") + member + ": " + body;
  }
  const auto message = error->find("message");
  return message && message->is_string() ? std::string(message->text()) : "no message: " + body;
}

}  // namespace signalbox::test
