// Uses the generic stub, which handles messages as bytes. Its blocking form is internal to gRPC, so
// a call waits for the callback of the other one.

#include "router/rpc/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdlib>
#include <future>
#include <utility>

#include "base/ascii.h"
#include "base/file.h"
#include "router/rpc/log.h"

namespace signalbox::rpc {
namespace {

constexpr size_t kPemBytesMax = size_t{1} << 20;
constexpr int kReplyBytesMax = 64 << 10;
/// gRPC's own limit of two minutes would leave a server alone long after it has come back.
constexpr int kReconnectMsMax = 5'000;
/// Accepts replies that are not compressed: the limit above applies to the bytes that arrive.
constexpr int kIdentityOnly = 1 << GRPC_COMPRESS_NONE;

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials(const Server& server) {
  if (!server.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  if (!server.tls_ca_path.empty()) {
    SIGNALBOX_TRY(options.pem_root_certs, read_file(server.tls_ca_path, kPemBytesMax));
  }
  return grpc::SslCredentials(options);
}

std::string text_of(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.Valid() || !buffer.DumpToSingleSlice(&slice).ok()) return {};
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

}  // namespace

void use_system_resolver() {
  ::setenv("GRPC_DNS_RESOLVER", "native", 0);
}

struct Client::Impl {
  std::map<std::string, std::string> metadata;
  std::unique_ptr<grpc::GenericStub> stub;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::create(Server server) {
  SIGNALBOX_TRY(const auto trusted, credentials(server));
  forward_log();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReplyBytesMax);
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, kIdentityOnly);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMsMax);
  // Like the connections of the HTTP client, these go to the server itself and not through a proxy.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  const bool v6 = server.host.find(':') != std::string::npos;
  const std::string target = v6 ? fmt::format("dns:///[{}]:{}", server.host, server.port)
                                : fmt::format("dns:///{}:{}", server.host, server.port);
  auto impl = std::make_unique<Impl>();
  // Names of metadata have no capital letters in HTTP/2.
  for (const auto& [name, value] : server.metadata)
    impl->metadata.emplace(ascii::lower_case(name), value);
  impl->stub =
      std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(target, trusted, arguments));
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Reply Client::call(const std::string& method, std::string_view body,
                   std::chrono::milliseconds limit) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  for (const auto& [name, value] : impl_->metadata) context.AddMetadata(name, value);
  const grpc::Slice slice(body.data(), body.size());
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  impl_->stub->UnaryCall(&context, method, {}, &request, &response,
                         [&done](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  return {status.error_code(), status.error_message(), status.error_details(),
          status.ok() ? text_of(response) : std::string()};
}

}  // namespace signalbox::rpc
