#pragma once
// An abstract model of Redis: it does to maps what the scripts do to keys, while time stands still.
// It cannot be the real server, because every order of events starts from a copy of it.

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include "router/shared_counts/exchange.h"

namespace signalbox::shared_counts::test {

class ScriptServer {
 public:
  stores::RedisValue run(const Words& command) {
    if (epoch_ == 0) epoch_ = ++clock_;
    const Words arguments(command.begin() + 4, command.end());
    return command[1] == totals_script() ? run_totals(arguments) : run_buckets(arguments);
  }
  /// It stops and starts again without its data. Its clock has gone on.
  void lose_everything() {
    const int clock = clock_;
    *this = {};
    clock_ = clock;
  }

  /// The amounts that it has of a router's spending, and of all others'.
  double spent_by(const std::string& ledger) const {
    double out = 0;
    for (const auto& [name, amounts] : totals_) {
      if (const auto found = amounts.find(ledger); found != amounts.end()) out += found->second;
    }
    return out;
  }
  double spent_by_others(const std::string& ledger) const {
    double out = -spent_by(ledger);
    for (const auto& [name, amounts] : totals_) {
      for (const auto& [router, amount] : amounts) out += amount;
    }
    return out;
  }
  double requests_used() const {
    double out = 0;
    for (const auto& [name, bucket] : buckets_) out += bucket.requests;
    return out;
  }

  uint64_t batch_of(const std::string& router) const {
    const auto found = batches_.find(router);
    return found == batches_.end() ? 0 : found->second;
  }

  /// Without the batches, which only matter beside those of the messages.
  std::string key() const {
    std::string out = fmt::format("e{} c{}", epoch_, clock_);
    for (const auto& [name, amounts] : totals_) {
      for (const auto& [router, amount] : amounts) out += fmt::format(" {}={}", router, amount);
    }
    for (const auto& [name, bucket] : buckets_) out += fmt::format(" b{}", bucket.requests);
    for (const auto& [name, score] : total_scores_) out += fmt::format(" @{}", score);
    for (const auto& [name, score] : bucket_scores_) out += fmt::format(" @{}", score);
    return out;
  }

 private:
  struct Bucket {
    std::string requests_per_unit, tokens_per_unit, unit;
    double requests = 0, tokens = 0;
  };
  using Scores = std::map<std::string, int>;

  static stores::RedisValue text(std::string of) {
    stores::RedisValue out;
    out.type = stores::RedisValue::Type::kText;
    out.text = std::move(of);
    return out;
  }
  static stores::RedisValue text(double of) { return text(fmt::format("{:.17g}", of)); }
  static stores::RedisValue list() {
    stores::RedisValue out;
    out.type = stores::RedisValue::Type::kList;
    return out;
  }
  static double number(const std::string& of) { return std::strtod(of.c_str(), nullptr); }

  /// The epoch, the new cursor, and entries for the first changes since the old cursor.
  template <class Read>
  stores::RedisValue changes(const Scores& scores, const std::string& since, const Read& read) {
    stores::RedisValue out = list();
    std::map<int, std::string> by_score;
    for (const auto& [name, score] : scores) {
      if (score > number(since)) by_score.emplace(score, name);
    }
    while (by_score.size() > kEntriesMax) by_score.erase(std::prev(by_score.end()));
    out.items = {text(std::to_string(epoch_)),
                 text(by_score.empty() ? since : std::to_string(by_score.rbegin()->first))};
    for (const auto& [score, name] : by_score) {
      stores::RedisValue entry = list();
      read(name, entry.items);
      out.items.push_back(std::move(entry));
    }
    return out;
  }

  stores::RedisValue run_totals(const Words& of) {
    const std::string& me = of[0];
    for (size_t i = 2; i < of.size(); i += 3) {
      auto& amounts = totals_[of[i]];
      const auto found = amounts.find(me);
      if (number(of[i + 2]) <= (found == amounts.end() ? -1 : found->second)) continue;
      amounts[me] = number(of[i + 2]);
      total_scores_[of[i]] = ++clock_;
    }
    return changes(total_scores_, of[1], [&](const std::string& name, auto& entry) {
      double own = 0, others = 0;
      for (const auto& [router, amount] : totals_[name]) (router == me ? own : others) += amount;
      entry = {text(name), text(others), text(own)};
    });
  }

  stores::RedisValue run_buckets(const Words& of) {
    uint64_t& last = batches_[of[0]];
    const uint64_t batch = std::stoull(of[1]);
    if (of.size() > 3 && batch > last) {
      last = batch;
      for (size_t i = 3; i < of.size(); i += 9) use(of, i);
    }
    return changes(bucket_scores_, of[2], [&](const std::string& name, auto& entry) {
      const Bucket& bucket = buckets_[name];
      entry = {text(name),        text(bucket.requests_per_unit), text(bucket.tokens_per_unit),
               text(bucket.unit), text(bucket.requests),          text(bucket.tokens)};
    });
  }
  void use(const Words& of, size_t i) {
    double requests = number(of[i + 4]), tokens = number(of[i + 5]);
    const double known_requests = number(of[i + 6]), known_tokens = number(of[i + 7]);
    const auto found = buckets_.find(of[i]);
    if (found == buckets_.end()) {
      requests = known_requests;
      tokens = known_tokens;
    } else {
      requests += found->second.requests;
      tokens += found->second.tokens;
      if (of[i + 8] == "1") {
        requests = std::max(requests, known_requests);
        tokens = std::max(tokens, known_tokens);
      }
    }
    if (requests <= 0 && tokens <= 0) return;
    buckets_[of[i]] = {of[i + 1], of[i + 2], of[i + 3], requests, tokens};
    bucket_scores_[of[i]] = ++clock_;
  }

  int clock_ = 0, epoch_ = 0;  // 0: there is none yet
  std::map<std::string, std::map<std::string, double>> totals_;
  std::map<std::string, Bucket> buckets_;
  std::map<std::string, uint64_t> batches_;
  Scores total_scores_, bucket_scores_;
};

}  // namespace signalbox::shared_counts::test
