// OpenSSL works between two memory buffers: its output goes to the socket, and bytes from the
// socket become its input. So only the socket needs time limits and writes without SIGPIPE.

#include "router/stores/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::stores {
namespace {

/// The size of a TLS record, and the most that is encrypted before it is sent.
constexpr size_t kPiece = size_t{16} << 10;

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

/// Returns OpenSSL's last error as text and clears it.
std::string reason() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* const text = ERR_reason_error_string(error);
  if (text != nullptr) return text;
  return error == 0 ? "the peer has closed the connection" : fmt::format("error {}", error);
}

// OpenSSL reads the extensions of an authority when it first verifies a certificate of it. This
// does so before threads share the authority, so that they only read it.
void read_extensions(SSL_CTX* context) {
  const auto* const objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    X509* const authority = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
    if (authority != nullptr) X509_check_purpose(authority, -1, 0);
  }
}

// Refuses a key with a password, because OpenSSL would prompt for it at the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

}  // namespace

struct Tls::Context {
  std::unique_ptr<SSL_CTX, FreeContext> ssl{SSL_CTX_new(TLS_client_method())};
};

Tls::Tls(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Tls::~Tls() = default;

Result<std::shared_ptr<const Tls>> Tls::create(const TlsFiles& files) {
  auto context = std::make_unique<Context>();
  SSL_CTX* const ssl = context->ssl.get();
  SIGNALBOX_CHECK(ssl != nullptr);
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_default_passwd_cb(ssl, no_password);
  SSL_CTX_set_verify(ssl, files.verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  ERR_clear_error();
  const std::string authorities = files.authorities.string();
  const bool trusts = authorities.empty() ? SSL_CTX_set_default_verify_paths(ssl) == 1
                                          : SSL_CTX_load_verify_file(ssl, authorities.c_str()) == 1;
  if (!trusts) {
    return fail(Code::kInvalid, "{}: cannot read the CA certificates: {}", authorities, reason());
  }
  read_extensions(ssl);
  const std::string certificate = files.certificate.string(), key = files.key.string();
  if (certificate.empty() != key.empty()) {
    return fail(Code::kInvalid, "{}: a certificate needs its key, and a key its certificate",
                certificate.empty() ? key : certificate);
  }
  if (!certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate.c_str()) != 1)
      return fail(Code::kInvalid, "{}: cannot read a certificate: {}", certificate, reason());
    if (SSL_CTX_use_PrivateKey_file(ssl, key.c_str(), SSL_FILETYPE_PEM) != 1)
      return fail(Code::kInvalid, "{}: cannot read the certificate's key: {}", key, reason());
  }
  return std::shared_ptr<const Tls>(new Tls(std::move(context)));
}

struct TlsSession::State {
  State(std::shared_ptr<const Tls> by, Socket over)
      : tls(std::move(by)), socket(std::move(over)), ssl(SSL_new(tls->context_->ssl.get())) {
    SIGNALBOX_CHECK(ssl != nullptr);
    from_socket = BIO_new(BIO_s_mem());
    to_socket = BIO_new(BIO_s_mem());
    SIGNALBOX_CHECK(from_socket != nullptr && to_socket != nullptr);
    SSL_set_bio(ssl.get(), from_socket, to_socket);  // takes ownership of both
  }

  /// Requires that the server is `host`. A name is also sent to it (RFC 6066).
  bool expect(const std::string& host) const {
    X509_VERIFY_PARAM* const parameters = SSL_get0_param(ssl.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1) return true;
    ERR_clear_error();
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
           SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  }

  Result<void> flush(Until until) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(to_socket, &bytes);
    if (size <= 0) return {};
    SIGNALBOX_TRY_VOID(socket.send({bytes, static_cast<size_t>(size)}, until));
    BIO_reset(to_socket);
    return {};
  }

  /// Returns false if the peer has closed.
  Result<bool> fetch(Until until) {
    std::array<char, kPiece> piece;
    SIGNALBOX_TRY(const size_t size, socket.receive(piece, until));
    if (size == 0) return false;
    SIGNALBOX_CHECK(BIO_write(from_socket, piece.data(), static_cast<int>(size)) ==
                    static_cast<int>(size));
    return true;
  }

  /// Repeats `step`, a call of OpenSSL, and sends and receives in between what OpenSSL needs.
  /// Returns the result of `step`; 0: the peer has closed.
  template <class Step>
  Result<int> run(const Step& step, Until until) {
    for (;;) {
      ERR_clear_error();
      const int result = step();
      const int error = SSL_get_error(ssl.get(), result);
      // Flush first: the output may contain an alert that explains the error.
      Result<void> sent = flush(until);
      if (result <= 0 && error == SSL_ERROR_ZERO_RETURN) return 0;
      if (result <= 0 && error != SSL_ERROR_WANT_READ) return fail(Code::kIo, "{}", why());
      if (!sent) return tl::unexpected(explain_send_error(std::move(sent).error()));
      if (result > 0) return result;
      SIGNALBOX_TRY(const bool is_open, fetch(until));
      if (!is_open) return 0;
    }
  }

  /// A peer that refuses our certificate sends an alert and closes. A write may notice the close
  /// first, so look for the alert.
  Error explain_send_error(Error error) {
    const auto fetched = fetch(Until::clock::now());
    if (!fetched || !*fetched) return error;
    char byte = 0;
    ERR_clear_error();
    const int read = SSL_peek(ssl.get(), &byte, 1);
    if (SSL_get_error(ssl.get(), read) == SSL_ERROR_SSL) error.message = why();
    return error;
  }

  std::string why() const {
    const long verdict = SSL_get_verify_result(ssl.get());
    std::string text = reason();
    if (verdict == X509_V_OK || SSL_get_verify_mode(ssl.get()) == SSL_VERIFY_NONE) return text;
    return fmt::format("{}: {}", text, X509_verify_cert_error_string(verdict));
  }

  const std::shared_ptr<const Tls> tls;
  Socket socket;
  const std::unique_ptr<SSL, FreeSsl> ssl;
  BIO* from_socket = nullptr;
  BIO* to_socket = nullptr;
};

TlsSession::TlsSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsSession::~TlsSession() = default;

Result<std::unique_ptr<TlsSession>> TlsSession::begin(std::shared_ptr<const Tls> tls, Socket socket,
                                                      const std::string& host, Until until) {
  auto state = std::make_unique<State>(std::move(tls), std::move(socket));
  SSL* const ssl = state->ssl.get();
  if (!state->expect(host))
    return fail(Code::kIo, "the TLS handshake failed: {}: {}", host, reason());
  const auto handshake = state->run([ssl] { return SSL_connect(ssl); }, until);
  if (!handshake) return fail_in("the TLS handshake failed", handshake.error());
  if (*handshake == 0)
    return fail(Code::kIo, "the TLS handshake failed: the peer has closed the connection");
  return std::unique_ptr<TlsSession>(new TlsSession(std::move(state)));
}

Result<void> TlsSession::send(std::string_view bytes, Until until) {
  SSL* const ssl = state_->ssl.get();
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    const auto write = [&] { return SSL_write(ssl, piece.data(), static_cast<int>(piece.size())); };
    SIGNALBOX_TRY(const int written, state_->run(write, until));
    if (written == 0) return fail(Code::kIo, "the peer has closed the connection");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<size_t> TlsSession::receive(std::span<char> into, Until until) {
  SSL* const ssl = state_->ssl.get();
  const auto read = [&] {
    return SSL_read(ssl, into.data(), static_cast<int>(std::min(into.size(), kPiece)));
  };
  SIGNALBOX_TRY(const int size, state_->run(read, until));
  return static_cast<size_t>(size);
}

}  // namespace signalbox::stores
