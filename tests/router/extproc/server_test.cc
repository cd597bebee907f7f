// Tests the gRPC server itself, with a client in the same process. The address sanitizer checks
// which thread calls what and when memory is freed. tests/e2e tests it with other clients. The
// thread sanitizer does not run it, because it does not recognise gRPC's locks.

#include "router/extproc/server.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/protobuf.h"

namespace signalbox::extproc {
namespace {

constexpr std::string_view kBody = "hello";
constexpr std::chrono::seconds kPatience{20};
/// More than a connection buffers while nobody reads.
constexpr size_t kLongBytes = size_t{24} << 20;

std::string head() {
  protobuf::Writer map, headers, out;
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string_view>{":method", "POST"}, {":path", "/x"}}) {
    protobuf::Writer field;
    field.bytes(1, name).bytes(3, value);
    map.message(1, field);
  }
  headers.message(1, map);
  return std::move(out.message(2, headers)).take();
}

std::string body(std::string_view bytes) {
  protobuf::Writer inner, out;
  inner.bytes(1, bytes).varint(2, 1);
  return std::move(out.message(4, inner)).take();
}

/// A call of Process, controlled step by step.
class Call {
 public:
  explicit Call(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(channel), call_(stub_.PrepareCall(&context_, std::string(kMethod), &queue_)) {
    call_->StartCall(this);
    wait();
  }
  ~Call() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  bool write(const std::string& message) {
    const grpc::Slice slice(message);
    call_->Write(grpc::ByteBuffer(&slice, 1), this);
    return wait();
  }
  std::string read() {
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, this);
    if (!wait()) return {};
    grpc::Slice slice;
    EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
    return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
  }
  void end() {
    call_->WritesDone(this);
    wait();
  }
  /// Call this after everything has been read.
  grpc::Status status() {
    call_->Finish(&status_, this);
    wait();
    return status_;
  }
  void cancel() { context_.TryCancel(); }

 private:
  bool wait() {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + kPatience;
    EXPECT_EQ(queue_.AsyncNext(&tag, &ok, deadline), grpc::CompletionQueue::GOT_EVENT);
    return ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

http::Task<> greet(http::Exchange exchange) {
  const http::Headers fields;
  if (exchange.request.body == "long") {
    const std::string much(kLongBytes, 'x');
    co_await exchange.reply.send(200, fields, much);
    co_return;
  }
  co_await exchange.reply.send(200, fields, kBody);
}

class ExtProcServer : public testing::Test {
 protected:
  void SetUp() override {
    config::ExtProc settings;
    settings.port = 0;
    settings.streams_max = 1000;
    config::HttpLimits limits;
    limits.threads = 2;
    limits.body_bytes_max = 1024;
    auto made = Server::start(
        settings, limits, [](int, std::string_view message) { return std::string(message); },
        [](const http::Request&, const upstream::ModelCaller&) { return SessionHost{greet}; });
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
    channel_ = grpc::CreateChannel(fmt::format("127.0.0.1:{}", server_->port()),
                                   grpc::InsecureChannelCredentials());
  }

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ExtProcServer, answers_headers_and_body_on_one_stream) {
  Call call(channel_);
  EXPECT_TRUE(call.write(head()));
  EXPECT_FALSE(call.read().empty());
  EXPECT_TRUE(call.write(body("{}")));
  EXPECT_NE(call.read().find(kBody), std::string::npos);
  call.end();
  EXPECT_TRUE(call.status().ok());
}

TEST_F(ExtProcServer, messages_may_be_longer_than_requests) {
  Call call(channel_);
  EXPECT_TRUE(call.write(head()));
  EXPECT_FALSE(call.read().empty());
  EXPECT_TRUE(call.write(body(std::string(4 << 20, 'x'))));
  EXPECT_NE(call.read().find("longer than 1024 bytes"), std::string::npos);
}

TEST_F(ExtProcServer, a_port_that_is_taken_is_an_error) {
  config::ExtProc settings;
  settings.port = server_->port();
  const auto second = Server::start(settings, {}, {}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kIo);
  EXPECT_NE(second.error().message.find(fmt::format("127.0.0.1:{}", settings.port)),
            std::string::npos);
}

TEST_F(ExtProcServer, streams_may_end_after_any_step) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        Call call(channel_);
        const int steps = (i + t) % 5;
        if (steps > 0) call.write(head());
        if (steps > 1) call.read();
        if (steps > 2) call.write(body("{}"));
        const std::string answer = steps > 3 ? call.read() : std::string(kBody);
        EXPECT_NE(answer.find(kBody), std::string::npos);
        if (i % 2 == 0) call.cancel();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(ExtProcServer, stopping_ends_streams_in_every_state) {
  Call silent(channel_);
  Call begun(channel_);
  begun.write(head());
  Call answered(channel_);
  answered.write(head());
  answered.read();
  answered.write(body("{}"));
  answered.read();
  EXPECT_FALSE(server_->drain(std::chrono::milliseconds(50)));
  server_->stop();
  EXPECT_FALSE(begun.read().empty());
  EXPECT_TRUE(begun.read().empty());
  EXPECT_FALSE(begun.status().ok());
  server_.reset();
}

TEST_F(ExtProcServer, does_not_wait_for_a_client_that_does_not_read) {
  Call call(channel_);
  call.write(head());
  EXPECT_FALSE(call.read().empty());
  call.write(body("long"));
  call.end();
  EXPECT_TRUE(server_->drain(kPatience));
}

TEST_F(ExtProcServer, drains_at_once_without_streams) {
  EXPECT_TRUE(server_->drain(kPatience));
  EXPECT_TRUE(server_->drain(kPatience));
}

}  // namespace
}  // namespace signalbox::extproc
