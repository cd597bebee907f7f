// The write-ahead log lets `signalbox report` read while the router writes.

#include "router/spending/database.h"

#include <sqlite3.h>

#include <array>
#include <system_error>

namespace signalbox::spending {
namespace {

constexpr int kVersion = 1;
constexpr int kBusyMsMax = 2'000;

constexpr const char* kMake =
    "CREATE TABLE spending (day INTEGER, key TEXT, user TEXT, groups TEXT, model TEXT, decision "
    "TEXT, currency TEXT, requests INTEGER, prompt INTEGER, cached INTEGER, written INTEGER, "
    "completion INTEGER, reasoning INTEGER, cost REAL, cost_on_largest REAL, PRIMARY KEY (day, "
    "key, user, groups, model, decision, currency)) WITHOUT ROWID; PRAGMA user_version = 1;";

constexpr const char* kAdd =
    "INSERT INTO spending VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
    "?15) ON CONFLICT DO UPDATE SET requests = requests + ?8, prompt = prompt + ?9, cached = "
    "cached + ?10, written = written + ?11, completion = completion + ?12, reasoning = reasoning + "
    "?13, cost = cost + ?14, cost_on_largest = cost_on_largest + ?15";

constexpr const char* kRead =
    "SELECT day, key, user, groups, model, decision, currency, requests, prompt, cached, written, "
    "completion, reasoning, cost, cost_on_largest FROM spending WHERE day BETWEEN ?1 AND ?2";

// Both list the members in the order of the columns.
template <class Of>
auto texts_of(Of& account) {
  return std::array{&account.key,   &account.user,     &account.groups,
                    &account.model, &account.decision, &account.currency};
}
template <class Of>
auto counts_of(Of& spent) {
  return std::array{&spent.requests, &spent.prompt,     &spent.cached,
                    &spent.written,  &spent.completion, &spent.reasoning};
}

void bind(sqlite3_stmt* statement, const Account& account, const Spent& spent) {
  int column = 0;
  sqlite3_bind_int64(statement, ++column, account.day);
  for (const std::string* text : texts_of(account))
    sqlite3_bind_text(statement, ++column, text->data(), static_cast<int>(text->size()),
                      SQLITE_STATIC);
  for (const uint64_t* count : counts_of(spent))
    sqlite3_bind_int64(statement, ++column, static_cast<int64_t>(*count));
  sqlite3_bind_double(statement, ++column, spent.cost);
  sqlite3_bind_double(statement, ++column, spent.cost_on_largest);
}

void read_row(sqlite3_stmt* row, Account& account, Spent& spent) {
  int column = 0;
  account.day = sqlite3_column_int64(row, column++);
  for (std::string* text : texts_of(account)) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    *text = bytes == nullptr
                ? std::string()
                : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(row, column)));
    ++column;
  }
  for (uint64_t* count : counts_of(spent))
    *count = static_cast<uint64_t>(sqlite3_column_int64(row, column++));
  spent.cost = sqlite3_column_double(row, column++);
  spent.cost_on_largest = sqlite3_column_double(row, column++);
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}
void Database::Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

tl::unexpected<Error> Database::failure(Code code) const {
  return fail(code, "{}: {}", file_.string(), sqlite3_errmsg(database_.get()));
}

Result<Database> Database::open(const std::filesystem::path& file, bool reads_only) {
  std::error_code ignored;
  if (reads_only && !std::filesystem::exists(file, ignored))
    return fail(Code::kNotFound, "{}: there is no such file", file.string());
  if (!reads_only && file.has_parent_path())
    std::filesystem::create_directories(file.parent_path(), ignored);
  sqlite3* opened = nullptr;
  const int flags = reads_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int status = sqlite3_open_v2(file.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database out(file, opened);
  if (status != SQLITE_OK) return out.failure();
  SIGNALBOX_TRY_VOID(out.set_up(reads_only));
  return out;
}

Result<void> Database::set_up(bool reads_only) {
  sqlite3_busy_timeout(database_.get(), kBusyMsMax);
  if (!reads_only) {
    std::error_code ignored;
    // The names in it are for the operator only.
    std::filesystem::permissions(
        file_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
    SIGNALBOX_TRY_VOID(run("PRAGMA journal_mode = WAL"));
    SIGNALBOX_TRY_VOID(run("PRAGMA synchronous = FULL"));
  }
  int version = 0;
  {
    SIGNALBOX_TRY(const Statement query, prepare("PRAGMA user_version"));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure(Code::kCorrupt);
    version = sqlite3_column_int(query.get(), 0);
  }
  if (version == 0 && !reads_only) {
    SIGNALBOX_TRY_VOID(run("BEGIN IMMEDIATE"));
    SIGNALBOX_TRY_VOID(run(kMake));
    return run("COMMIT");
  }
  if (version != kVersion) {
    return fail(Code::kCorrupt, "{}: expected version {} of the spending file, found {}",
                file_.string(), kVersion, version);
  }
  return {};
}

Result<void> Database::run(const char* statement) {
  if (sqlite3_exec(database_.get(), statement, nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure();
  return {};
}

Result<Database::Statement> Database::prepare(const char* statement) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database_.get(), statement, -1, &made, nullptr) != SQLITE_OK)
    return failure();
  return Statement(made);
}

Result<void> Database::add_rows(const Sums& sums) {
  SIGNALBOX_TRY(const Statement add, prepare(kAdd));
  for (const auto& [account, spent] : sums) {
    bind(add.get(), account, spent);
    if (sqlite3_step(add.get()) != SQLITE_DONE) return failure();
    sqlite3_reset(add.get());
  }
  return {};
}

Result<void> Database::add(const Sums& sums) {
  SIGNALBOX_TRY_VOID(run("BEGIN IMMEDIATE"));
  Result<void> done = add_rows(sums);
  if (done) done = run("COMMIT");
  if (!done) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

Result<void> Database::each(Day first, Day last, const Visit& visit) {
  SIGNALBOX_TRY(const Statement rows, prepare(kRead));
  sqlite3_bind_int64(rows.get(), 1, first);
  sqlite3_bind_int64(rows.get(), 2, last);
  int status = 0;
  while ((status = sqlite3_step(rows.get())) == SQLITE_ROW) {
    Account account;
    Spent spent;
    read_row(rows.get(), account, spent);
    visit(account, spent);
  }
  if (status != SQLITE_DONE) return failure();
  return {};
}

}  // namespace signalbox::spending
