// The bytes of a batch are estimated from above: each group of an account is a total of a day and
// one of a month.

#include "router/spending/store.h"

#include <utility>

namespace signalbox::spending {
namespace {

constexpr size_t kRowBytes = 400, kTotalBytes = 200;

size_t bytes_of(const Account& account) {
  size_t out = kRowBytes + account.groups.size() + account.model.size() + account.decision.size();
  each_spender(account, [&](config::Spending::By, std::string_view name) {
    out += 2 * (kTotalBytes + name.size());
  });
  return out;
}

size_t bytes_of(const ShadowAccount& account) {
  return kRowBytes + account.decision.size() + account.model.size() + account.shadow.size();
}

void add_totals(const Account& account, double cost, std::map<TotalKey, double>& to) {
  if (account.currency.empty()) return;
  each_spender(account, [&](config::Spending::By by, std::string_view name) {
    for (const auto per : {config::Spending::Per::kDay, config::Spending::Per::kMonth})
      to[{by, per, begin_of(per, account.day), std::string(name), account.currency}] += cost;
  });
}

}  // namespace

Sums take_some(Sums& from, size_t rows_max, size_t bytes_max) {
  Sums out;
  size_t bytes = 0;
  const auto has_room = [&] { return out.size() < rows_max && bytes < bytes_max; };
  while (!from.requests.empty() && has_room()) {
    auto node = from.requests.extract(from.requests.begin());
    bytes += bytes_of(node.key());
    out.requests.insert(std::move(node));
  }
  while (!from.shadows.empty() && has_room()) {
    auto node = from.shadows.extract(from.shadows.begin());
    bytes += bytes_of(node.key());
    out.shadows.insert(std::move(node));
  }
  return out;
}

Batch make_batch(Sums sums, uint64_t number) {
  Batch out;
  out.number = number;
  out.sums = std::move(sums);
  for (const auto& [account, spent] : out.sums.requests)
    add_totals(account, spent.cost, out.totals);
  return out;
}

}  // namespace signalbox::spending
