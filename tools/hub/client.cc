// A file of a hub is often on another host, to which the hub redirects with a signed address. The
// address expires, so each attempt starts at the hub again.

#include "tools/hub/client.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "tools/process.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kRedirectsMax = 8;
constexpr int kAttemptsMax = 6;  // without a byte of progress
constexpr double kFirstWait = 0.5;
constexpr double kWaitMax = 300;  // seconds; if the hub requests a longer wait, the pull fails
constexpr size_t kTokenBytesMax = 4096;

bool is_loopback(std::string_view origin) {
  const std::string_view host = origin.substr(origin.find("//") + 2);
  return host.starts_with("127.") || host.starts_with("localhost:") || host.starts_with("[::1]:");
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The file for a reply before it becomes a part of the file `to`.
fs::path body_of(const fs::path& to) {
  return fs::path(to) += ".body";
}

bool is_worth_retrying(int status) {
  return status == 0 || status == 408 || status == 429 || (status >= 500 && status != 501);
}

// The server's own explanation, for the end of a message.
std::string hub_reply(const HttpReply& reply) {
  const std::string_view message = reply.header("x-error-message");
  return message.empty() ? "" : fmt::format("; the hub replied {}", json::quote_briefly(message));
}

// An error for a status that no further attempt would change.
Error refusal(const HttpReply& reply, const HubSettings& settings, std::string_view id) {
  const std::string_view code = reply.header("x-error-code");
  const std::string message = hub_reply(reply);
  const bool has_token = !settings.token.empty();
  if (code == "GatedRepo" || (reply.status == 403 && code.empty())) {
    return {Code::kNotFound,
            fmt::format("access is restricted (HTTP {}): accept its conditions at {}/{} and set "
                        "HF_TOKEN to a token of that account{}",
                        reply.status, settings.endpoint, id, message)};
  }
  if (code == "RevisionNotFound")
    return {Code::kNotFound, fmt::format("the repository has no such revision{}", message)};
  if (code == "EntryNotFound")
    return {Code::kNotFound, fmt::format("the repository has no such file{}", message)};
  if (reply.status == 401 || code == "RepoNotFound" || reply.status == 404) {
    return {
        Code::kNotFound,
        fmt::format("not found (HTTP {}): the name is misspelt, or the repository is private or "
                    "gated and {}{}",
                    reply.status,
                    has_token ? "the token in HF_TOKEN may not read it"
                              : "HF_TOKEN is not set to a token that may read it",
                    message)};
  }
  return {Code::kUpstream,
          fmt::format("{} answers HTTP {}{}", settings.endpoint, reply.status, message)};
}

// Adds the bytes of a reply to the file, or replaces the file if the reply is whole.
Result<void> keep(const HttpReply& reply, const fs::path& body, uint64_t resumed_from,
                  const fs::path& to) {
  std::error_code error;
  if (reply.status == 200) {
    if (size_of_file(body) == 0)
      std::ofstream(body, std::ios::binary);  // curl makes no file for an empty body
    fs::rename(body, to, error);
    if (error) return fail(Code::kIo, "{}: {}", to.string(), error.message());
    return {};
  }
  const std::string expected = fmt::format("bytes {}-", resumed_from);
  if (reply.status == 206 && size_of_file(body) > 0 &&
      reply.header("content-range").starts_with(expected)) {
    std::ofstream out(to, std::ios::binary | std::ios::app);
    out << std::ifstream(body, std::ios::binary).rdbuf();
    out.close();
    if (!out) return fail(Code::kIo, "{}: cannot write", to.string());
  }
  fs::remove(body, error);
  return {};
}

// Takes over what a killed pull has fetched. Its curl may still run and write to the body, so the
// bytes are copied, never moved.
void adopt(const fs::path& body, const fs::path& to) {
  const HttpReply reply = take_unfinished_reply(body);
  std::error_code ignored;
  if (reply.status == 200 && size_of_file(body) > size_of_file(to)) {
    fs::copy_file(body, to, fs::copy_options::overwrite_existing, ignored);
  } else if (reply.status == 206) {
    static_cast<void>(keep(reply, body, size_of_file(to), to));  // on failure, less is resumed
  }
  fs::remove(body, ignored);
}

// A header of the hub's that contradicts the metadata ends the download before it begins.
Result<void> check_linked(const HttpReply& reply, const RepositoryFile& file) {
  const std::string_view size = reply.header("x-linked-size");
  uint64_t bytes = 0;
  const auto parsed = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (!size.empty() && (parsed.ec != std::errc() || bytes != file.bytes)) {
    return fail(Code::kCorrupt, "expected {} bytes, the hub now states {}", file.bytes,
                json::quote_briefly(size));
  }
  std::string_view etag = reply.header("x-linked-etag");
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"') etag = etag.substr(1, etag.size() - 2);
  if (etag.size() == 64 && !file.sha256.empty() && etag != file.sha256) {
    return fail(Code::kCorrupt, "expected sha256 {}, the hub now states {}", file.sha256,
                json::quote_briefly(etag));
  }
  return {};
}

// Waits between attempts. kUpstream when there were enough of them.
class Attempts {
 public:
  explicit Attempts(const HubSettings& settings) : settings_(settings) {}

  void restart() { count_ = 0; }

  Result<void> wait_after(const HttpReply& reply) {
    const std::string cause = reply.status == 0 || !is_worth_retrying(reply.status)
                                  ? reply.problem
                                  : fmt::format("HTTP {}{}", reply.status, hub_reply(reply));
    if (++count_ == kAttemptsMax) {
      return fail(Code::kUpstream, "{} attempts failed; the last: {}", kAttemptsMax, cause);
    }
    const double wait =
        retry_after(reply.header("retry-after"), kFirstWait * static_cast<double>(1 << count_) / 2);
    if (wait > kWaitMax) {
      return fail(Code::kUpstream, "{}; the server requires a wait of {:.0f} s, so try again later",
                  cause, wait);
    }
    settings_.print(fmt::format("{}; trying again in {:.1f} s", cause, wait));
    sleep_unless_interrupted(wait);
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
    return {};
  }

 private:
  const HubSettings& settings_;
  int count_ = 0;
};

}  // namespace

double retry_after(std::string_view header, double least) {
  uint32_t seconds = 0;
  const char* const end = header.data() + header.size();
  const auto parsed = std::from_chars(header.data(), end, seconds);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::max<double>(seconds, least) : least;
}

Result<HubSettings> hub_settings_from_environment() {
  HubSettings out;
  if (std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) {
    while (endpoint.ends_with('/')) endpoint.pop_back();
    if (origin_of(endpoint).empty()) {
      return fail(Code::kInvalid, "HF_ENDPOINT: expected an address such as {}, found {}",
                  kDefaultHub, json::quote_briefly(endpoint));
    }
    out.endpoint = std::move(endpoint);
  }
  out.token = variable("HF_TOKEN");
  while (out.token.ends_with('\n') || out.token.ends_with('\r')) out.token.pop_back();
  if (out.token.size() > kTokenBytesMax ||
      std::ranges::any_of(out.token, [](unsigned char c) { return c <= ' ' || c >= 0x7F; })) {
    return fail(Code::kInvalid, "HF_TOKEN: expected a token of letters, digits and signs");
  }
  const std::string origin = origin_of(out.endpoint);
  if (!out.token.empty() && !origin.starts_with("https:") && !is_loopback(origin)) {
    return fail(Code::kInvalid,
                "HF_TOKEN would be sent unencrypted to {}; use https in HF_ENDPOINT, or unset "
                "HF_TOKEN",
                out.endpoint);
  }
  return out;
}

Result<void> check_file(const fs::path& path, const RepositoryFile& file) {
  const uint64_t bytes = size_of_file(path);
  if (bytes != file.bytes) {
    return fail(Code::kCorrupt, "{}: expected {} bytes, found {}", file.path, file.bytes, bytes);
  }
  if (file.sha256.empty() && file.git_sha.empty()) return {};
  SIGNALBOX_TRY(const auto content, MappedFile::open(path));
  const bool large = !file.sha256.empty();
  const std::string found = large ? sha256_hex(content.text()) : git_blob_hex(content.text());
  const std::string& stated = large ? file.sha256 : file.git_sha;
  if (found == stated) return {};
  return fail(Code::kCorrupt, "{}: expected {} {}, found {}", file.path,
              large ? "sha256" : "git's digest", stated, found);
}

// Follows redirects. The token is sent while the address is on the endpoint's host.
Result<HttpReply> HubClient::get_once(HttpRequest request, const RepositoryFile* file) const {
  const std::string own = origin_of(settings_.endpoint);
  for (int redirects = 0; redirects <= kRedirectsMax; ++redirects) {
    request.token = origin_of(request.url) == own ? settings_.token : "";
    SIGNALBOX_TRY(HttpReply reply, http_get(request));
    if (InterruptGuard::signal_seen() != 0 && !reply.complete) return reply;
    if (file != nullptr && reply.status != 0 && reply.status < 400)
      SIGNALBOX_TRY_VOID(check_linked(reply, *file));
    const std::string_view location = reply.header("location");
    if (reply.status < 300 || reply.status >= 400 || location.empty()) return reply;
    std::string next = resolve_location(request.url, location);
    if (next.empty()) {
      return fail(Code::kUpstream, "{} redirects to an address that is not accepted: {}",
                  origin_of(request.url), json::quote_briefly(location));
    }
    request.url = std::move(next);
  }
  return fail(Code::kUpstream, "{} redirects more than {} times", settings_.endpoint,
              kRedirectsMax);
}

Result<Repository> HubClient::list(const RepositoryName& name, const fs::path& scratch) const {
  const std::string revision = name.revision.empty() ? "main" : name.revision;
  HttpRequest request;
  request.url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint,
                            escape_url(name.id, true), escape_url(revision, false));
  request.out = scratch / "listing";
  request.bytes_max = kMetadataBytesMax;
  Attempts attempts(settings_);
  for (;;) {
    auto reply = get_once(request, nullptr);
    if (!reply) return fail_in(name.text(), std::move(reply).error());
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
    if (reply->status == 200 && reply->complete) break;
    if (reply->complete && !is_worth_retrying(reply->status)) {
      return fail_in(name.text(), refusal(*reply, settings_, name.id));
    }
    if (auto waited = attempts.wait_after(*reply); !waited)
      return fail_in(name.text(), std::move(waited).error());
  }
  auto json = read_file(request.out, kMetadataBytesMax);
  std::error_code ignored;
  fs::remove(request.out, ignored);
  if (!json) return fail_in(name.text(), std::move(json).error());
  return read_repository(*std::move(json), name.text());
}

Result<bool> HubClient::transfer(std::string_view id, std::string_view commit,
                                 const RepositoryFile& file, const fs::path& to,
                                 const std::function<void(uint64_t)>& progress) const {
  HttpRequest request;
  request.url = fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, escape_url(id, true), commit,
                            escape_url(file.path, true));
  request.out = body_of(to);
  std::error_code ignored;
  bool resumed = false;
  Attempts attempts(settings_);
  while (!fs::exists(to, ignored) || size_of_file(to) < file.bytes) {
    const uint64_t before = size_of_file(to);
    resumed = resumed || before > 0;
    request.resume_from = before;
    request.bytes_max = file.bytes;
    request.progress = [&](uint64_t bytes) { progress(before + bytes); };
    auto reply = get_once(request, &file);
    if (!reply) {
      fs::remove(request.out, ignored);
      return tl::unexpected<Error>(std::move(reply).error());
    }
    SIGNALBOX_TRY_VOID(keep(*reply, request.out, before, to));
    if (InterruptGuard::signal_seen() != 0) return fail(Code::kCancelled, "interrupted");
    if (size_of_file(to) > before) attempts.restart();
    if (reply->complete && reply->status == 200) break;  // the caller checks its size
    if (reply->complete && reply->status == 206 && size_of_file(to) > before) continue;
    if (reply->status == 416) {  // the rest does not exist there
      fs::remove(to, ignored);
      reply->problem = "the server refuses to continue the file";
    } else if (reply->complete && !is_worth_retrying(reply->status)) {
      return tl::unexpected<Error>(refusal(*reply, settings_, id));
    }
    SIGNALBOX_TRY_VOID(attempts.wait_after(*reply));
  }
  return resumed;
}

Result<void> HubClient::fetch(std::string_view id, std::string_view commit,
                              const RepositoryFile& file, const fs::path& to,
                              const std::function<void(uint64_t)>& progress) const {
  const bool has_digest = !file.sha256.empty() || !file.git_sha.empty();
  std::error_code ignored;
  adopt(body_of(to), to);
  // Do not resume without a digest, because nothing could prove the old bytes wrong.
  if (!has_digest || size_of_file(to) > file.bytes) fs::remove(to, ignored);
  for (bool last = false;; last = true) {
    const auto resumed = transfer(id, commit, file, to, progress);
    if (!resumed) return fail_in(file.path, resumed.error());
    auto checked = check_file(to, file);
    if (checked) return {};
    fs::remove(to, ignored);
    if (!*resumed || last) return checked;
    settings_.print(fmt::format("{}; fetching it from its beginning", checked.error().message));
  }
}

}  // namespace signalbox::tools
