// Every reply contains a code that distinguishes success from failure, mostly with status 200.

#include "router/stores/milvus.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/json_writer.h"

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;

constexpr size_t kIdleMax = 8;
constexpr milliseconds kConnectLimit{1000};  // unless the call's own limit is shorter
constexpr int64_t kNotFound = 100, kNotLoaded = 101, kUnauthenticated = 1800;
// The request itself is at fault: a parameter, a missing or too large one, or the rows.
constexpr std::array<int64_t, 4> kOfRequest = {1100, 1101, 1102, 1804};
constexpr uint32_t kDepthMax = 16;

Result<int64_t> parse_integer(std::string_view text) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(Code::kIo, "{} is not a number", json::quote_briefly(text));
  return out;
}

}  // namespace

Result<int64_t> milvus_integer(const json::Value& object, std::string_view name) {
  const auto value = object.find(name);
  if (!value) return fail(Code::kIo, "no \"{}\"", name);
  auto out = value->is_string() ? parse_integer(value->text()) : value->integer();
  if (!out) return fail(Code::kIo, "\"{}\": {}", name, out.error().message);
  return out;
}

Result<json::Document> read_milvus_reply(int status, std::string body) {
  auto document =
      json::Document::parse(std::move(body), {.bytes = Milvus::kReplyBytesMax, .depth = kDepthMax});
  // before 2.4, success had the code 200
  const auto code = document ? milvus_integer(document->root(), "code")
                             : Result<int64_t>(fail(Code::kIo, "not JSON"));
  if (status == 401 || status == 403 || (code && *code == kUnauthenticated))
    return fail(Code::kInvalid, "the login failed or lacks the permission (status {})", status);
  if (status / 100 != 2 && !code) return fail(Code::kUpstream, "it returned status {}", status);
  if (!code) return fail(Code::kIo, "its reply is not from Milvus: {}", code.error().message);
  if (*code == 0 || *code == 200) return document;
  const auto message = document->root().find("message");
  const std::string_view text = message && message->is_string() ? message->text() : "";
  const bool is_missing = *code == kNotFound || *code == kNotLoaded;
  const bool is_of_request = std::ranges::find(kOfRequest, *code) != kOfRequest.end();
  return fail(is_missing      ? Code::kNotFound
              : is_of_request ? Code::kUnsupported
                              : Code::kUpstream,
              "it reports {} ({})", json::quote_briefly(text), *code);
}

Error without_quotes(Error error) {
  const size_t first = error.message.find('"'), last = error.message.rfind('"');
  if (first != last) error.message.replace(first + 1, last - first - 1, "...");
  return error;
}

Milvus::Milvus(MilvusServer server) {
  const bool is_v6 = server.host.find(':') != std::string::npos;
  to_.name =
      fmt::format("milvus {}{}{}:{}", is_v6 ? "[" : "", server.host, is_v6 ? "]" : "", server.port);
  to_.host = std::move(server.host);
  to_.port = server.port;
  to_.tls = server.tls;
  to_.tls_ca_path = std::move(server.ca_path);
  if (!server.username.empty()) token_ = fmt::format("{}:{}", server.username, server.password);
}

Milvus::~Milvus() = default;

std::unique_ptr<upstream::Poster> Milvus::take_idle() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<upstream::Poster>(to_, kConnectLimit, token_);
  auto out = std::move(idle_.back());
  idle_.pop_back();
  return out;
}

Result<json::Document> Milvus::call(std::string_view path, std::string_view body,
                                    milliseconds limit) {
  auto poster = take_idle();
  const std::string target = fmt::format("/v2/vectordb{}", path);
  auto reply = poster->post(target, "application/json", body, limit, kReplyBytesMax);
  {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleMax) idle_.push_back(std::move(poster));
  }
  if (!reply)
    return tl::unexpected<Error>(std::move(reply).error());  // the message names the server
  auto document = read_milvus_reply(reply->status, std::move(reply->body));
  if (!document) return fail_in(name(), std::move(document).error());
  return document;
}

}  // namespace signalbox::stores
