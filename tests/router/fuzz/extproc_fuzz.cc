// Feeds arbitrary bytes as a ProcessingRequest, and applies header mutations.

#include <cstdint>
#include <cstdlib>

#include "router/extproc/mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto message = extproc::read_message({reinterpret_cast<const char*>(data), size});
  if (!message) return 0;
  // A written response is not a request, but it is a message.
  const extproc::Continuation continuation{
      .part = message->part,
      .headers = extproc::difference(message->headers, http::Headers()),
      .body = std::string_view(message->body),
      .streams = message->last,
      .ends = message->observes,
      .response_mode = message->response_mode,
  };
  if (extproc::write(continuation).empty()) std::abort();
  const extproc::Mutation none = extproc::difference(message->headers, message->headers);
  if (!none.set.empty() || !none.removed.empty()) std::abort();
  return 0;
}
