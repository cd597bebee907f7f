// A random wait keeps requests that failed together from coming back together.

#include "router/workers/back_off.h"

#include <algorithm>
#include <cmath>

namespace signalbox::workers {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDefaultBase{25};
constexpr int kDefaultMaxTimes = 10;  // the base

}  // namespace

milliseconds back_off(const config::Reliability& settings, uint32_t retry, double draw,
                      std::optional<std::chrono::seconds> demanded) {
  if (demanded && settings.retry_after_max.count() > 0)
    return std::min<milliseconds>(*demanded, settings.retry_after_max);
  milliseconds base = settings.retry_back_off_base, most = settings.retry_back_off_max;
  if (base.count() == 0 && most.count() == 0) return milliseconds(0);
  if (base.count() == 0) base = kDefaultBase;
  if (most.count() == 0) most = kDefaultMaxTimes * base;
  const double range = static_cast<double>(base.count()) * (std::exp2(retry) - 1);
  return milliseconds(
      static_cast<int64_t>(std::min(range * draw, static_cast<double>(most.count()))));
}

}  // namespace signalbox::workers
