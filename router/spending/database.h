#pragma once
// The spending of all days in an SQLite file. The adapter to SQLite.

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "router/spending/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace signalbox::spending {

/// One connection, for one thread at a time. Every change is written to the disk before the call
/// returns, and a process that is killed leaves the file whole.
class Database final : public Source {
 public:
  /// Opens the file or makes it. `reads_only`: it must exist, and nothing is changed. Errors: kIo;
  /// kNotFound; kCorrupt for a file of something else or of a newer version.
  static Result<Database> open(const std::filesystem::path& file, bool reads_only = false);
  Database(Database&&) noexcept = default;

  /// Adds the sums to those in the file, all or none. Errors: kIo, such as a full disk.
  Result<void> add(const Sums& sums);

  /// Returns the name of the file, and stores `fresh` as its name if it has none. Errors: kIo.
  Result<std::string> name(std::string_view fresh);

  Result<void> each(Day first, Day last, const Visit& visit) override;
  Result<void> each_shadow(Day first, Day last, const VisitShadow& visit) override;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  Database(std::filesystem::path file, sqlite3* database) : file_(std::move(file)) {
    database_.reset(database);
  }
  tl::unexpected<Error> failure(Code code = Code::kIo) const;
  Result<void> run(const char* statement);
  Result<Statement> prepare(const char* statement);
  Result<void> set_up(bool reads_only);
  Result<void> add_rows(const Sums& sums);
  Result<void> add_shadows(const Sums& sums);

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace signalbox::spending
