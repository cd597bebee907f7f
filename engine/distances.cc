// Tables are expanded once, for all distances that a network's texts can have.

#include "engine/distances.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace signalbox::engine {

DistanceRows::DistanceRows(int32_t reach, const std::function<int32_t(int32_t)>& row_of) {
  for (int32_t distance = 1 - reach; distance < reach; ++distance) {
    const int32_t row = row_of(distance);
    if (used.empty() || used.back() != row) used.push_back(row);
    rows.push_back(static_cast<int32_t>(used.size()) - 1);
  }
}

DistanceBias::DistanceBias(int32_t reach, int32_t heads, const BucketsT5& buckets,
                           const Buffer<float>& table)
    : width_(2 * int64_t{reach} - 1), values_(heads * width_) {
  for (int32_t distance = 1 - reach; distance < reach; ++distance) {
    const float* row = table.data() + int64_t{buckets.of(distance)} * heads;  // (heads)
    for (int32_t head = 0; head < heads; ++head)
      values_.data()[head * width_ + reach - 1 + distance] = row[head];
  }
}

kernels::DistanceTerms DistanceBias::terms() const {
  return {.bias = values_.data() + width_ / 2, .bias_stride = width_};
}

int32_t BucketsT5::of(int32_t distance) const {
  const int32_t half = count / 2, exact = half / 2, size = std::abs(distance);
  const int32_t first = distance > 0 ? half : 0;
  if (size < exact) return first + size;
  const float log = std::log(static_cast<float>(size) / static_cast<float>(exact));
  const auto of_log = static_cast<float>(std::log(double(far) / exact));
  const auto steps = static_cast<int32_t>(log / of_log * static_cast<float>(half - exact));
  return first + std::min(exact + steps, half - 1);
}

int32_t bucket_deberta(int32_t difference, int32_t buckets, int32_t distance_max) {
  const int32_t middle = buckets / 2, size = std::abs(difference);
  if (size <= middle) return difference;
  const auto half = static_cast<float>(middle);
  const float log = std::log(static_cast<float>(size) / half);
  const float of_log = std::log(static_cast<float>(distance_max - 1) / half);
  const auto steps = static_cast<int32_t>(std::ceil(log / of_log * (half - 1)));
  return difference > 0 ? middle + steps : -middle - steps;
}

}  // namespace signalbox::engine
