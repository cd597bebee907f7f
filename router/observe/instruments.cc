// The series live in a map because its nodes never move.

#include "router/observe/instruments.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace signalbox::observe {
namespace {

template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, Counter>) return Kind::kCounter;
  if constexpr (std::is_same_v<T, Gauge>) return Kind::kGauge;
  return Kind::kHistogram;
}

std::string valid_utf8(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text, at);
    utf8::append(out, decoded.code_point);
    at += decoded.bytes;
  }
  return out;
}

}  // namespace

std::vector<Reading> read(std::span<const FamilyBase* const> families) {
  std::vector<Reading> out;
  out.reserve(families.size());
  for (const FamilyBase* family : families) {
    Reading reading{family, family->series()};
    for (Series& series : reading.series) {
      for (std::string& label : series.labels) {
        if (!utf8::is_valid(label)) label = valid_utf8(label);
      }
    }
    if (!reading.series.empty()) out.push_back(std::move(reading));
  }
  return out;
}

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds), counts_(new std::atomic<uint64_t>[bounds.size() + 1]()) {}

void Histogram::observe(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<size_t>(at - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<uint64_t> Histogram::counts() const {
  std::vector<uint64_t> out(bounds_.size() + 1);
  for (size_t i = 0; i < out.size(); ++i) out[i] = counts_[i].load(std::memory_order_relaxed);
  return out;
}

template <class T>
Family<T>::Family(std::vector<const FamilyBase*>& all, std::string_view name, std::string_view help,
                  std::vector<std::string_view> labels, std::span<const double> bounds)
    : FamilyBase(all, kind_of<T>(), name, help, std::move(labels)), bounds_(bounds) {}

template <class T>
T& Family<T>::with(std::vector<std::string> values) {
  SIGNALBOX_CHECK(values.size() == labels().size());
  const std::lock_guard lock(mutex_);
  auto found = series_.find(values);
  if (found == series_.end() && series_.size() >= kSeriesMax) {
    values.assign(values.size(), "other");
    found = series_.find(values);
  }
  if (found != series_.end()) return *found->second;
  std::unique_ptr<T> made;
  if constexpr (std::is_same_v<T, Histogram>) {
    made = std::make_unique<T>(bounds_);
  } else {
    made = std::make_unique<T>();
  }
  return *series_.emplace(std::move(values), std::move(made)).first->second;
}

template <class T>
std::vector<Series> Family<T>::series() const {
  std::vector<Series> out;
  const std::lock_guard lock(mutex_);
  out.reserve(series_.size());
  for (const auto& [labels, instrument] : series_) {
    if constexpr (std::is_same_v<T, Histogram>) {
      out.push_back({labels, 0, bounds_, instrument->counts(), instrument->sum()});
    } else {
      out.push_back({labels, instrument->value()});
    }
  }
  return out;
}

void Table::set(std::vector<Series> rows) {
  if (rows.size() > Family<Gauge>::kSeriesMax) rows.resize(Family<Gauge>::kSeriesMax);
  const std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
}

std::vector<Series> Table::series() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

}  // namespace signalbox::observe
