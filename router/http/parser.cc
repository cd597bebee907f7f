// The adapter to Boost.Beast's basic_parser. Its callbacks fill our own values, which avoids
// Beast's field container and a second pass over every header. They also refuse requests that Beast
// accepts but a proxy must not.

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>

#include "base/ascii.h"
#include "router/http/message.h"

namespace signalbox::http {
namespace {

namespace beast = boost::beast;
using beast::http::field;
using BeastError = boost::beast::error_code;
using beast::http::error;

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The longest size line of a chunk with its extensions, and the longest trailer.
constexpr size_t kChunkLineMax = 8 << 10;
constexpr size_t kFieldMore = 4;    // the colon, the space and the line end of a field
constexpr size_t kTrailerMore = 6;  // the line ends around a trailer
/// The most memory that is reserved for a body before as many of its bytes have arrived.
constexpr uint64_t kReserveMax = 1 << 20;

/// Returns whether a header has a line that begins with white space and continues the one before
/// (RFC 9112 section 5.2). Beast joins them; other proxies may read them differently.
bool is_folded(std::string_view header) {
  return header.find("\n ") != std::string_view::npos ||
         header.find("\n\t") != std::string_view::npos;
}

template <bool kIsRequest>
class Base : public beast::http::basic_parser<kIsRequest> {
 public:
  Base(std::string& body, uint32_t header_max) : body_(body), header_max_(header_max) {
    this->eager(false);
    this->header_limit(header_max);
  }

  /// Returns the number of bytes used. `failed` stays clear if the parser only needs more bytes.
  size_t take(std::string_view bytes, BeastError& failed) {
    const bool in_header = !this->is_header_done();
    size_t used = 0;
    failed = {};
    while (!this->is_done()) {
      const bool header = !this->is_header_done();
      const std::string_view rest = bytes.substr(used);
      is_chunk_line_ = false;
      size_t taken = this->put(boost::asio::const_buffer(rest.data(), rest.size()), failed);
      if (failed == error::bad_version) taken = put_as_known_version(rest, failed);
      used += taken;
      if (failed == error::need_more) {
        failed = {};
        if (!header) failed = fault_in(rest.substr(taken));
        break;
      }
      if (is_chunk_line_ && !failed) failed = fault_in(rest.substr(0, taken));
      if (failed || (header && this->is_header_done())) break;
      if (used == bytes.size()) break;
    }
    // Beast limits the first line and the fields separately.
    if (in_header && (header_bytes_ += used) > header_max_ && !failed) {
      is_header_long_ = true;
      failed = error::header_limit;
    }
    return used;
  }

 protected:
  /// For error::header_limit: the part that is too long, and its limit.
  std::string too_long() const {
    const bool in_trailer = this->is_header_done() && !is_header_long_;
    return fmt::format("{} is longer than {} bytes", in_trailer ? "trailer" : "header",
                       in_trailer ? kChunkLineMax : header_max_);
  }

  /// Trailers arrive like headers and are dropped: a field that routes or authenticates must not
  /// come after the body.
  bool in_trailer() { return this->is_header_done(); }
  void take_trailer(size_t bytes, BeastError& failed) {
    if ((trailer_bytes_ += bytes) > kChunkLineMax) failed = error::header_limit;
  }

  void on_body_init_impl(const boost::optional<uint64_t>& length, BeastError&) override {
    if (!kIsRequest || !length) return;
    length_ = *length;
    body_.reserve(std::min(length_, kReserveMax));
  }
  size_t on_body_impl(beast::string_view bytes, BeastError&) override {
    // Doubling a large body again and again would hold the event loop for as long as it is large.
    if (body_.size() + bytes.size() > kReserveMax && length_ > body_.capacity())
      body_.reserve(length_);
    body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(uint64_t, beast::string_view, BeastError&) override {
    is_chunk_line_ = true;
  }
  size_t on_chunk_body_impl(uint64_t, beast::string_view bytes, BeastError&) override {
    body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(BeastError&) override {}

  std::string& body_;

 private:
  /// Reads a message with a higher minor version of HTTP/1 as HTTP/1.1 (RFC 9110 section 2.5).
  size_t put_as_known_version(std::string_view bytes, BeastError& failed) {
    constexpr std::string_view kMajor = "HTTP/1.";
    const size_t line = std::min(bytes.find('\r'), bytes.size());
    const size_t minor = kIsRequest ? line - 1 : kMajor.size();
    if (line <= kMajor.size() || bytes[minor] < '2' || bytes[minor] > '9' ||
        bytes.substr(minor - kMajor.size(), kMajor.size()) != kMajor)
      return 0;
    std::string known(bytes);
    known[minor] = '1';
    return this->put(boost::asio::const_buffer(known.data(), known.size()), failed);
  }

  /// Checks a size line. The last one is followed by the trailer, whose end may be missing.
  static BeastError fault_in(std::string_view line) {
    if (line.empty()) return {};
    const size_t end = line.find("\r\n", 1);  // a line end of the chunk before may come first
    if (std::min(end, line.size() - 1) > kChunkLineMax) return error::bad_chunk_extension;
    const size_t more = end == std::string_view::npos ? 0 : line.size() - end;
    if (more > kChunkLineMax + kTrailerMore) return error::header_limit;
    return kIsRequest && is_folded(line) ? error::bad_obs_fold : BeastError{};
  }

  bool is_chunk_line_ = false;
  uint64_t length_ = 0;  // of a request's body; 0: unknown
  const uint32_t header_max_;
  size_t header_bytes_ = 0;
  bool is_header_long_ = false;
  size_t trailer_bytes_ = 0;
};

/// Returns whether a text has the form of a host with an optional port (RFC 9110 section 7.2). It
/// checks the characters alone: not the digits behind a %, nor whether brackets hold an address. A
/// host must not be empty in an http URI.
bool is_host(std::string_view text) {
  const bool is_address = text.starts_with('[');
  const size_t end = std::min(text.find(is_address ? ']' : ':'), text.size());
  const std::string_view host = text.substr(is_address ? 1 : 0, end - (is_address ? 1 : 0));
  std::string_view port = text.substr(end);
  if (is_address) {
    if (port.empty()) return false;
    port.remove_prefix(1);
  }
  const std::string_view marks = is_address ? ":." : "-._~!$&'()*+,;=%";
  const auto is_in_host = [marks](char c) {
    return ascii::is_alnum(c) || marks.find(c) != std::string_view::npos;
  };
  const auto is_digit = [](char c) { return ascii::is_digit(c); };
  if (host.empty() || !std::all_of(host.begin(), host.end(), is_in_host)) return false;
  return port.empty() ||
         (port.front() == ':' && std::all_of(port.begin() + 1, port.end(), is_digit));
}

}  // namespace

// --- requests ---

class RequestParser::Impl : public Base<true> {
 public:
  Impl(Request& into, uint32_t header_bytes_max, uint64_t body_bytes_max)
      : Base(into.body, header_bytes_max), into_(into), body_max_(body_bytes_max) {
    body_limit(body_bytes_max);
  }

  tl::expected<size_t, Refusal> feed(std::string_view bytes) {
    BeastError failed;
    size_t blank = 0;
    // RFC 9112 section 2.2: an empty line before the request line is left over from the previous
    // request.
    if (!begun_) {
      while (bytes.substr(blank, 2) == "\r\n") blank += 2;
      if (blank == bytes.size() || bytes.substr(blank) == "\r") return blank;
      begun_ = true;
    }
    const bool header = !is_header_done();
    const size_t used = take(bytes.substr(blank), failed);
    if (refused_) return tl::unexpected<Refusal>(std::move(*refused_));
    if (header && is_folded(bytes.substr(blank, used)))
      return tl::unexpected<Refusal>({400, "the request header has a folded line"});
    if (failed) return tl::unexpected<Refusal>(refusal(failed));
    return blank + used;
  }

  bool expects_continue() const { return expects_continue_; }

 private:
  void refuse(int status, std::string message, BeastError& failed) {
    refused_ = Refusal{status, std::move(message)};
    failed = error::bad_value;
  }

  Refusal refusal(const BeastError& failed) const {
    if (failed == error::header_limit) return {431, "the request " + too_long()};
    if (failed == error::body_limit) {
      return {413, fmt::format("the request body is longer than {} bytes", body_max_)};
    }
    if (failed == error::bad_obs_fold) return {400, "the request trailer has a folded line"};
    if (failed == error::bad_version) return {400, "expected HTTP/1.1 or HTTP/1.0"};
    return {400, fmt::format("the request is not well-formed HTTP/1.1: {}", failed.message())};
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, BeastError& failed) override {
    into_.method = view(method);
    into_.version = version;
    std::string_view path = view(target);
    for (std::string_view scheme : {"http://", "https://"}) {
      if (!ascii::iequals(path.substr(0, scheme.size()), scheme)) continue;
      const size_t slash = path.find_first_of("/?", scheme.size());
      path = slash == std::string_view::npos ? "/" : path.substr(slash);
    }
    const bool asterisk = path == "*" && into_.method == "OPTIONS";
    if (!asterisk && !path.starts_with('/')) {
      return refuse(400, "the request target must be a path", failed);
    }
    into_.target = path;
  }

  void on_response_impl(int, beast::string_view, int, BeastError&) override {}

  void on_field_impl(field name, beast::string_view text, beast::string_view value,
                     BeastError& failed) override {
    if (in_trailer()) return take_trailer(text.size() + value.size() + kFieldMore, failed);
    switch (name) {
      case field::host:
        if (++hosts_ > 1) return refuse(400, "the request has more than one Host header", failed);
        if (!is_host(view(value)))
          return refuse(400, "the Host header must be a host and an optional port", failed);
        break;
      case field::content_length:
        if (++lengths_ > 1 || view(value).find(',') != std::string_view::npos) {
          return refuse(400, "the request has more than one Content-Length", failed);
        }
        break;
      case field::transfer_encoding:
        if (into_.version < 11) return refuse(400, "HTTP/1.0 has no Transfer-Encoding", failed);
        if (!ascii::iequals(view(value), "chunked")) {
          return refuse(501, "the only supported Transfer-Encoding is chunked", failed);
        }
        break;
      case field::expect:
        if (!ascii::iequals(view(value), "100-continue")) {
          return refuse(417, "the only supported expectation is 100-continue", failed);
        }
        expects_continue_ = into_.version >= 11;
        break;
      default:
        break;
    }
    into_.headers.add(view(text), view(value));
  }

  void on_header_impl(BeastError& failed) override {
    if (into_.version >= 11 && hosts_ == 0) refuse(400, "the request has no Host header", failed);
  }

  Request& into_;
  const uint64_t body_max_;
  bool begun_ = false;
  int hosts_ = 0;
  int lengths_ = 0;
  bool expects_continue_ = false;
  std::optional<Refusal> refused_;
};

RequestParser::RequestParser(Request& into, uint32_t header_bytes_max, uint64_t body_bytes_max)
    : impl_(std::make_unique<Impl>(into, header_bytes_max, body_bytes_max)) {}
RequestParser::~RequestParser() = default;
tl::expected<size_t, Refusal> RequestParser::feed(std::string_view bytes) {
  return impl_->feed(bytes);
}
bool RequestParser::header_done() const {
  return impl_->is_header_done();
}
bool RequestParser::done() const {
  return impl_->is_done();
}
bool RequestParser::keep_alive() const {
  return impl_->keep_alive();
}
bool RequestParser::expects_continue() const {
  return impl_->expects_continue();
}

// --- responses ---

class ResponseParser::Impl : public Base<false> {
 public:
  Impl(Response& into, uint32_t header_bytes_max) : Base(into.body, header_bytes_max), into_(into) {
    body_limit(boost::none);
  }

  Result<size_t> feed(std::string_view bytes) {
    BeastError failed;
    const size_t used = take(bytes, failed);
    if (!failed) return used;
    if (failed == error::header_limit) return fail(Code::kUpstream, "its reply {}", too_long());
    return fail(Code::kUpstream, "its reply is not well-formed HTTP/1.1: {}", failed.message());
  }

  Result<void> end() {
    if (is_done()) return {};
    if (!got_some()) return fail(Code::kUpstream, "it closed the connection without a reply");
    BeastError failed;
    put_eof(failed);
    if (!failed) return {};
    return fail(Code::kUpstream, "it closed the connection in the middle of its {}",
                is_header_done() ? "reply" : "reply header");
  }

  // RFC 9112 section 6.1: close, because HTTP/1.0 does not define chunks, so their end is
  // uncertain.
  bool keep_alive() const { return Base::keep_alive() && !(is_old_ && chunked()); }

 private:
  void on_request_impl(beast::http::verb, beast::string_view, beast::string_view, int,
                       BeastError&) override {}
  void on_response_impl(int status, beast::string_view, int version, BeastError& failed) override {
    is_old_ = version < 11;
    // RFC 9110 section 15 defines no status outside 100 to 599, and a client could not interpret
    // one.
    if (status < 100 || status > 599) {
      failed = error::bad_status;
      return;
    }
    into_.status = status;
  }
  void on_field_impl(field name, beast::string_view text, beast::string_view value,
                     BeastError& failed) override {
    if (in_trailer()) return take_trailer(text.size() + value.size() + kFieldMore, failed);
    if (name == field::transfer_encoding && !ascii::iequals(view(value), "chunked")) {
      failed = error::bad_transfer_encoding;
      return;
    }
    into_.headers.add(view(text), view(value));
  }
  void on_header_impl(BeastError&) override {
    if (const auto length = content_length()) into_.content_length = *length;
  }

  Response& into_;
  bool is_old_ = false;  // HTTP/1.0
};

ResponseParser::ResponseParser(Response& into, uint32_t header_bytes_max)
    : impl_(std::make_unique<Impl>(into, header_bytes_max)) {}
ResponseParser::~ResponseParser() = default;
Result<size_t> ResponseParser::feed(std::string_view bytes) {
  return impl_->feed(bytes);
}
Result<void> ResponseParser::end() {
  return impl_->end();
}
bool ResponseParser::started() const {
  return impl_->got_some();
}
bool ResponseParser::header_done() const {
  return impl_->is_header_done();
}
bool ResponseParser::done() const {
  return impl_->is_done();
}
bool ResponseParser::keep_alive() const {
  return impl_->keep_alive();
}

}  // namespace signalbox::http
