#pragma once
// Numbers that requests change and a scrape reads. They are atomics, so that a request never waits
// for another request or for the scrape. The client library's histogram holds a mutex that all
// requests of a series would share, so the library is used only for writing the text
// (exposition.h).

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

/// Only grows. Thread-safe, like every class here.
class Counter {
 public:
  void add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  /// Sets the total of a counter that is kept elsewhere. Only that owner may call it.
  void follow(double total) { value_.store(total, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// A thread that reads a value also sees everything that other threads wrote before they added to
/// it.
class Gauge {
 public:
  void add(double amount) { value_.fetch_add(amount, std::memory_order_release); }
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<double> value_{0};
};

/// Counts values by size. A scrape may see an observation in the counts before it sees it in the
/// sum, or the other way round.
class Histogram {
 public:
  /// `bounds` are ascending, inclusive upper bounds. They must outlive the histogram.
  explicit Histogram(std::span<const double> bounds);
  void observe(double value);

  std::span<const double> bounds() const { return bounds_; }
  /// (bounds + 1); each counts the values above the previous bound only, and the last counts those
  /// above every bound.
  std::vector<uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::span<const double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;  // (bounds + 1)
  std::atomic<double> sum_{0};
};

enum class Kind : uint8_t { kCounter, kGauge, kHistogram };

/// One series as read by a scrape.
struct Series {
  std::vector<std::string> labels;  // label values, in the order of the family's label names
  double value = 0;                 // for a counter or a gauge
  std::span<const double> bounds = {};
  std::vector<uint64_t> counts = {};  // as in Histogram::counts()
  double sum = 0;
};

/// All series with one name.
class FamilyBase {
 public:
  /// Appends itself to `all`.
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

/// The series of one family at one moment.
struct Reading {
  const FamilyBase* family;
  std::vector<Series> series;  // in label values, bytes that are not valid UTF-8 are U+FFFD
};
/// Leaves out families without series. Thread-safe.
std::vector<Reading> read(std::span<const FamilyBase* const> families);

/// with() takes a lock, so callers request their handles once, when a configuration is loaded, and
/// keep them. Series and handles live until the process ends.
template <class T>
class Family final : public FamilyBase {
 public:
  /// The most series per family since the start, those of earlier configurations included. Further
  /// ones share the series whose labels are all "other".
  static constexpr size_t kSeriesMax = 2000;

  Family(std::vector<const FamilyBase*>& all, std::string_view name, std::string_view help,
         std::vector<std::string_view> labels = {}, std::span<const double> bounds = {});

  T& with(std::vector<std::string> values);
  /// For a family without labels.
  T& only() { return with({}); }
  std::vector<Series> series() const override;

 private:
  const std::span<const double> bounds_;
  mutable std::mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<T>> series_;
};

/// Gauges that are replaced as a whole before each scrape, so that rows that no longer exist
/// disappear.
class Table final : public FamilyBase {
 public:
  Table(std::vector<const FamilyBase*>& all, std::string_view name, std::string_view help,
        std::vector<std::string_view> labels)
      : FamilyBase(all, Kind::kGauge, name, help, std::move(labels)) {}

  /// Replaces all rows; keeps the first Family::kSeriesMax of them.
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
