// Explores every order in which two routers count, exchange with one Redis, lose messages and
// replies, are killed and start again, while Redis may lose its data. The routers are the real
// Totals, Buckets and Exchange; Redis is an abstract model (script_server.h).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "router/limits/buckets.h"
#include "tests/router/explore.h"
#include "tests/router/shared_counts/script_server.h"

namespace signalbox::shared_counts {
namespace {

using config::Spending;
using signalbox::test::Event;
using test::ScriptServer;

constexpr spending::Day kToday = 20'000;
constexpr Exchange::TimePoint kNow{std::chrono::hours(1)};

std::vector<spending::Budget> budget_of(double amount) {
  spending::Budget out;
  out.name = "each";
  out.per = Spending::Per::kDay;
  out.amount = amount;
  return {out};
}

/// The ledger's totals on one day.
class DayTotals : public spending::Totals {
 public:
  void set_others(std::span<const spending::SharedTotal> totals, bool adopts) {
    Totals::set_others(totals, adopts, kToday);
  }
  double cost(std::string_view key = "a") const {
    return cost_of(Spending::By::kKey, key, "USD", Spending::Per::kDay, kToday);
  }
  void spend(double cost, std::string_view key = "a") {
    spending::Account account;
    account.day = kToday;
    account.key = key;
    account.currency = "USD";
    count(account, cost);
  }
  /// The whole state, as the results of its next operations.
  std::string key() const {
    DayTotals all = *this, file = *this;
    std::string out = fmt::format("{} {}", cost(), unreported());
    file.disown_file();
    for (DayTotals* totals : {&all, &file}) {
      totals->report_all();
      out += fmt::format(" {}:", totals->unreported());
      for (const auto& each : totals->take_changes(9)) out += fmt::format(" {}", each.own);
    }
    return out;
  }
};

constexpr uint64_t kLimit = 2;  // the budget, and the requests of the rate limit

const config::RateLimit& rate_limit() {
  static const config::RateLimit kOut = [] {
    config::RateLimit::Rule rule;
    rule.requests_per_unit = kLimit;
    rule.unit = std::chrono::hours(24);
    return config::local_limit({rule});
  }();
  return kOut;
}

/// The buckets of one user under one limit.
class UserBuckets : public limits::Buckets {
 public:
  UserBuckets() : Buckets(8) { share(); }
  bool admit_one() { return !admit(rate_limit(), {"ann", "", ""}, kNow); }
  uint64_t left() const {
    UserBuckets copy = *this;
    uint64_t out = 0;
    while (copy.admit_one()) ++out;
    return out;
  }
  std::string key() const {
    UserBuckets copy = *this;
    const bool is_sending = !copy.take_uses(0, kNow).empty();
    std::string out = fmt::format("{} {} {}", left(), unconfirmed(), is_sending);
    for (int i = 0; i < 3; ++i) {
      if (i == 2) copy.report_all(kNow);
      for (const auto& use : copy.take_uses(9, kNow))
        out += fmt::format(" {}/{}/{}", use.requests, use.level.requests, use.may_be_lost);
      copy.confirm_uses();
    }
    return out;
  }
};

/// The faults that may happen, and how often.
struct Faults {
  int losses = 0, deaths = 0, resets = 0;
};

struct Router {
  explicit Router(const std::string& of)
      : name(of), exchange("p:", fmt::format("{}1", of), fmt::format("ledger-{}", of)) {}

  std::string name;
  int lives = 1;
  DayTotals totals;
  UserBuckets buckets;
  Exchange exchange;
  uint64_t connections = 0;
  bool connects = true;  // before the next message
  int running = 0;       // requests in flight
  bool is_open = false;  // its start is over
  std::optional<Report> sent;
  bool has_arrived = false;
  std::vector<stores::RedisValue> replies;

  // The properties that must hold, counted apart from the code under test.
  double spent = 0;         // ever
  double certain = 0;       // the part of `spent` that no event so far may lose
  double fragile = 0;       // the part of `certain` that only Redis has
  double others_then = 0;   // spent by others when Redis read the last message
  double others_known = 0;  // others_then of the last whole exchange

  std::string key(const ScriptServer& server, bool counts_money) const;
};

uint64_t batch_of(const Report& report) {
  return std::stoull(report.buckets[5]);
}

// Numbers of batches and connections only grow, so only their order matters.
std::string key_of(const Report& report, const ScriptServer& server) {
  std::string out = fmt::format(" {}", batch_of(report) > server.batch_of(report.buckets[4]));
  for (size_t i = 4; i < report.buckets.size(); ++i) {
    if (i != 5) out += " " + report.buckets[i];
  }
  for (size_t i = 4; i < report.totals.size(); ++i) out += " " + report.totals[i];
  return out;
}

std::string Router::key(const ScriptServer& server, bool counts_money) const {
  const Exchange::Known& known = exchange.known();
  std::string out =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}|{}|", lives, connections == known.connections,
                  connects, running, is_open, has_arrived, spent, certain, fragile, others_then,
                  others_known, counts_money ? totals.key() : buckets.key());
  out += fmt::format("{} {} {} {} {} {} {}", known.totals_epoch, known.buckets_epoch,
                     known.totals_cursor, known.buckets_cursor,
                     known.batch > server.batch_of(exchange.router()), known.adopts,
                     known.reports_everything);
  if (sent) out += key_of(*sent, server);
  for (const auto& reply : replies) {
    for (const auto& item : reply.items) {
      out += item.text + ";";
      for (const auto& each : item.items) out += each.text + ",";
    }
  }
  return out;
}

/// Two routers and Redis. They share a budget if they count money, else a rate limit.
class System {
 public:
  System(bool counts_money, int requests, Faults faults)
      : counts_money_(counts_money), requests_(requests), faults_(faults) {
    for (Router& router : routers_) {
      start(router);
      exchange_all(router);
      router.is_open = true;
    }
  }

  std::string key() const {
    std::string out = fmt::format("{} {} {} {}|{}", requests_, faults_.losses, faults_.deaths,
                                  faults_.resets, server_.key());
    for (const Router& router : routers_) out += "|" + router.key(server_, counts_money_);
    for (const Report& late : late_) {
      out += "|" + key_of(late, server_);
      for (const Report& other : late_) out += batch_of(other) == batch_of(late) ? "=" : "-";
      for (const Router& router : routers_) {
        const bool is_own = router.exchange.router() == late.buckets[4];
        out += is_own && router.exchange.known().batch == batch_of(late) ? "=" : "-";
      }
    }
    return out;
  }

  std::string fault() const {
    if (!fault_.empty()) return fault_;
    for (const Router& router : routers_) {
      if (used_of(router) > spent()) return router.name + " knows of more than was spent";
    }
    const bool is_quiet = std::ranges::all_of(
        routers_, [](const Router& router) { return router.running == 0 && !router.sent; });
    return is_quiet ? fault_when_settled() : "";
  }

  std::vector<Event<System>> events() const {
    std::vector<Event<System>> out;
    for (size_t i = 0; i < routers_.size(); ++i) add_events(i, out);
    for (size_t i = 0; i < late_.size(); ++i)
      out.push_back({"a late message arrives", [i](System& of) { of.arrive_late(i); }});
    if (faults_.resets > 0) {
      out.push_back({"Redis loses its data", [](System& of) { of.reset(); }});
      out.push_back({"Redis is emptied", [](System& of) { of.empty(); }});
    }
    return out;
  }

 private:
  void start(Router& router) const {
    router.totals.share(budget_of(kLimit));
    router.exchange.read_all_totals();
  }
  double spent() const {
    double out = 0;
    for (const Router& router : routers_) out += router.spent;
    return out;
  }
  double certain() const {
    double out = 0;
    for (const Router& router : routers_) out += router.certain;
    return out;
  }
  /// The sum that a router knows to be spent or used, by all.
  double used_of(const Router& router) const {
    if (counts_money_) return router.totals.cost();
    return static_cast<double>(kLimit - router.buckets.left());
  }
  bool admits(const Router& router) const {
    if (counts_money_) return router.totals.cost() < double{kLimit};
    return router.buckets.left() > 0;
  }

  void add_events(size_t i, std::vector<Event<System>>& out) const {
    const Router& router = routers_[i];
    const auto add = [&](std::string_view what, void (System::*happen)(Router&)) {
      out.push_back({fmt::format("{} {}", router.name, what),
                     [i, happen](System& of) { (of.*happen)(of.routers_[i]); }});
    };
    if (requests_ > 0 && router.running == 0 && router.is_open && admits(router))
      add("begins a request", &System::begin);
    if (router.running > 0) add("ends a request", &System::end);
    if (!router.sent) add("sends", &System::send);
    if (router.sent && !router.has_arrived) add("is read by Redis", &System::arrive);
    if (router.sent && router.has_arrived) add("gets its reply", &System::finish);
    if (!router.is_open && !router.sent) add("listens without Redis", &System::open);
    if (router.sent && faults_.losses > 0) {
      add("gets no reply", &System::drop);
      if (!router.has_arrived) add("gets no reply yet", &System::delay);
      if (router.has_arrived) add("sends once more over a new connection", &System::send_again);
    }
    if (faults_.deaths > 0) {
      add("is killed before it writes its file", &System::die);
      if (counts_money_) add("is killed after it writes its file", &System::die_written);
    }
  }

  // A router that has completed an exchange must know what Redis had then.
  void begin(Router& router) {
    --requests_;
    const double known =
        (counts_money_ ? router.certain - router.fragile : 0) + router.others_known;
    if (known >= double{kLimit})
      fault_ = router.name + " admits a request beyond what it must know to be spent";
    if (counts_money_) {
      ++router.running;
    } else {
      router.buckets.admit_one();
      ++router.spent;
    }
  }
  void end(Router& router) {
    --router.running;
    router.totals.spend(1);
    ++router.spent;
    ++router.certain;
  }
  void send(Router& router) {
    router.sent =
        router.exchange.begin(router.buckets, totals_of(router), router.connections, kNow);
    router.has_arrived = false;
  }
  DayTotals* totals_of(Router& router) const { return counts_money_ ? &router.totals : nullptr; }

  void run(const Report& report, std::vector<stores::RedisValue>& replies) {
    replies = {server_.run(report.buckets)};
    if (counts_money_) replies.push_back(server_.run(report.totals));
  }
  void arrive(Router& router) {
    if (std::exchange(router.connects, false)) ++router.connections;
    run(*router.sent, router.replies);
    router.has_arrived = true;
    router.others_then =
        counts_money_ ? server_.spent_by_others(router.exchange.ledger()) : server_.requests_used();
  }
  Result<bool> take_replies(Router& router) const {
    auto out = router.exchange.finish(router.buckets, totals_of(router), *router.sent,
                                      router.replies, router.connections, kNow);
    router.sent.reset();
    router.replies.clear();
    return out;
  }
  void finish(Router& router) {
    const double before = used_of(router);
    const Result<bool> more = take_replies(router);
    if (used_of(router) < before) fault_ = router.name + " forgets what it knew";
    if (!more) {
      fault_ = "a reply cannot be read: " + more.error().message;
    } else if (!*more) {
      router.is_open = true;
      router.others_known = std::max(router.others_known, router.others_then);
      const double own = counts_money_ ? router.certain : 0;
      if (used_of(router) < std::min(own + router.others_then, double{kLimit}))
        fault_ = router.name + " does not know what Redis had";
      router.fragile = 0;
    }
  }
  void open(Router& router) { router.is_open = true; }
  /// Exchanges until there is nothing more, as the thread of SharedCounts does.
  bool exchange_all(Router& router) {
    for (int i = 0; i < 8; ++i) {
      send(router);
      arrive(router);
      const Result<bool> more = take_replies(router);
      if (!more) return false;
      if (!*more) return true;
    }
    return false;
  }

  void drop(Router& router) {
    router.exchange.fail(totals_of(router), *router.sent);
    router.sent.reset();
    router.replies.clear();
    router.connects = true;
    --faults_.losses;
  }
  void delay(Router& router) {
    late_.push_back(*router.sent);
    drop(router);
  }
  void send_again(Router& router) {
    router.has_arrived = false;
    router.connects = true;
    --faults_.losses;
  }
  void arrive_late(size_t i) {
    const Report report = late_[i];
    late_.erase(late_.begin() + static_cast<ptrdiff_t>(i));
    std::vector<stores::RedisValue> nobody;
    run(report, nobody);
  }

  void reset() {
    empty();
    for (Router& router : routers_) router.connects = true;
  }
  /// The connections last.
  void empty() {
    --faults_.resets;
    is_whole_ = false;
    server_.lose_everything();
    for (Router& router : routers_) router.certain -= std::exchange(router.fragile, 0);
  }

  void die(Router& router) { restart(router, 0); }
  void die_written(Router& router) { restart(router, own_of(router)); }
  double own_of(const Router& router) const {
    DayTotals copy = router.totals;
    copy.report_all();
    double out = 0;
    for (const auto& each : copy.take_changes(9)) out += each.own;
    return out;
  }
  // The documents allow the loss of counts that are neither in the file nor in Redis.
  void restart(Router& router, double file) {
    --faults_.deaths;
    is_whole_ = false;
    Router next(router.name);
    next.lives = router.lives + 1;
    next.exchange =
        Exchange("p:", fmt::format("{}{}", router.name, next.lives), router.exchange.ledger());
    next.spent = router.spent;
    const double in_redis = server_.spent_by(router.exchange.ledger());
    next.certain = std::max(file, in_redis);
    next.fragile = next.certain - file;
    if (file > 0) next.totals.spend(file);
    next.totals.mark_as_from_file();
    start(next);
    router = std::move(next);
  }

  /// Lets messages arrive, and lets both routers exchange until nothing is new. Then both know
  /// everything that is certain.
  std::string fault_when_settled() const {
    System copy = *this;
    while (!copy.late_.empty()) copy.arrive_late(0);
    for (int round = 0; round < 3; ++round) {
      for (Router& router : copy.routers_) {
        if (!copy.exchange_all(router)) return router.name + " does not come to an end";
      }
    }
    for (const Router& router : copy.routers_) {
      const double used = copy.used_of(router);
      if (used > copy.spent()) return router.name + " has counted something twice";
      const double least = copy.counts_money_ ? certain() : certain_uses();
      if (used < std::min(least, double{kLimit}))
        return fmt::format("{} has lost something: it knows {}, and {} is certain", router.name,
                           used, least);
    }
    return "";
  }
  // Uses of buckets are in no file. The level of a bucket is one for all routers, so after a loss
  // the levels that they report again are not added.
  double certain_uses() const {
    double known = 0;
    for (const Router& router : routers_) known = std::max(known, used_of(router));
    return is_whole_ ? spent() : known;
  }

  bool counts_money_;
  bool is_whole_ = true;  // neither a router nor Redis has lost its memory
  int requests_;
  Faults faults_;
  ScriptServer server_;
  std::array<Router, 2> routers_{Router("A"), Router("B")};
  std::vector<Report> late_;  // messages that were given up and have not arrived
  std::string fault_;
};

size_t explore(std::string_view name, int requests, Faults faults) {
  return signalbox::test::explore_all(fmt::format("budgets, {}", name),
                                      System(true, requests, faults)) +
         signalbox::test::explore_all(fmt::format("limits, {}", name),
                                      System(false, requests, faults));
}

TEST(Orders, count_everything_once_when_nothing_fails) {
  EXPECT_GT(explore("no faults", 3, {}), 3'800U);
}
TEST(Orders, count_everything_once_when_a_message_or_reply_is_lost) {
  EXPECT_GT(explore("a lost message", 2, {.losses = 1}), 27'000U);
}
TEST(Orders, keep_the_data_of_file_and_redis_when_a_router_is_killed) {
  EXPECT_GT(explore("a death", 3, {.deaths = 1}), 111'000U);
}
TEST(Orders, keep_the_counts_of_routers_when_redis_loses_its_data) {
  EXPECT_GT(explore("a reset", 2, {.resets = 1}), 54'600U);
}

// Redis returns so many entries at once that one total needs a second exchange.
TEST(Orders, add_all_that_redis_knows_to_the_file_of_a_router) {
  ScriptServer server;
  const auto exchange_all = [&server](Exchange& exchange, DayTotals& totals) {
    UserBuckets buckets;
    for (int i = 0; i < 8; ++i) {
      const Report report = exchange.begin(buckets, &totals, 1, kNow);
      const auto more =
          exchange.finish(buckets, &totals, report,
                          {server.run(report.buckets), server.run(report.totals)}, 1, kNow);
      if (more && !*more) return true;
    }
    return false;
  };
  const auto name = [](size_t i) { return fmt::format("key {}", i); };
  DayTotals killed, restarted;
  for (DayTotals* totals : {&killed, &restarted}) totals->share(budget_of(kLimit));
  for (size_t i = 0; i <= kEntriesMax; ++i) killed.spend(1, name(i));
  Exchange first("p:", "A1", "ledger-A"), second("p:", "A2", "ledger-A");
  ASSERT_TRUE(exchange_all(first, killed));
  ASSERT_TRUE(exchange_all(second, restarted));
  for (size_t i = 0; i <= kEntriesMax; ++i) EXPECT_EQ(restarted.cost(name(i)), 1) << i;
}

}  // namespace
}  // namespace signalbox::shared_counts
