#pragma once
// The place in which a ledger keeps its sums: a file of its own, or a server that several routers
// share.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/spending/spent.h"
#include "router/spending/totals.h"

namespace signalbox::spending {

struct Sums {
  std::map<Account, Spent> requests;
  std::map<ShadowAccount, ShadowSpent> shadows;

  bool empty() const { return requests.empty() && shadows.empty(); }
  size_t size() const { return requests.size() + shadows.size(); }
};

/// Sums that a store adds in one step. After a failure the same batch is sent again. A server needs
/// the number to recognise a batch that it has added already.
struct Batch {
  uint64_t number = 0;  // one more than that of the batch before
  Sums sums;
  std::map<TotalKey, double> totals;  // what these requests add to each total
};

/// Takes sums out of `from`, at most `rows_max` of them and about `bytes_max` bytes.
Sums take_some(Sums& from, size_t rows_max, size_t bytes_max);
Batch make_batch(Sums sums, uint64_t number);

/// The stored sums. For one thread at a time. Errors: kIo, kCorrupt, kUpstream.
class Source {
 public:
  virtual ~Source() = default;

  /// Visits the sums of the days from `first` to `last`.
  using Visit = std::function<void(const Account& account, const Spent& spent)>;
  virtual Result<void> each(Day first, Day last, const Visit& visit) = 0;
  using VisitShadow = std::function<void(const ShadowAccount& account, const ShadowSpent& spent)>;
  virtual Result<void> each_shadow(Day first, Day last, const VisitShadow& visit) = 0;
};

/// The totals that have changed, each summed over all routers.
struct Changes {
  std::vector<CommonTotal> totals;
  bool has_more = false;
};

/// For one thread at a time, except name() and source(). Calls block.
class Store {
 public:
  virtual ~Store() = default;
  /// For messages: "/var/lib/signalbox/spending.db", "postgres 127.0.0.1:5432".
  virtual const std::string& name() const = 0;
  /// Adds the sums to those in the store, all or none. Errors: kIo, kUpstream; kCorrupt for a store
  /// of another version.
  virtual Result<void> add(const Batch& batch) = 0;
  /// Opens the sums for reading, beside add().
  virtual Result<std::unique_ptr<Source>> source() = 0;
  /// Returns the store's name for the share of this router, which is `fresh` if it has none yet.
  virtual Result<std::string> share_name(std::string_view fresh) { return std::string(fresh); }

  /// True if several routers add to the same totals. The ledger then also calls changes().
  virtual bool is_common() const { return false; }
  /// Returns totals of these kinds that have changed since the call before; with `anew`, all of
  /// them. They include the amounts of every earlier add(). Errors: those of add().
  virtual Result<Changes> changes(const std::vector<TotalKind>&, Day, [[maybe_unused]] bool anew) {
    return Changes();
  }
};

}  // namespace signalbox::spending
