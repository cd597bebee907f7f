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

constexpr milliseconds kTick{5}, kPeriod{25}, kPeriodAfterFailure{250}, kGreeting{1000},
    kStart{5000};
constexpr milliseconds kLast{1000};
constexpr size_t kReportedMax = 512;  // in one exchange, so that the server is not blocked for long
/// Greetings in a row after which a finding counts. A router that was killed is seen for three.
constexpr int kSeenMin = 6;
constexpr std::string_view kSection = "global.stores.shared_counts";

std::string new_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

/// The host's name helps the operator, and the number tells the processes of a host apart.
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

using Words = std::vector<std::string>;

stores::Redis::Command views_of(const Words& words) {
  return {words.begin(), words.end()};
}

Words call_of(std::string_view script, const std::string& prefix) {
  return {"EVAL", std::string(script), "1", prefix};
}

/// Two days after the period, because clocks differ.
std::string expiry_of(const spending::TotalKey& key) {
  constexpr int64_t kSecondsADay = 86'400;
  return std::to_string((spending::next_after(key.per, key.begin) + 2) * kSecondsADay);
}

void add_totals(const std::vector<spending::SharedTotal>& totals, Words& to) {
  for (const spending::SharedTotal& each : totals) {
    to.push_back(name_of(each.key));
    to.push_back(expiry_of(each.key));
    to.push_back(fmt::format("{:.17g}", each.own));
  }
}

void add_uses(const std::vector<limits::BucketUse>& uses, Words& to) {
  for (const auto& [level, requests, tokens, may_be_lost] : uses) {
    to.push_back(level.name);
    to.push_back(std::to_string(level.requests_per_unit));
    to.push_back(std::to_string(level.tokens_per_unit));
    to.push_back(std::to_string(level.unit.count()));
    for (const double amount : {requests, tokens, level.requests, level.tokens})
      to.push_back(fmt::format("{:.17g}", amount));
    to.push_back(may_be_lost ? "1" : "0");
  }
}

}  // namespace

SharedCounts::SharedCounts(Options options, limits::RateLimiter& limiter, spending::Ledger* ledger)
    : options_(std::move(options)),
      name_(router_name()),
      started_(std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      limiter_(limiter),
      ledger_(ledger),
      redis_(options_.server),
      ledger_name_(new_name()) {}

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
    auto name = ledger->name_of_file(out->ledger_name_);
    if (!name) return fail_in("global.spending.file", std::move(name).error());
    out->ledger_name_ = *std::move(name);
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

// Reports come soon after what they report, and one needs no news 200 times a second.
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

// Logs the first of several failures, a new reason, and the end of them. An error of a script ends
// with the place in the script, which helps nobody.
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

void SharedCounts::report_everything() {
  limiter_.report_all(Clock::now());
  if (ledger_ != nullptr) ledger_->report_all();
  totals_cursor_ = buckets_cursor_ = "0";  // the clock of another server may be behind
}

Result<bool> SharedCounts::exchange() {
  if (redis_.connections() != connections_ && !std::exchange(reports_everything_, true))
    report_everything();
  if (has_new_totals_.exchange(false)) totals_cursor_ = "0";
  const Clock::time_point asked_at = Clock::now();
  const bool greets = asked_at >= greet_at_;

  Words of_totals = call_of(totals_script(), options_.prefix);
  of_totals.insert(of_totals.end(), {ledger_name_, totals_cursor_});
  std::vector<spending::SharedTotal> totals;
  if (ledger_ != nullptr) totals = ledger_->take_changes(kReportedMax);
  add_totals(totals, of_totals);
  Words of_buckets = call_of(buckets_script(), options_.prefix);
  of_buckets.insert(of_buckets.end(), {name_, std::to_string(batch_), buckets_cursor_});
  add_uses(limiter_.take_uses(kReportedMax, asked_at), of_buckets);
  Words greeting = call_of(routers_script(), options_.prefix);
  {
    const std::lock_guard lock(mutex_);
    greeting.insert(greeting.end(), {name_, ledger_name_, digest_, std::to_string(started_)});
  }

  std::vector<stores::Redis::Command> commands{views_of(of_buckets)};
  if (ledger_ != nullptr) commands.push_back(views_of(of_totals));
  if (greets) commands.push_back(views_of(greeting));
  const auto ran = redis_.run_all(commands, options_.limit);
  if (!ran) {
    if (ledger_ != nullptr) ledger_->put_back(totals);
    return tl::unexpected(ran.error());
  }
  const std::vector<RedisValue>& replies = *ran;
  limiter_.confirm_uses();
  ++batch_;
  // The server behind a new connection may have been restored from an older state. Its levels are
  // read once ours are reported.
  if (redis_.connections() != connections_ && !reports_everything_) return true;
  reports_everything_ = false;
  connections_ = redis_.connections();
  SIGNALBOX_TRY(bool more, apply_buckets(replies[0], asked_at));
  if (ledger_ != nullptr) {
    SIGNALBOX_TRY(const bool more_totals, apply_totals(replies[1]));
    more = more || more_totals || ledger_->unreported() > 0;
  }
  if (greets) {
    SIGNALBOX_TRY_VOID(apply_routers(replies.back()));
    greet_at_ = asked_at + kGreeting;
  }
  return more;
}

Result<bool> SharedCounts::apply_buckets(const RedisValue& reply, Clock::time_point asked_at) {
  SIGNALBOX_TRY(const auto read, read_buckets(reply));
  const bool is_new = read.epoch != std::exchange(buckets_epoch_, read.epoch);
  if (is_new) limiter_.report_all(Clock::now());
  limiter_.set_levels(read.entries, asked_at, Clock::now());
  buckets_cursor_ = is_new ? "0" : read.cursor;
  return is_new || read.size == kEntriesMax;
}

Result<bool> SharedCounts::apply_totals(const RedisValue& reply) {
  SIGNALBOX_TRY(const auto read, read_totals(reply));
  ledger_->set_others(read.entries, adopts_);
  const bool is_new = read.epoch != std::exchange(totals_epoch_, read.epoch);
  totals_cursor_ = is_new ? "0" : read.cursor;
  if (is_new) ledger_->report_all();
  const bool more = is_new || read.size == kEntriesMax;
  if (!more) adopts_ = false;
  return more;
}

// Only the router that started later leaves the name. The amounts that were in the file at its
// start are the share of the other one.
void SharedCounts::leave_same_ledger(const std::vector<Peer>& peers) {
  const auto age = [](const Peer& peer) { return std::tie(peer.started, peer.name); };
  const Peer* same = nullptr;  // the oldest
  for (const Peer& peer : peers) {
    if (peer.ledger == ledger_name_ && (same == nullptr || age(peer) < age(*same))) same = &peer;
  }
  same_ledger_ = same != nullptr ? same_ledger_ + 1 : 0;
  if (same_ledger_ == kSeenMin) {
    log::error("shared_counts",
               "{}: {} and {} have the same spending file, or copies of one; give each router a "
               "file of its own (global.spending.file: {})",
               kSection, name_, same->name, ledger_->file().string());
  }
  if (same_ledger_ < kSeenMin || std::tie(started_, name_) < age(*same)) return;
  ledger_name_ = new_name();
  ledger_->disown_file();
  totals_cursor_ = "0";
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
              kSection, name_, other->name);
    warned_of_ = other->digest;
  }
  return {};
}

}  // namespace signalbox::shared_counts
