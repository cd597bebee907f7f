// Uses gRPC's callback interface: gRPC's threads pass each event to the session's loop and never
// wait. The generic service handles messages as bytes, so there is no generated code.

#include "router/extproc/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "router/http/deadline.h"
#include "router/http/stream.h"
#include "router/rpc/log.h"
#include "router/upstream/pool.h"

namespace signalbox::extproc {
namespace {

/// The room of a message besides its body: a header, and Envoy's own additions.
constexpr int kMessageBytesMore = 1 << 20;
/// The memory for connections, in addition to the bodies of all requests.
constexpr size_t kConnectionsBytes = size_t{64} << 20;
/// A connection that is silent for this long gets a keepalive ping.
constexpr int kKeepaliveMs = 60'000;
/// The time that a peer has to read the status at the end of a stream.
constexpr std::chrono::milliseconds kFinishLimit{5'000};

struct Loop {
  http::asio::io_context io{1};
  http::asio::executor_work_guard<http::Executor> work{io.get_executor()};
  std::thread thread;
};

grpc::StatusCode code_of(Ending ending) {
  switch (ending) {
    case Ending::kDone:
      return grpc::StatusCode::OK;
    case Ending::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Ending::kUnprepared:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case Ending::kLate:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Ending::kAborted:
      return grpc::StatusCode::ABORTED;
  }
  return grpc::StatusCode::INTERNAL;
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  out.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return out;
}

/// The longest certificate or key file.
constexpr size_t kPemBytesMax = size_t{1} << 20;

// gRPC accepts invalid files without an error, so the HTTP listeners' reader checks them first.
Result<std::shared_ptr<grpc::ServerCredentials>> credentials(const config::ExtProc& settings) {
  if (settings.tls_cert_path.empty()) return grpc::InsecureServerCredentials();
  SIGNALBOX_TRY(const auto checked,
                http::Tls::for_server(settings.tls_cert_path, settings.tls_key_path));
  grpc::SslServerCredentialsOptions options;
  auto& pair = options.pem_key_cert_pairs.emplace_back();
  SIGNALBOX_TRY(pair.private_key, read_file(settings.tls_key_path, kPemBytesMax));
  SIGNALBOX_TRY(pair.cert_chain, read_file(settings.tls_cert_path, kPemBytesMax));
  if (!settings.tls_client_ca_path.empty()) {
    SIGNALBOX_TRY(const auto trusted, http::Tls::for_client(settings.tls_client_ca_path, true));
    SIGNALBOX_TRY(options.pem_root_certs, read_file(settings.tls_client_ca_path, kPemBytesMax));
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

/// Refuses a call at once.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const char* why) {
    Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, why));
  }
  void OnDone() override { delete this; }
};

/// A call of Process and its session. It owns itself until gRPC is done with it. The On...()
/// functions run on gRPC's threads and only post to the loop; the loop's thread does everything
/// else.
class Stream final : public grpc::ServerGenericBidiReactor, public Channel {
 public:
  Stream(Site& site, Loop& loop, std::atomic<uint32_t>& count, grpc::CallbackServerContext& context)
      : loop_(loop), count_(count), context_(context) {
    on_loop([this, &site] {
      session_ = std::make_shared<Session>(site, loop_.io, *this);
      Session::start(session_);
    });
  }

  void OnReadDone(bool ok) override {
    if (!ok) return on_loop([this, gone = context_.IsCancelled()] { session_->closed(gone); });
    on_loop([this, bytes = bytes_of(in_)] { session_->receive(bytes); });
  }
  void OnWriteDone(bool) override {
    on_loop([this] {
      writing_ = false;
      send_next();
    });
  }
  void OnCancel() override {
    on_loop([this] { session_->closed(true); });
  }
  // Posted after everything else, so this runs last.
  void OnDone() override {
    {
      const std::lock_guard lock(context_mutex_);
      is_done_ = true;
    }
    --count_;
    on_loop([this] { delete this; });
  }

  void read() override { StartRead(&in_); }
  void send(std::string message) override {
    outbox_.push_back(std::move(message));
    send_next();
  }
  void finish(Ending ending, std::string why) override {
    if (ending == Ending::kInvalid || ending == Ending::kUnprepared)
      log::warn("extproc", "refused a stream: {}", why);
    finish_ = grpc::Status(code_of(ending), why);
    finish_deadline_.emplace(loop_.io, [this] { cancel(); });
    finish_deadline_->set(kFinishLimit);
    send_next();
  }

 private:
  template <class Work>
  void on_loop(Work work) {
    http::asio::post(loop_.io, std::move(work));
  }

  void cancel() {
    const std::lock_guard lock(context_mutex_);
    if (!is_done_) context_.TryCancel();
  }

  void send_next() {
    if (writing_) return;
    if (!outbox_.empty()) {
      const grpc::Slice slice(outbox_.front());
      outbox_.pop_front();
      out_ = grpc::ByteBuffer(&slice, 1);
      writing_ = true;
      return StartWrite(&out_);
    }
    if (finish_) Finish(*std::exchange(finish_, std::nullopt));
  }

  Loop& loop_;
  std::atomic<uint32_t>& count_;
  grpc::CallbackServerContext& context_;  // valid until OnDone, which TryCancel may call
  std::recursive_mutex context_mutex_;
  bool is_done_ = false;
  std::shared_ptr<Session> session_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
  std::deque<std::string> outbox_;
  bool writing_ = false;
  std::optional<grpc::Status> finish_;
  std::optional<http::Deadline> finish_deadline_;
};

}  // namespace

struct Server::Impl final : grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (context->method() != kMethod)
      return grpc::CallbackGenericService::CreateReactor(context);  // UNIMPLEMENTED
    if (count.fetch_add(1) >= streams_max) {
      --count;
      return new RefusedCall("too many requests are being processed");
    }
    Loop& loop = *loops[next_loop.fetch_add(1) % loops.size()];
    return new Stream(site, loop, count, *context);
  }

  Site site;
  uint32_t streams_max = 0;
  std::atomic<uint32_t> count{0};
  std::atomic<size_t> next_loop{0};
  std::vector<std::unique_ptr<Loop>> loops;
  std::unique_ptr<grpc::Server> server;  // null after stop()
  int port = 0;
};

Result<std::unique_ptr<Server>> Server::start(const config::ExtProc& settings,
                                              const config::HttpLimits& limits,
                                              http::ErrorBody error_body, FindHost find) {
  auto trusted = credentials(settings);
  if (!trusted) return fail_in("global.services.ext_proc", std::move(trusted).error());
  auto impl = std::make_unique<Impl>();
  impl->site.limits = limits;
  impl->site.timeout = settings.timeout;
  impl->site.error_body = std::move(error_body);
  impl->site.find = std::move(find);
  impl->streams_max = settings.streams_max;
  const uint32_t count =
      limits.threads != 0 ? limits.threads : std::max(1U, std::thread::hardware_concurrency());
  for (uint32_t i = 0; i < count; ++i) {
    Loop& loop = *impl->loops.emplace_back(std::make_unique<Loop>());
    loop.thread = std::thread([&io = loop.io] { io.run(); });
  }
  rpc::forward_log();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota("extproc");
  quota.Resize(limits.bodies_bytes_max + kConnectionsBytes);
  builder.SetResourceQuota(quota);
  builder.RegisterCallbackGenericService(impl.get());
  const auto body_max = std::max<uint64_t>(limits.body_bytes_max, kReplyBytesMax);
  builder.SetMaxReceiveMessageSize(static_cast<int>(body_max) + kMessageBytesMore);
  // The size limit applies to received bytes and not to their decompressed size. Envoy does not
  // compress here.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  const bool v6 = settings.address.find(':') != std::string::npos;
  const std::string address = v6 ? fmt::format("[{}]:{}", settings.address, settings.port)
                                 : fmt::format("{}:{}", settings.address, settings.port);
  builder.AddListeningPort(address, *trusted, &impl->port);
  impl->server = builder.BuildAndStart();
  std::unique_ptr<Server> out(new Server(std::move(impl)));
  if (out->impl_->server == nullptr || out->impl_->port == 0) {
    return fail(Code::kIo,
                "global.services.ext_proc: {}: cannot listen on this address; is it in use?",
                address);
  }
  out->impl_->server->GetHealthCheckService()->SetServingStatus(std::string(kService), true);
  return out;
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop();
}

uint16_t Server::port() const {
  return static_cast<uint16_t>(impl_->port);
}

bool Server::drain(std::chrono::milliseconds limit) {
  if (impl_->server == nullptr) return true;
  const auto deadline = std::chrono::system_clock::now() + limit;
  impl_->server->GetHealthCheckService()->SetServingStatus(false);
  impl_->server->Shutdown(deadline);
  return std::chrono::system_clock::now() < deadline;
}

void Server::stop() {
  if (impl_->server) impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server.reset();
  for (auto& loop : impl_->loops) {
    // The idle connections of a pool would keep the loop running. No session is left that adds one.
    http::asio::post(loop->io, [&io = loop->io] { upstream::Pool::of(io).clear(); });
    loop->work.reset();
    if (loop->thread.joinable()) loop->thread.join();
  }
  impl_->site.memory.close();
}

}  // namespace signalbox::extproc
