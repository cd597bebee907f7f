// Feeds arbitrary bytes as records of stored responses. A record that is read is written alike, and
// every response can be written and read.

#include <cstdint>
#include <string_view>

#include "router/shared_responses/record.h"

namespace responses = signalbox::shared_responses;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto read = responses::read_record(bytes))
    SIGNALBOX_CHECK(responses::write_record(*read) == bytes);
  const size_t third = size / 3;
  const signalbox::dialects::StoredResponse made{std::string(bytes.substr(0, third)),
                                                 std::string(bytes.substr(third, third)),
                                                 {std::string(bytes.substr(2 * third))},
                                                 std::string()};
  const auto again = responses::read_record(responses::write_record(made));
  SIGNALBOX_CHECK(again && again->owner == made.owner && again->response == made.response &&
                  again->input.kept == made.input.kept && again->messages.empty());
  return 0;
}
