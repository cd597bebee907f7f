// Feeds arbitrary bytes to the verifier of audit logs, whole and in two pieces, which must have the
// same result. A chain of our own with one changed byte must never verify to the same end.

#include <cstdint>
#include <string>

#include "router/audit/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string text(reinterpret_cast<const char*>(data), size);
  audit::ChainReader whole, pieces;
  const auto done = whole.add(text, "log");
  auto again = pieces.add(std::string_view(text).substr(0, size / 2), "log");
  if (again) again = pieces.add(std::string_view(text).substr(size / 2), "log");
  SIGNALBOX_CHECK(done.has_value() == again.has_value());
  if (done) {
    SIGNALBOX_CHECK(whole.result().last.digest == pieces.result().last.digest);
    SIGNALBOX_CHECK(whole.result().torn_bytes == pieces.result().torn_bytes);
  } else {
    SIGNALBOX_CHECK(done.error().message == again.error().message);
    SIGNALBOX_CHECK(done.error().message.size() < 1000);
  }
  std::string chain;
  audit::Link end;
  for (int i = 0; i < 3; ++i) {
    const std::string line = audit::line_of(audit::Entry("change").text("key", text), end, "t");
    end = audit::link_of(line, end.number + 1);
    chain += line + '\n';
  }
  audit::ChainReader own;
  SIGNALBOX_CHECK(own.add(chain, "own") && own.result().last.digest == end.digest);
  if (size == 0) return 0;
  chain[data[0] * size_t{7} % chain.size()] ^= 1;
  audit::ChainReader changed;
  SIGNALBOX_CHECK(!changed.add(chain, "changed") || changed.result().last.digest != end.digest);
  return 0;
}
