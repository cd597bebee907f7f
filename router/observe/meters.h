#pragma once
// The series of one configuration, and the rules for which of them a request changes.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/observe/account.h"
#include "router/observe/metrics.h"
#include "router/observe/operations.h"

namespace signalbox::observe {

/// The label values of one configuration.
struct Vocabulary {
  struct Model {
    std::string name;
    std::string currency;       // of its price; "": no price
    std::string provider = {};  // gen_ai.provider.name
  };
  std::vector<Model> models;
  std::string default_currency;  // of the default model's price; "": no price
  std::vector<std::string> decisions;
  std::string cache;                                         // its backend; "": no cache
  std::vector<Matches> signals;                              // by type
  std::vector<std::pair<const void*, std::string>> engines;  // the router's own models
};

/// The series of one configuration. They are looked up when it is loaded, so that a request only
/// searches maps that do not change. Thread-safe.
class Meters {
 public:
  /// `metrics` must outlive it.
  Meters(Metrics& metrics, const Vocabulary& vocabulary);

  /// Returns the configured name of one of the router's own models; "" for others.
  std::string_view engine_name(const void* model) const;

  /// Returns gen_ai.provider.name of a configured model; "" for others.
  const std::string& provider_of(std::string_view model) const {
    return of_model(model).operations->provider();
  }

  /// Counts a request that has ended.
  void record(const Account& account) const;
  /// Counts the call of a shadow that has ended, among the operations.
  void record_shadow(const Account& account) const;

  /// Counts a request as in progress at a model as long as this object lives.
  class AtModel {
   public:
    AtModel(const Meters& meters, std::string_view model);
    ~AtModel() { gauge_.add(-1); }
    AtModel(const AtModel&) = delete;
    AtModel& operator=(const AtModel&) = delete;

   private:
    Gauge& gauge_;
  };

  /// Call began() when a request arrives and ended() when it has been answered.
  void began() const { in_flight_.add(1); }
  void ended() const { in_flight_.add(-1); }

 private:
  static constexpr size_t kStatuses = 20;
  /// Series that are looked up at first use, because few of the combinations ever occur.
  using Slots = std::array<std::atomic<Counter*>, kStatuses>;
  struct Spent {
    Counter *replies, *prompt, *cached, *completion, *repeated;
    Counter *cost = nullptr, *on_default = nullptr;  // null: no price
  };
  /// The series of one model and one decision.
  struct Pair {
    Slots requests = {};
    std::once_flag looked_up;  // guards `spent`
    Spent spent = {};
  };
  struct ModelSeries {
    std::string name, currency;
    Gauge* in_flight;
    Histogram *completion_latency, *ttft, *tpot;
    Counter *prompt_tokens, *completion_tokens, *tokens;
    Counter* cost = nullptr;  // null: no price
    std::unique_ptr<Operations> operations;
    std::map<std::string, std::unique_ptr<Pair>, std::less<>> pairs;  // by decision
  };
  struct DecisionSeries {
    Counter* matches;
    Histogram* confidence;
    Counter *cache_hits = nullptr, *cache_misses = nullptr;  // null: no cache
  };
  struct SignalSeries {
    Counter *runs, *errors;
    Histogram* latency;
    std::map<std::string, Counter*, std::less<>> matches;  // by name
  };
  struct EngineSeries {
    std::string name;
    Histogram* latency;
  };

  ModelSeries& add_model(const std::string& name, const std::string& provider,
                         const std::vector<std::string>& decisions);
  const ModelSeries& of_model(std::string_view name) const;
  void record_understanding(const Account& account) const;
  void record_cache(const Account& account) const;
  void record_guards(const Account& account) const;
  void record_reply(const Account& account, const ModelSeries& model) const;
  void record_calls(const Account& account) const;
  static void add_tokens(const ModelSeries& model, const Tokens& tokens, double cost);
  static void spend(const Spent& spent, const Tokens& tokens, double cost);
  void record_spending(const Account& account, const ModelSeries& model) const;
  const Spent& spent_of(const Account& account, const ModelSeries& model) const;
  Pair& pair_of(const Account& account, const ModelSeries& model, std::string_view& decision) const;
  Counter& requests_of(const Account& account, const ModelSeries& model) const;
  Spent look_up(const ModelSeries& model, const std::string& decision) const;

  Metrics& metrics_;
  const std::string default_currency_;
  Gauge& in_flight_;
  Counter& decided_;
  Histogram &routing_latency_, &decision_latency_;
  std::map<std::string, ModelSeries, std::less<>> models_;
  std::map<std::string, DecisionSeries, std::less<>> decisions_;
  Histogram* cache_latency_ = nullptr;             // null: no cache
  std::array<Counter*, 5> cache_operations_ = {};  // by CacheUse
  std::map<std::string, SignalSeries, std::less<>> signals_;
  std::map<const void*, EngineSeries> engines_;
};

}  // namespace signalbox::observe
