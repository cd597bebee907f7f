// The size is bounded, because no client takes the bytes in the meantime.

#include "router/upstream/whole.h"

#include <algorithm>

namespace signalbox::upstream {

http::Task<Result<std::string>> read_whole(UpstreamReply& reply, size_t bytes_max) {
  std::string body;
  if (const auto length = reply.head().content_length)
    body.reserve(std::min<uint64_t>(*length, bytes_max));
  for (bool last = false; !last;) {
    const Result<Piece> piece = co_await reply.next();
    if (!piece) co_return tl::unexpected<Error>(piece.error());
    if (body.size() + piece->bytes.size() > bytes_max)
      co_return fail(Code::kUpstream, "the reply is longer than {} bytes", bytes_max);
    body += piece->bytes;
    last = piece->last;
  }
  co_return body;
}

}  // namespace signalbox::upstream
