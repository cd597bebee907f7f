// The adapter to Beast's inflate, which reads deflate without a frame. The checksum behind the data
// is not compared: TCP has one, too, and a body that was cut has no end.

#include "router/upstream/decoded_reply.h"

#include <algorithm>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <string>
#include <utility>

#include "base/ascii.h"

namespace signalbox::upstream {
namespace {

namespace zlib = boost::beast::zlib;

constexpr size_t kFrameBytesMax = size_t{64} << 10;  // its name and comment have no limit

bool is_any_of(std::string_view encoding, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names,
                             [&](std::string_view name) { return ascii::iequals(encoding, name); });
}

/// Returns how many bytes come before the data; 0 if `bytes` is too short to know.
size_t gzip_frame(std::string_view bytes) {
  constexpr size_t kFixed = 10;
  constexpr unsigned kChecksum = 2, kExtra = 4, kName = 8, kComment = 16;
  if (bytes.size() < kFixed) return 0;
  const auto flags = static_cast<unsigned char>(bytes[3]);
  size_t at = kFixed;
  if ((flags & kExtra) != 0) {
    if (bytes.size() < at + 2) return 0;
    at += 2 + static_cast<unsigned char>(bytes[at]) +
          (size_t{static_cast<unsigned char>(bytes[at + 1])} << 8);
  }
  for (const unsigned text : {kName, kComment}) {
    if ((flags & text) == 0) continue;
    const size_t end = bytes.find('\0', at);
    if (end == std::string_view::npos) return 0;
    at = end + 1;
  }
  if ((flags & kChecksum) != 0) at += 2;
  return bytes.size() < at ? 0 : at;
}

/// Some servers leave out the frame of "deflate".
size_t deflate_frame(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  const auto second = static_cast<unsigned char>(bytes[1]);
  return (first & 0x0F) == 8 && (first * 256 + second) % 31 == 0 ? 2 : 0;
}

class DecodedReply final : public UpstreamReply {
 public:
  DecodedReply(std::unique_ptr<UpstreamReply> reply, bool gzip)
      : reply_(std::move(reply)), is_gzip_(gzip) {
    head_.status = reply_->head().status;
    const http::Headers& fields = reply_->head().headers;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!is_any_of(fields[i].name, {"content-encoding", "content-length"}))
        head_.headers.add(fields, i);
    }
  }

  const http::Response& head() const override { return head_; }
  bool ready() const override { return has_more(); }
  void nudge() override { reply_->nudge(); }

  http::Task<Result<Piece>> next() override {
    for (;;) {
      if (!has_more() && !was_last_) {
        const Result<Piece> piece = co_await reply_->next();
        if (!piece || (piece->bytes.empty() && !piece->last)) co_return piece;
        in_ = piece->bytes;
        was_last_ = piece->last;
      }
      Result<void> taken = take();
      if (!taken) co_return tl::unexpected<Error>(std::move(taken).error());
      const bool is_last = was_last_ && !has_more();
      if (is_last && !has_ended_ && !frame_.empty())
        co_return fail(Code::kUpstream, "the compressed reply ends before its data");
      if (is_last || !out_.empty()) co_return Piece{out_, is_last};
    }
  }

 private:
  // The inflater may hold back what had no room.
  bool has_more() const { return !in_.empty() || out_.size() == kDecodedBytes; }

  // Reads the bytes before the data.
  Result<void> open() {
    if (is_open_) return {};
    frame_ += in_;
    in_ = {};
    if (frame_.size() < 2) return {};
    const size_t size = is_gzip_ ? gzip_frame(frame_) : deflate_frame(frame_);
    const bool waits = is_gzip_ && size == 0;
    if (is_gzip_ && (!frame_.starts_with("\x1F\x8B") || (waits && frame_.size() > kFrameBytesMax)))
      return fail(Code::kUpstream, "the compressed reply is not in the form of gzip");
    if (waits) return {};
    is_open_ = true;
    in_ = std::string_view(frame_).substr(size);
    return {};
  }

  // A second file in one body is possible, and no server is known that sends it.
  Result<void> skip_checksum() {
    const size_t skipped = std::min(checksum_, in_.size());
    checksum_ -= skipped;
    in_.remove_prefix(skipped);
    if (is_gzip_ && !in_.empty())
      return fail(Code::kUpstream, "the compressed reply goes on behind the end of its data");
    in_ = {};
    return {};
  }

  // Takes bytes until `out_` is full.
  Result<void> take() {
    SIGNALBOX_TRY_VOID(open());
    if (!is_open_ || has_ended_ || !has_more()) {
      out_.clear();
      return has_ended_ ? skip_checksum() : Result<void>{};
    }
    out_.resize(kDecodedBytes);
    zlib::z_params params;
    params.next_in = in_.data();
    params.avail_in = in_.size();
    params.next_out = out_.data();
    params.avail_out = out_.size();
    boost::beast::error_code error;
    inflater_.write(params, zlib::Flush::sync, error);
    in_.remove_prefix(in_.size() - params.avail_in);
    out_.resize(out_.size() - params.avail_out);
    has_ended_ = error == zlib::error::end_of_stream;
    if (!error || has_ended_ || error == zlib::error::need_buffers) return {};
    return fail(Code::kUpstream, "the compressed reply is damaged: {}", error.message());
  }

  const std::unique_ptr<UpstreamReply> reply_;
  const bool is_gzip_;
  http::Response head_;
  zlib::inflate_stream inflater_;
  std::string frame_;    // the bytes that came until the data began
  std::string_view in_;  // not taken yet
  size_t checksum_ = 8;  // the bytes of it and of the length that may still come
  std::string out_;
  bool is_open_ = false, has_ended_ = false, was_last_ = false;
};

}  // namespace

std::unique_ptr<UpstreamReply> decoded(std::unique_ptr<UpstreamReply> reply) {
  const auto encoding = reply->head().headers.find("content-encoding");
  if (!encoding || !is_any_of(*encoding, {"gzip", "x-gzip", "deflate"})) return reply;
  const bool is_gzip = !ascii::iequals(*encoding, "deflate");
  return std::make_unique<DecodedReply>(std::move(reply), is_gzip);
}

Result<void> check_encoding(const http::Headers& headers, std::string_view consequence) {
  const auto encoding = headers.find("content-encoding");
  if (!encoding || ascii::iequals(*encoding, "identity")) return {};
  return fail(Code::kUpstream, "the reply has the header Content-Encoding: {}, so {}", *encoding,
              consequence);
}

}  // namespace signalbox::upstream
