// A write first tries the socket at once and waits only for the bytes that the socket did not take.
// A reply nearly always fits, and then costs one system call and no trip through the loop. Under
// TLS the pieces are joined first, because each write becomes a TLS record of its own.

#include "router/http/stream.h"

#include <poll.h>

#include <array>
#include <boost/asio/ssl.hpp>
#include <utility>

namespace signalbox::http {
namespace {

namespace ssl = asio::ssl;

void drop(std::array<std::string_view, 3>& pieces, size_t size) {
  for (auto& piece : pieces) {
    const size_t step = std::min(size, piece.size());
    piece.remove_prefix(step);
    size -= step;
  }
}

bool empty(const std::array<std::string_view, 3>& pieces) {
  return pieces[0].empty() && pieces[1].empty() && pieces[2].empty();
}

std::array<asio::const_buffer, 3> buffers(const std::array<std::string_view, 3>& pieces) {
  return {asio::buffer(pieces[0].data(), pieces[0].size()),
          asio::buffer(pieces[1].data(), pieces[1].size()),
          asio::buffer(pieces[2].data(), pieces[2].size())};
}

constexpr auto kOptions = ssl::context::default_workarounds | ssl::context::no_sslv2 |
                          ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                          ssl::context::no_tlsv1_1;

}  // namespace

struct Tls::Context {
  explicit Context(ssl::context::method method) : ssl(method) {
    ErrorCode ignored;
    ssl.set_options(kOptions, ignored);
    // Renegotiation would let a client make the server do expensive handshakes over and over.
    SSL_CTX_set_options(ssl.native_handle(), SSL_OP_NO_RENEGOTIATION);
    // Without this callback OpenSSL would prompt at the terminal for the password of an encrypted
    // key.
    SSL_CTX_set_default_passwd_cb(ssl.native_handle(), [](char*, int, int, void*) { return -1; });
  }
  mutable ssl::context ssl;  // mutable because OpenSSL counts the connections that use it
};

Tls::Tls(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Tls::~Tls() = default;

Result<std::shared_ptr<const Tls>> Tls::for_server(const std::filesystem::path& certificate,
                                                   const std::filesystem::path& key) {
  auto context = std::make_unique<Context>(ssl::context::tls_server);
  ErrorCode error;
  context->ssl.use_certificate_chain_file(certificate.string(), error);
  if (error) {
    return fail(Code::kInvalid, "{}: cannot read a certificate: {}", certificate.string(),
                error.message());
  }
  context->ssl.use_private_key_file(key.string(), ssl::context::pem, error);
  if (error) {
    return fail(Code::kInvalid, "{}: cannot read the certificate's key: {}", key.string(),
                error.message());
  }
  return std::shared_ptr<const Tls>(new Tls(std::move(context)));
}

Result<std::shared_ptr<const Tls>> Tls::for_client(const std::filesystem::path& authorities,
                                                   bool verifies) {
  auto context = std::make_unique<Context>(ssl::context::tls_client);
  // RFC 7301: offer HTTP/1.1, because a server might choose HTTP/2 otherwise.
  constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context->ssl.native_handle(), kProtocols, sizeof kProtocols - 1);
  ErrorCode error;
  context->ssl.set_verify_mode(verifies ? ssl::verify_peer : ssl::verify_none, error);
  if (authorities.empty()) {
    context->ssl.set_default_verify_paths(error);
  } else {
    context->ssl.load_verify_file(authorities.string(), error);
  }
  if (error) {
    return fail(Code::kInvalid, "{}: cannot read the CA certificates: {}", authorities.string(),
                error.message());
  }
  return std::shared_ptr<const Tls>(new Tls(std::move(context)));
}

struct Stream::Secured {
  Secured(Socket& socket, const Tls& tls) : stream(socket, tls.context_->ssl) {}
  ssl::stream<Socket&> stream;
  std::string joined;  // the joined pieces of a write
};

Stream::Stream(Socket socket) : socket_(std::move(socket)) {}
Stream::~Stream() = default;

Task<ErrorCode> Stream::accept(const Tls& tls) {
  tls_ = std::make_unique<Secured>(socket_, tls);
  const auto [error] = co_await tls_->stream.async_handshake(ssl::stream_base::server, kAwait);
  co_return error;
}

Task<ErrorCode> Stream::connect(const Tls& tls, const std::string& host) {
  tls_ = std::make_unique<Secured>(socket_, tls);
  SSL* const handle = tls_->stream.native_handle();
  ErrorCode address;
  asio::ip::make_address(host, address);
  if (address)
    SSL_set_tlsext_host_name(handle, host.c_str());  // RFC 6066: SNI takes a name, not an address
  ErrorCode error;
  tls_->stream.set_verify_callback(ssl::host_name_verification(host), error);
  if (error) co_return error;
  const auto [failed] = co_await tls_->stream.async_handshake(ssl::stream_base::client, kAwait);
  co_return failed;
}

bool Stream::has_hung_up() {
  pollfd watched{socket_.native_handle(), POLLRDHUP, 0};  // errors and resets are always reported
  return ::poll(&watched, 1, 0) > 0;
}

Task<> Stream::shut_down() {
  if (tls_ != nullptr) co_await tls_->stream.async_shutdown(kAwait);
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

Task<ErrorCode> Stream::write_all(std::string_view first, std::string_view second,
                                  std::string_view third) {
  if (tls_ != nullptr) {
    std::string& joined = tls_->joined;
    joined.assign(first).append(second).append(third);
    for (std::string_view rest = joined; !rest.empty();) {
      const auto buffer = asio::buffer(rest.data(), rest.size());
      const auto [error, size] = co_await tls_->stream.async_write_some(buffer, kAwait);
      if (error) co_return error;
      rest.remove_prefix(size);
    }
    co_return ErrorCode{};
  }
  std::array<std::string_view, 3> pieces{first, second, third};
  ErrorCode now;
  drop(pieces, socket_.write_some(buffers(pieces), now));
  if (now && now != asio::error::would_block) co_return now;
  while (!empty(pieces)) {
    const auto rest = buffers(pieces);
    const auto [error, size] = co_await socket_.async_write_some(rest, kAwait);
    if (error) co_return error;
    drop(pieces, size);
  }
  co_return ErrorCode{};
}

Task<Stream::Read> Stream::read(asio::mutable_buffer into) {
  if (tls_ != nullptr) {
    const auto [error, size] = co_await tls_->stream.async_read_some(into, kAwait);
    co_return Read{error, size};
  }
  const auto [error, size] = co_await socket_.async_read_some(into, kAwait);
  co_return Read{error, size};
}

Stream::Read Stream::read_now(asio::mutable_buffer into) {
  Read out;
  out.size = tls_ != nullptr ? tls_->stream.read_some(into, out.error)
                             : socket_.read_some(into, out.error);
  return out;
}

}  // namespace signalbox::http
