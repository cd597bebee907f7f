// Keys are never read on an event loop. Each source has a thread that waits for the server, and
// requests that need the result wait without a thread.

#include "router/tokens/key_source.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "router/config/endpoint.h"

namespace signalbox::tokens {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::string_view kDiscovery = "/.well-known/openid-configuration";
constexpr milliseconds kFetchLimit = 5s;  // for all requests of one reading
constexpr milliseconds kRetryFirst = 1s, kRetryMax = 60s;
constexpr milliseconds kFilePoll = 500ms;
constexpr std::chrono::seconds kBetweenRequests = 30s;
constexpr std::chrono::seconds kLifetime = 1h, kLifetimeMin = 60s, kLifetimeMax = 24h;
constexpr size_t kWaitersMax = 256;

}  // namespace

KeyOrigin origin_of(const config::TokenIssuer& issuer, const std::filesystem::path& config_file) {
  KeyOrigin out{issuer.issuer, issuer.jwks_uri, {}, issuer.tls_ca_path, issuer.keys_age_max};
  if (!issuer.jwks_file.empty()) out.file = config_file.parent_path() / issuer.jwks_file;
  return out;
}

std::chrono::seconds lifetime_of(std::string_view cache_control) {
  std::optional<std::chrono::seconds> out;
  while (!cache_control.empty()) {
    const size_t comma = std::min(cache_control.find(','), cache_control.size());
    const std::string_view part = config::identity_of(cache_control.substr(0, comma));
    cache_control.remove_prefix(std::min(comma + 1, cache_control.size()));
    constexpr std::string_view kMaxAge = "max-age=";
    if (ascii::iequals(part, "no-cache") || ascii::iequals(part, "no-store")) return kLifetimeMin;
    if (!ascii::iequals(part.substr(0, kMaxAge.size()), kMaxAge)) continue;
    const std::string_view digits = part.substr(kMaxAge.size());
    uint32_t seconds = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (error == std::errc() && end == digits.data() + digits.size())
      out = std::chrono::seconds(seconds);
  }
  return std::clamp(out.value_or(kLifetime), kLifetimeMin, kLifetimeMax);
}

Result<std::string> read_discovery(std::string_view text, std::string_view issuer) {
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::string(text), {kKeySetBytesMax, 16}));
  const auto member = [&](std::string_view name) -> std::string {
    const auto value = document.root().find(name);
    return value && value->is_string() ? std::string(value->text()) : std::string();
  };
  if (member("issuer") != issuer)
    return fail(Code::kInvalid, "the discovery document is one of the issuer {}, not of \"{}\"",
                json::quote_briefly(member("issuer")), issuer);
  std::string out = member("jwks_uri");
  const bool is_downgrade = issuer.starts_with("https://") && !out.starts_with("https://");
  if (is_downgrade || !config::is_safe_url(out))
    return fail(Code::kInvalid,
                "the discovery document has no jwks_uri with https://, or with http:// on this "
                "machine");
  return out;
}

KeySource::KeySource(KeyOrigin origin) : origin_(std::move(origin)), retry_(kRetryFirst) {}

Result<std::unique_ptr<KeySource>> KeySource::create(KeyOrigin origin) {
  std::unique_ptr<KeySource> out(new KeySource(std::move(origin)));
  if (!out->origin_.file.empty()) {
    SIGNALBOX_TRY(std::string text, read_file(out->origin_.file, kKeySetBytesMax));
    if (auto done = out->install(std::move(text)); !done)
      return fail_in(out->origin_.file.string(), done.error());
    out->is_reading_ = false;
  }
  out->thread_ = std::thread([self = out.get()] { self->follow(); });
  return out;
}

KeySource::~KeySource() {
  stop();
}

void KeySource::stop() {
  {
    const std::lock_guard lock(mutex_);
    waiters_.clear();
    stop_.request_stop();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool KeySource::is_fresh() const {
  return keys_ != nullptr && Clock::now() - read_at_ <= origin_.age_max;
}

KeySource::Snapshot KeySource::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!is_fresh()) return {nullptr, 0, trouble_};
  return {keys_, generation_, trouble_};
}

uint64_t KeySource::generation() const {
  const std::lock_guard lock(mutex_);
  return is_fresh() ? generation_ : 0;
}

bool KeySource::refresh() {
  const std::lock_guard lock(mutex_);
  if (is_reading_) return true;
  const Clock::time_point now = Clock::now();
  if (requested_at_ != Clock::time_point::min() && now - requested_at_ < kBetweenRequests)
    return false;
  requested_at_ = now;
  is_requested_ = is_reading_ = true;
  wake_.notify_all();
  return true;
}

bool KeySource::wait(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (!is_reading_ || stop_.stop_requested() || waiters_.size() >= kWaitersMax) return false;
  waiters_.push_back(std::move(wake));
  return true;
}

Result<void> KeySource::install(std::string text) {
  SIGNALBOX_TRY(KeySet keys, KeySet::parse(text));
  // Shared by the source and by the requests that it verifies.
  auto shared = std::make_shared<const KeySet>(std::move(keys));
  const std::lock_guard lock(mutex_);
  read_at_ = Clock::now();
  if (text == text_) return {};
  if (shared->size() == 0)
    log::warn("access", "the issuer {} has no key that can verify signatures, so no token passes{}",
              origin_.issuer, shared->left_out());
  keys_ = std::move(shared);
  text_ = std::move(text);
  ++generation_;
  return {};
}

Result<KeySource::Fetched> KeySource::fetch_url(const std::string& url, Clock::time_point until) {
  SIGNALBOX_TRY(const config::Endpoint endpoint,
                config::parse_base_url(url.substr(0, url.find('?'))));
  config::BackendRef ref;
  ref.name = "signalbox-keys";
  ref.host = endpoint.host;
  ref.port = endpoint.port;
  ref.tls = endpoint.tls;
  ref.tls_ca_path = origin_.tls_ca_path;
  poster_ = std::make_unique<upstream::Poster>(ref, kFetchLimit);
  const size_t slash = url.find('/', url.find("://") + 3);
  const std::string target = slash == std::string::npos ? "/" : url.substr(slash);
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  auto reply = poster_->get(target, std::max(left, 0ms), kKeySetBytesMax, stop_.get_token());
  if (!reply) return fail(reply.error().code, "{}: {}", url, reply.error().message);
  if (reply->status != 200)
    return fail(Code::kUpstream, "{}: it returned status {}, expected 200", url, reply->status);
  const std::string_view control = reply->headers.find("cache-control").value_or("");
  return Fetched{std::move(reply->body), lifetime_of(control)};
}

Result<KeySource::Fetched> KeySource::fetch() {
  if (!origin_.file.empty()) {
    SIGNALBOX_TRY(std::string text, read_file(origin_.file, kKeySetBytesMax));
    return Fetched{std::move(text), {}};
  }
  const Clock::time_point until = Clock::now() + kFetchLimit;
  if (!origin_.jwks_uri.empty()) return fetch_url(origin_.jwks_uri, until);
  std::string base = origin_.issuer;
  while (base.ends_with('/')) base.pop_back();
  SIGNALBOX_TRY(const Fetched found, fetch_url(base.append(kDiscovery), until));
  SIGNALBOX_TRY(const std::string uri, read_discovery(found.text, origin_.issuer));
  return fetch_url(uri, until);
}

// Reads the keys and returns the time to the next reading.
std::chrono::milliseconds KeySource::read() {
  auto fetched = fetch();
  const bool is_file = !origin_.file.empty();
  milliseconds next = is_file ? kFilePoll : kRetryMax;
  Result<void> done;
  if (fetched) {
    if (!is_file) next = std::min<milliseconds>(fetched->lifetime, origin_.age_max / 2);
    done = install(std::move(fetched->text));
  } else {
    done = tl::unexpected<Error>(std::move(fetched).error());
  }
  std::string trouble = done ? std::string() : done.error().message;
  if (done) {
    retry_ = kRetryFirst;
  } else if (!is_file) {
    next = std::exchange(retry_, std::min(2 * retry_, kRetryMax));
  }
  std::string before;
  {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested()) return next;
    before = std::exchange(trouble_, trouble);
  }
  if (before.empty() != trouble.empty()) {
    if (trouble.empty())
      log::info("access", "the keys of the issuer {} are read again", origin_.issuer);
    else
      log::warn("access", "the keys of the issuer {} cannot be read and stay as they were: {}",
                origin_.issuer, trouble);
  }
  return next;
}

void KeySource::follow() {
  std::unique_lock lock(mutex_);
  while (!stop_.stop_requested()) {
    is_reading_ = true;
    is_requested_ = false;
    lock.unlock();
    const milliseconds next = read();
    lock.lock();
    is_reading_ = false;
    for (const auto& each : std::exchange(waiters_, {})) each();
    // The poster's destructor may wait for a name server. Release the lock meanwhile, because
    // requests need it.
    lock.unlock();
    poster_.reset();
    lock.lock();
    wake_.wait_for(lock, next, [this] { return stop_.stop_requested() || is_requested_; });
  }
}

Result<std::shared_ptr<KeySource>> KeySources::of(const KeyOrigin& origin) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sources_, [](const auto& each) { return each.expired(); });
  for (const auto& each : sources_) {
    if (auto source = each.lock(); source != nullptr && source->origin() == origin) return source;
  }
  SIGNALBOX_TRY(auto made, KeySource::create(origin));
  const std::shared_ptr<KeySource> out(
      made.release(), [this](KeySource* source) { end(std::unique_ptr<KeySource>(source)); });
  sources_.push_back(out);
  return out;
}

// The last user may be an event loop, which must not block, so another thread waits for the end of
// the source.
void KeySources::end(std::unique_ptr<KeySource> source) {
  const std::lock_guard lock(ending_);
  std::erase_if(ends_,
                [](const auto& each) { return each.wait_for(0s) == std::future_status::ready; });
  ends_.push_back(std::async([source = std::move(source)]() mutable { source.reset(); }));
}

void KeySources::stop() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : sources_) {
    if (const auto source = each.lock()) source->stop();
  }
}

}  // namespace signalbox::tokens
