#pragma once
// Numbers that requests move and a scrape reads: atomics alone, so that no request waits for
// another one or for the scrape. The client library's own histogram holds a mutex that all requests
// of a series would share, and it is therefore used for writing the text only (exposition.h).

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::observe {

/// Only grows. Thread-safe, as all here.
class Counter {
 public:
  void add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  /// For what somebody else counts, who alone moves it.
  void follow(double total) { value_.store(total, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge {
 public:
  void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Counts by size. A scrape may see an observation in one number and not yet in another; the counts
/// it is given are consistent among themselves.
class Histogram {
 public:
  /// `bounds` ascend, belong to upper ends that are included, and outlive the histogram.
  explicit Histogram(std::span<const double> bounds);
  void observe(double value);

  std::span<const double> bounds() const { return bounds_; }
  /// (bounds + 1), each without those below it; the last is of what exceeds every bound.
  std::vector<uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::span<const double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;  // (bounds + 1)
  std::atomic<double> sum_{0};
};

enum class Kind : uint8_t { kCounter, kGauge, kHistogram };

/// One series as a scrape finds it.
struct Series {
  std::vector<std::string> labels;  // values, in the order of the family's names
  double value = 0;                 // of a counter or a gauge
  std::span<const double> bounds = {};
  std::vector<uint64_t> counts = {};  // as Histogram::counts()
  double sum = 0;
};

/// All series of one name.
class FamilyBase {
 public:
  /// Enters itself in `all`.
  FamilyBase(std::vector<const FamilyBase*>& all, Kind kind, std::string_view name,
             std::string_view help, std::vector<std::string_view> labels)
      : kind_(kind), name_(name), help_(help), labels_(std::move(labels)) {
    all.push_back(this);
  }
  virtual ~FamilyBase() = default;
  FamilyBase(const FamilyBase&) = delete;
  FamilyBase& operator=(const FamilyBase&) = delete;

  Kind kind() const { return kind_; }
  std::string_view name() const { return name_; }
  std::string_view help() const { return help_; }
  const std::vector<std::string_view>& labels() const { return labels_; }
  virtual std::vector<Series> series() const = 0;

 private:
  const Kind kind_;
  const std::string_view name_, help_;  // static
  const std::vector<std::string_view> labels_;
};

/// Takes a lock: handles are asked for once, when a configuration is taken up, and kept. Series
/// stay to the end of the process, so a handle does, too.
template <class T>
class Family final : public FamilyBase {
 public:
  /// What names of configurations that come and go may add up to; further ones share the series
  /// whose labels are all "other".
  static constexpr size_t kSeriesMax = 2000;

  Family(std::vector<const FamilyBase*>& all, std::string_view name, std::string_view help,
         std::vector<std::string_view> labels = {}, std::span<const double> bounds = {});

  T& with(std::vector<std::string> values);
  /// Of a family without labels.
  T& only() { return with({}); }
  std::vector<Series> series() const override;

 private:
  const std::span<const double> bounds_;
  mutable std::mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<T>> series_;
};

/// Gauges that are found anew whenever somebody looks, so that what is gone is no longer shown.
class Table final : public FamilyBase {
 public:
  Table(std::vector<const FamilyBase*>& all, std::string_view name, std::string_view help,
        std::vector<std::string_view> labels)
      : FamilyBase(all, Kind::kGauge, name, help, std::move(labels)) {}

  /// In place of those before; of more than Family's kSeriesMax, the first.
  void set(std::vector<Series> rows);
  std::vector<Series> series() const override;

 private:
  mutable std::mutex mutex_;
  std::vector<Series> rows_;
};

extern template class Family<Counter>;
extern template class Family<Gauge>;
extern template class Family<Histogram>;

}  // namespace signalbox::observe
