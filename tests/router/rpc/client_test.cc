// Tests the client with gRPC's own server in the same process. tests/e2e/traces.test.mjs tests it
// with another implementation, and over TLS. The thread sanitizer does not run it, because it does
// not recognise gRPC's locks.

#include "router/rpc/client.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <thread>

namespace signalbox::rpc {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{20'000};

std::string text_of(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

/// Answers "METHOD KEY BODY". Fails with the status that the method names. Does not answer /hang
/// until the call ends.
class Answer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(grpc::GenericCallbackServerContext& context) : context_(context) {
    StartRead(&in_);
  }
  void OnReadDone(bool ok) override {
    if (!ok || context_.method() == "/hang") return;
    if (context_.method() == "/refuse")
      return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "not this", "its\0details"));
    const auto& metadata = context_.client_metadata();
    const auto key = metadata.find("x-api-key");
    const std::string text =
        context_.method() + " " +
        (key == metadata.end() ? "none" : std::string(key->second.data(), key->second.size())) +
        " " + text_of(in_);
    const grpc::Slice slice(context_.method() == "/long" ? std::string(100'000, 'x') : text);
    out_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&out_, {}, grpc::Status::OK);
  }
  void OnCancel() override {
    if (context_.method() == "/hang") Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  grpc::GenericCallbackServerContext& context_;
  grpc::ByteBuffer in_, out_;
};

class Peer final : public grpc::CallbackGenericService {
 public:
  explicit Peer(int port = 0) {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(this);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                             &port_);
    server_ = builder.BuildAndStart();
  }
  ~Peer() override { server_->Shutdown(std::chrono::system_clock::now()); }
  uint16_t port() const { return static_cast<uint16_t>(port_); }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Answer(*context);
  }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::unique_ptr<Client> client_of(uint16_t port, std::map<std::string, std::string> metadata = {}) {
  return Client::create({.host = "127.0.0.1", .port = port, .metadata = std::move(metadata)})
      .value();
}

TEST(RpcClient, sends_bytes_and_metadata_and_returns_the_reply) {
  const Peer peer;
  const auto client = client_of(peer.port(), {{"X-Api-Key", "k-1"}});
  for (const std::string& body : {std::string("a\0b", 3), std::string()}) {
    const Reply reply = client->call("/p.Service/Do", body, kPatience);
    EXPECT_EQ(reply.status, 0) << reply.message;
    EXPECT_EQ(reply.body, "/p.Service/Do k-1 " + body);
  }
}

TEST(RpcClient, returns_a_status_with_its_details) {
  const Peer peer;
  const Reply reply = client_of(peer.port())->call("/refuse", "x", kPatience);
  EXPECT_EQ(reply.status, 3);
  EXPECT_EQ(reply.message, "not this");
  EXPECT_EQ(reply.details, "its");
  EXPECT_EQ(reply.body, "");
}

TEST(RpcClient, a_call_ends_at_its_limit) {
  const Peer peer;
  EXPECT_EQ(client_of(peer.port())->call("/hang", "x", milliseconds(50)).status, 4);
}

TEST(RpcClient, a_reply_has_a_greatest_size) {
  const Peer peer;
  const Reply reply = client_of(peer.port())->call("/long", "x", kPatience);
  EXPECT_EQ(reply.status, 8) << reply.message;
  EXPECT_EQ(reply.body, "");
}

TEST(RpcClient, connects_again_when_the_server_is_back) {
  std::optional<Peer> peer(std::in_place);
  const int port = peer->port();
  const auto client = client_of(peer->port());
  EXPECT_EQ(client->call("/one", "x", kPatience).status, 0);
  peer.reset();
  EXPECT_EQ(client->call("/two", "x", kPatience).status, 14);
  peer.emplace(port);
  int status = -1;
  for (int i = 0; i < 2'000 && status != 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    status = client->call("/three", "x", kPatience).status;
  }
  EXPECT_EQ(status, 0);
}

TEST(RpcClient, names_a_missing_file_of_authorities) {
  const auto client = Client::create(
      {.host = "localhost", .port = 1, .tls = true, .tls_ca_path = "/nowhere/ca.pem"});
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().message.find("/nowhere/ca.pem"), std::string::npos);
}

}  // namespace
}  // namespace signalbox::rpc
