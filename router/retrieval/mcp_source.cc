// One session with the server serves all searches. It begins with the first search, and anew when
// the server has forgotten it. Searches that run at once before there is a session begin one each,
// and the last of these is kept. A session that nobody needs any more is deleted at the server.

#include "router/retrieval/mcp_source.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/ascii.h"
#include "base/log.h"
#include "router/retrieval/mcp.h"
#include "router/upstream/poster.h"

namespace signalbox::retrieval {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kSessionBytesMax = 1024;  // of its name, which every request repeats
constexpr milliseconds kEndLimit{1'000};   // of a session; the process may wait for it to end
constexpr std::string_view kSessionHeader = "Mcp-Session-Id";
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;  // of servers that let no client end a session

/// The limits of a search, which may take several requests.
struct Within {
  Clock::time_point until;
  const std::stop_token& stop;
};

/// True if the server may have forgotten the session: the protocol requires 404, but some servers
/// return 400. A server that returns either status has not called the tool.
bool is_forgotten(int status) {
  return status == kNotFound || status == 400;
}

using SessionHeaders = std::map<std::string, std::string>;

/// Posts with the headers of one session, and ends the session if these name it.
class Session {
 public:
  Session(const Server& server, const SessionHeaders& headers)
      : name_(server.to.name),
        target_(server.target),
        posters_(with(server.to, headers), server.limit, server.key),
        is_open_(headers.contains(std::string(kSessionHeader))) {}
  ~Session() {
    if (is_open_) end();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The server does not know the session any more.
  void forget() { is_open_ = false; }

  Result<upstream::PostReply> post(const std::string& body, const Within& within) {
    const auto limit = std::chrono::ceil<milliseconds>(within.until - Clock::now());
    if (limit <= milliseconds{0}) return fail(Code::kDeadline, "no time is left");
    return posters_.post(target_, "application/json", body, limit, kReplyBytesMax, within.stop);
  }

 private:
  void end() {
    const auto reply = posters_.send("DELETE", target_, {}, kEndLimit, kReplyBytesMax);
    const int status = reply ? reply->status : 0;
    if (status / 100 == 2 || is_forgotten(status) || status == kMethodNotAllowed) return;
    log::warn("rag", "{}: its session was not ended: {}", name_,
              reply ? fmt::format("it returned status {}", status) : reply.error().message);
  }

  static config::BackendRef with(config::BackendRef to, const SessionHeaders& headers) {
    for (const auto& own : headers) {
      std::erase_if(to.extra_headers,
                    [&](const auto& each) { return ascii::iequals(each.first, own.first); });
    }
    to.extra_headers.insert(headers.begin(), headers.end());
    return to;
  }

  const std::string name_, target_;
  upstream::PosterPool posters_;
  std::atomic<bool> is_open_;
};

/// True if the protocol allows this name of a session, which then fits into a header.
bool is_session(std::string_view name) {
  return name.size() <= kSessionBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

Result<json::Document> response_of(upstream::PostReply reply, int64_t id) {
  const std::string type(reply.headers.find("Content-Type").value_or(""));
  return mcp::read_response(type, std::move(reply.body), id);
}

Result<std::string> version_of(upstream::PostReply reply, int64_t id) {
  SIGNALBOX_TRY(const json::Document response, response_of(std::move(reply), id));
  return mcp::read_initialize(response);
}

class McpSource final : public Source {
 public:
  McpSource(Server server, std::string tool, Search search)
      : server_(std::move(server)), tool_(std::move(tool)), search_(std::move(search)) {}

  bool needs_vector() const override { return false; }

  Result<Texts> find(const Query& query, milliseconds limit,
                     const std::stop_token& stop) const override {
    const Within within{Clock::now() + limit, stop};
    const int64_t id = next_++;
    const std::string body = mcp::write_call(id, tool_, write_search(search_, query));
    if (const auto session = kept()) {
      SIGNALBOX_TRY(upstream::PostReply reply, session->post(body, within));
      if (!is_forgotten(reply.status)) return texts_of(std::move(reply), id);
      if (reply.status == kNotFound) session->forget();
    }
    SIGNALBOX_TRY(const auto session, begin(within));
    SIGNALBOX_TRY(upstream::PostReply reply, session->post(body, within));
    return texts_of(std::move(reply), id);
  }

 private:
  std::shared_ptr<Session> kept() const {
    const std::lock_guard lock(mutex_);
    return session_;
  }

  Result<std::shared_ptr<Session>> begin(const Within& within) const {
    SessionHeaders headers{{"Accept", std::string(mcp::kAccepted)}};
    const int64_t id = next_++;
    SIGNALBOX_TRY(upstream::PostReply reply,
                  Session(server_, headers).post(mcp::write_initialize(id), within));
    SIGNALBOX_TRY_VOID(check_status(reply.status));
    const std::string_view name = reply.headers.find(kSessionHeader).value_or("");
    if (!is_session(name))
      return fail(Code::kUpstream,
                  "the name of its session is not at most {} visible ASCII characters",
                  kSessionBytesMax);
    if (!name.empty()) headers.emplace(kSessionHeader, name);
    Result<std::string> version = version_of(std::move(reply), id);
    if (version) headers.emplace("MCP-Protocol-Version", *version);
    // It also ends a session that cannot be used.
    auto out = std::make_shared<Session>(server_, headers);
    if (!version) return tl::unexpected<Error>(std::move(version).error());
    SIGNALBOX_TRY(const upstream::PostReply taken, out->post(mcp::write_initialized(), within));
    SIGNALBOX_TRY_VOID(check_status(taken.status));
    std::shared_ptr<Session> former = out;  // ends behind the lock, if no search uses it any more
    const std::lock_guard lock(mutex_);
    session_.swap(former);
    return out;
  }

  Result<Texts> texts_of(upstream::PostReply reply, int64_t id) const {
    SIGNALBOX_TRY_VOID(check_status(reply.status));
    SIGNALBOX_TRY(const json::Document response, response_of(std::move(reply), id));
    return mcp::read_call(response, search_.top_k);
  }

  const Server server_;
  const std::string tool_;
  const Search search_;
  mutable std::atomic<int64_t> next_{1};      // the id of the next request
  mutable std::mutex mutex_;                  // guards session_
  mutable std::shared_ptr<Session> session_;  // owned with the searches in progress
};

}  // namespace

std::unique_ptr<const Source> make_mcp_source(Server server, std::string tool, Search search) {
  return std::make_unique<const McpSource>(std::move(server), std::move(tool), std::move(search));
}

}  // namespace signalbox::retrieval
