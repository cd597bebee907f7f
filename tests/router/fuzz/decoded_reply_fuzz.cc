// A server's bytes as gzip or deflate. However they are cut, the body is the same, and no piece of
// it is beyond the limit.

#include <boost/asio/co_spawn.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "router/http/io.h"
#include "router/upstream/decoded_reply.h"

namespace signalbox::decoded_reply_inputs {

constexpr size_t kBodyMax = size_t{4} << 20;

/// A reply whose body comes in pieces of `size` bytes.
class Pieces final : public upstream::UpstreamReply {
 public:
  Pieces(std::string_view body, size_t size, std::string_view encoding) : rest_(body), size_(size) {
    head_.status = 200;
    head_.headers.add("Content-Encoding", encoding);
  }
  const http::Response& head() const override { return head_; }
  bool ready() const override { return true; }
  http::Task<Result<upstream::Piece>> next() override {
    const std::string_view piece = rest_.substr(0, size_);
    rest_.remove_prefix(piece.size());
    co_return upstream::Piece{piece, rest_.empty()};
  }

 private:
  http::Response head_;
  std::string_view rest_;
  const size_t size_;
};

/// The body; "" after an error, or if it is too long.
http::Task<std::string> read(upstream::UpstreamReply& reply) {
  std::string out;
  for (bool is_last = false; !is_last;) {
    const Result<upstream::Piece> piece = co_await reply.next();
    if (!piece || out.size() > kBodyMax) co_return std::string();
    SIGNALBOX_CHECK(piece->bytes.size() <= upstream::kDecodedBytes);
    out += piece->bytes;
    is_last = piece->last;
  }
  co_return out;
}

std::string decode(std::string_view body, size_t size, bool gzip) {
  const auto reply = upstream::decoded(
      std::make_unique<Pieces>(body, size, gzip ? std::string_view("gzip") : "deflate"));
  http::asio::io_context loop{1};
  std::optional<std::string> out;
  auto ended = [&out](std::exception_ptr thrown, std::string text) {
    SIGNALBOX_CHECK(!thrown);
    out = std::move(text);
  };
  http::asio::co_spawn(loop, read(*reply), ended);
  loop.run();
  SIGNALBOX_CHECK(out);
  return *std::move(out);
}

}  // namespace signalbox::decoded_reply_inputs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = signalbox::decoded_reply_inputs;
  if (size == 0) return 0;
  const bool gzip = (data[0] & 1) != 0;
  const size_t piece = (data[0] >> 1) + 1;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  SIGNALBOX_CHECK(fuzz::decode(body, piece, gzip) == fuzz::decode(body, size, gzip));
  return 0;
}
