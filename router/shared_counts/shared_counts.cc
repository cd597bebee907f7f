// Reports carry whole totals and numbered batches of uses, so an exchange whose reply was lost is
// simply made again. Over a new connection, everything is reported once more, because the server
// may have been restarted without its data.

#include "router/shared_counts/shared_counts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"
#include "router/shared_counts/scripts.h"
#include "router/stores/redis_config.h"

namespace signalbox::shared_counts {
namespace {

using std::chrono::milliseconds;
using stores::RedisValue;

stores::Redis::Command views_of(const Words& words) {
  return {words.begin(), words.end()};
}

constexpr milliseconds kTick{5}, kPeriod{25}, kPeriodAfterFailure{250}, kGreeting{1000},
    kStart{5000};
constexpr milliseconds kLast{1000};
/// A finding counts after this many greetings in a row. A killed router remains visible for three.
constexpr int kSeenMin = 6;
constexpr std::string_view kSection = "global.stores.shared_counts";

std::string new_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

/// The host's name helps the operator, and the number distinguishes the processes of a host.
std::string router_name() {
  std::array<char, 64> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::string out = fmt::format("{}/{}", host.data(), new_name());
  std::ranges::replace(out, ' ', '_');
  return out;
}

std::string digest_of(const config::Config& config) {
  std::string text;
  if (config.spending) {
    for (const auto& each : config.spending->budgets)
      text +=
          fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", static_cast<int>(each.by), each.of, each.amount,
                      each.currency, static_cast<int>(each.per), static_cast<int>(each.then));
  }
  for (const auto& provider : config.ratelimit.providers) {
    for (const auto& rule : provider.rules)
      text += fmt::format("{}\n{}\n{}\n{}\n{} {} {}\n", rule.name, rule.match.user,
                          rule.match.group, rule.match.model, rule.requests_per_unit,
                          rule.tokens_per_unit, rule.unit.count());
  }
  return sha256_hex(text).substr(0, 16);
}

}  // namespace

SharedCounts::SharedCounts(Options options, limits::RateLimiter& limiter, spending::Ledger* ledger)
    : options_(std::move(options)),
      started_(std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      limiter_(limiter),
      ledger_(ledger),
      redis_(options_.server),
      exchange_(options_.prefix, router_name(), new_name()) {}

Result<std::unique_ptr<SharedCounts>> SharedCounts::open(const config::Config& config,
                                                         limits::RateLimiter& limiter,
                                                         spending::Ledger* ledger) {
  const config::Redis& redis = config.shared_counts.redis;
  auto server = stores::redis_server(redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  Options options{.server = *std::move(server)};
  if (!redis.key_prefix.empty()) options.prefix = redis.key_prefix;
  stores::set_seconds(redis.read_timeout, options.limit);
  auto out = std::unique_ptr<SharedCounts>(new SharedCounts(std::move(options), limiter, ledger));
  if (ledger != nullptr) {
    auto name = ledger->name_of_file(out->exchange_.ledger());
    if (!name) return fail_in("global.spending.file", std::move(name).error());
    out->exchange_.set_ledger(*std::move(name));
  }
  limiter.share();
  out->configure(config);
  out->exchange_all(Clock::now() + kStart);
  out->thread_ = std::thread([self = out.get()] { self->run(); });
  return out;
}

SharedCounts::~SharedCounts() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  options_.limit = std::min(options_.limit, kLast);
  if (!failed_) exchange_all(Clock::now() + kLast);
}

void SharedCounts::configure(const config::Config& config) {
  if (ledger_ != nullptr && config.spending) {
    ledger_->share(config.spending->budgets);
    has_new_totals_ = true;
  }
  const std::lock_guard lock(mutex_);
  digest_ = digest_of(config);
}

SharedCounts::Stats SharedCounts::stats() const {
  const std::lock_guard lock(mutex_);
  Stats out = stats_;
  out.unreported = unreported();
  return out;
}

// Reports soon after each count, but reads less often, because 200 reads a second would gain
// nothing.
void SharedCounts::run() {
  Clock::time_point next{};
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const milliseconds pause = failed_ ? kPeriodAfterFailure : kTick;
      if (wake_.wait_for(lock, pause, [this] { return stopping_; })) return;
    }
    if (Clock::now() < next && unreported() == 0) continue;
    next = Clock::now() + kPeriod;
    exchange_all(next);
  }
}

uint64_t SharedCounts::unreported() const {
  return limiter_.unconfirmed() + (ledger_ == nullptr ? 0 : ledger_->unreported());
}

bool SharedCounts::exchange_all(Clock::time_point until) {
  do {
    const Result<bool> exchanged = exchange();
    log_change(exchanged);
    if (!exchanged) return false;
    if (!*exchanged) return true;
  } while (Clock::now() < until);
  return true;
}

// Logs the first of several failures, each new reason, and the recovery. Leaves out the place in
// the script with which an error of a script ends, because it helps nobody.
void SharedCounts::log_change(const Result<bool>& exchanged) {
  std::string failure = exchanged ? "" : exchanged.error().message;
  failure.resize(std::min(failure.size(), failure.find(" script: ")));
  if (failure != failure_ && !exchanged) {
    log::warn("shared_counts",
              "{}: {}; until this is over, rate limits and budgets hold for each router alone",
              kSection, failure);
  } else if (failed_ && exchanged) {
    log::info("shared_counts", "{} works again; it gets what was counted meanwhile", redis_.name());
  }
  failure_ = failure;
  failed_ = !exchanged;
  const std::lock_guard lock(mutex_);
  stats_.works = exchanged.has_value();
  ++(exchanged ? stats_.succeeded : stats_.failed);
  if (!exchanged) stats_.routers = 1;
}

// Returns the router's name and the settings that it must have in common with the others.
Words SharedCounts::greeting() const {
  Words out = call_of(routers_script(), options_.prefix);
  const std::lock_guard lock(mutex_);
  out.insert(out.end(),
             {exchange_.router(), exchange_.ledger(), digest_, std::to_string(started_)});
  return out;
}

Result<bool> SharedCounts::exchange() {
  if (has_new_totals_.exchange(false)) exchange_.read_all_totals();
  const Clock::time_point sent_at = Clock::now();
  const bool greets = sent_at >= greet_at_;
  const Report report = exchange_.begin(limiter_, ledger_, redis_.connections(), sent_at);
  std::vector<stores::Redis::Command> commands{views_of(report.buckets)};
  if (ledger_ != nullptr) commands.push_back(views_of(report.totals));
  const Words words = greets ? greeting() : Words();  // the command is a view of them
  if (greets) commands.push_back(views_of(words));
  const auto replies = redis_.run_all(commands, options_.limit);
  if (!replies) {
    exchange_.fail(ledger_, report);
    return tl::unexpected(replies.error());
  }
  SIGNALBOX_TRY(const bool more, exchange_.finish(limiter_, ledger_, report, *replies,
                                                  redis_.connections(), Clock::now()));
  if (greets) {
    SIGNALBOX_TRY_VOID(apply_routers(replies->back()));
    greet_at_ = sent_at + kGreeting;
  }
  return more;
}

// If two routers use the same ledger name, the one that started later takes another name. The
// amounts that were in the file at its start belong to the other router.
void SharedCounts::leave_same_ledger(const std::vector<Peer>& peers) {
  const auto age = [](const Peer& peer) { return std::tie(peer.started, peer.name); };
  const Peer* same = nullptr;  // the oldest
  for (const Peer& peer : peers) {
    if (peer.ledger == exchange_.ledger() && (same == nullptr || age(peer) < age(*same)))
      same = &peer;
  }
  same_ledger_ = same != nullptr ? same_ledger_ + 1 : 0;
  if (same_ledger_ == kSeenMin) {
    log::error("shared_counts",
               "{}: {} and {} have the same spending file, or copies of one; give each router a "
               "file of its own (global.spending.file: {})",
               kSection, exchange_.router(), same->name, ledger_->store_name());
  }
  if (same_ledger_ < kSeenMin || std::tie(started_, exchange_.router()) < age(*same)) return;
  exchange_.set_ledger(new_name());
  ledger_->disown_file();
  same_ledger_ = 0;
}

Result<void> SharedCounts::apply_routers(const RedisValue& reply) {
  SIGNALBOX_TRY(const auto peers, read_routers(reply));
  std::string digest;
  {
    const std::lock_guard lock(mutex_);
    digest = digest_;
    stats_.routers = peers.size() + 1;
  }
  if (ledger_ != nullptr) leave_same_ledger(peers);
  const auto other =
      std::ranges::find_if(peers, [&](const Peer& peer) { return peer.digest != digest; });
  other_limits_ = other != peers.end() ? other_limits_ + 1 : 0;
  if (other_limits_ >= kSeenMin && other->digest != warned_of_) {
    log::warn("shared_counts",
              "{}: the files of {} and {} have different budgets or rate limits; each router "
              "applies its own, and rate limits with other numbers are counted apart",
              kSection, exchange_.router(), other->name);
    warned_of_ = other->digest;
  }
  return {};
}

}  // namespace signalbox::shared_counts
