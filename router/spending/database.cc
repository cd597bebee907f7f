// The write-ahead log lets `signalbox report` read while the router writes.

#include "router/spending/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "router/spending/members.h"

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

// Files of earlier versions get the table when a router opens them, and stay readable for these
// versions.
constexpr const char* kMakeShadows =
    "CREATE TABLE IF NOT EXISTS shadows (day INTEGER, decision TEXT, model TEXT, shadow TEXT, "
    "currency TEXT, shadow_currency TEXT, failed INTEGER, pairs INTEGER, compared INTEGER, agreed "
    "INTEGER, contradicted INTEGER, measured INTEGER, tokens INTEGER, shadow_tokens INTEGER, "
    "similarity REAL, cost REAL, shadow_cost REAL, seconds REAL, shadow_seconds REAL, failed_cost "
    "REAL, PRIMARY KEY "
    "(day, decision, model, shadow, currency, shadow_currency)) WITHOUT ROWID";

constexpr const char* kAddShadow =
    "INSERT INTO shadows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
    "?16, ?17, ?18, ?19, ?20) ON CONFLICT DO UPDATE SET failed = failed + ?7, pairs = pairs + ?8, "
    "compared = compared + ?9, agreed = agreed + ?10, contradicted = contradicted + ?11, measured "
    "= measured + ?12, tokens = tokens + ?13, shadow_tokens = shadow_tokens + ?14, similarity = "
    "similarity + ?15, cost = cost + ?16, shadow_cost = shadow_cost + ?17, seconds = seconds + "
    "?18, shadow_seconds = shadow_seconds + ?19, failed_cost = failed_cost + ?20";

constexpr const char* kMakeName = "CREATE TABLE IF NOT EXISTS name (name TEXT)";
constexpr const char* kSetName = "INSERT INTO name SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM name)";
constexpr const char* kReadName = "SELECT name FROM name";

constexpr const char* kHasShadows =
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'shadows'";

constexpr const char* kReadShadows = "SELECT * FROM shadows WHERE day BETWEEN ?1 AND ?2";

void bind_row(sqlite3_stmt* statement, Day day, const auto& texts, const auto& counts,
              const auto& numbers) {
  int column = 0;
  sqlite3_bind_int64(statement, ++column, day);
  for (const std::string* text : texts)
    sqlite3_bind_text(statement, ++column, text->data(), static_cast<int>(text->size()),
                      SQLITE_STATIC);
  for (const uint64_t* count : counts)
    sqlite3_bind_int64(statement, ++column, static_cast<int64_t>(*count));
  for (const double* number : numbers) sqlite3_bind_double(statement, ++column, *number);
}

void read_row(sqlite3_stmt* row, Day& day, const auto& texts, const auto& counts,
              const auto& numbers) {
  int column = 0;
  day = sqlite3_column_int64(row, column++);
  for (std::string* text : texts) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    *text = bytes == nullptr
                ? std::string()
                : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(row, column)));
    ++column;
  }
  for (uint64_t* count : counts)
    *count = static_cast<uint64_t>(sqlite3_column_int64(row, column++));
  for (double* number : numbers) *number = sqlite3_column_double(row, column++);
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}
void Database::Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

tl::unexpected<Error> Database::failure(Code code) const {
  // SQLite's own messages for these do not contain the cause, such as a full disk or a missing
  // right.
  const int kind = sqlite3_errcode(database_.get()) & 0xff;
  const bool has_cause = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN;
  int cause = has_cause ? sqlite3_system_errno(database_.get()) : 0;
  // If SQLite cannot make the file, it only reports that it could not read it, so check the folder
  // here.
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  if (cause == ENOENT && ::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) != 0)
    cause = errno;
  return fail(code, "{}: {}{}", file_.string(), sqlite3_errmsg(database_.get()),
              cause == 0 ? "" : fmt::format(" ({})", std::strerror(cause)));
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
    SIGNALBOX_TRY_VOID(run("COMMIT"));
    version = kVersion;
  }
  if (version != kVersion) {
    return fail(Code::kCorrupt,
                "{}: expected version {} of the spending file, found {}; another version of the "
                "program wrote it: use that one, or move the file away to begin a new one",
                file_.string(), kVersion, version);
  }
  return reads_only ? Result<void>() : run(kMakeShadows);
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
  for (const auto& [account, spent] : sums.requests) {
    bind_row(add.get(), account.day, texts_of(account), counts_of(spent), numbers_of(spent));
    if (sqlite3_step(add.get()) != SQLITE_DONE) return failure();
    sqlite3_reset(add.get());
  }
  return {};
}

Result<void> Database::add_shadows(const Sums& sums) {
  if (sums.shadows.empty()) return {};
  SIGNALBOX_TRY(const Statement add, prepare(kAddShadow));
  for (const auto& [account, spent] : sums.shadows) {
    bind_row(add.get(), account.day, shadow_texts_of(account), shadow_counts_of(spent),
             shadow_numbers_of(spent));
    if (sqlite3_step(add.get()) != SQLITE_DONE) return failure();
    sqlite3_reset(add.get());
  }
  return {};
}

Result<void> Database::add(const Sums& sums) {
  SIGNALBOX_TRY_VOID(run("BEGIN IMMEDIATE"));
  Result<void> done = add_rows(sums);
  if (done) done = add_shadows(sums);
  if (done) done = run("COMMIT");
  if (!done) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

Result<std::string> Database::name(std::string_view fresh) {
  SIGNALBOX_TRY_VOID(run(kMakeName));
  SIGNALBOX_TRY(const Statement set, prepare(kSetName));
  sqlite3_bind_text(set.get(), 1, fresh.data(), static_cast<int>(fresh.size()), SQLITE_STATIC);
  if (sqlite3_step(set.get()) != SQLITE_DONE) return failure();
  SIGNALBOX_TRY(const Statement read, prepare(kReadName));
  if (sqlite3_step(read.get()) != SQLITE_ROW) return failure();
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(read.get(), 0));
  return text == nullptr ? std::string() : std::string(text);
}

Result<void> Database::each(Day first, Day last, const Visit& visit) {
  SIGNALBOX_TRY(const Statement rows, prepare(kRead));
  sqlite3_bind_int64(rows.get(), 1, first);
  sqlite3_bind_int64(rows.get(), 2, last);
  int status = 0;
  while ((status = sqlite3_step(rows.get())) == SQLITE_ROW) {
    Account account;
    Spent spent;
    read_row(rows.get(), account.day, texts_of(account), counts_of(spent), numbers_of(spent));
    visit(account, spent);
  }
  if (status != SQLITE_DONE) return failure();
  return {};
}

Result<void> Database::each_shadow(Day first, Day last, const VisitShadow& visit) {
  {
    SIGNALBOX_TRY(const Statement has, prepare(kHasShadows));
    if (sqlite3_step(has.get()) != SQLITE_ROW) return {};  // no router of this version has run
  }
  SIGNALBOX_TRY(const Statement rows, prepare(kReadShadows));
  sqlite3_bind_int64(rows.get(), 1, first);
  sqlite3_bind_int64(rows.get(), 2, last);
  int status = 0;
  while ((status = sqlite3_step(rows.get())) == SQLITE_ROW) {
    ShadowAccount account;
    ShadowSpent spent;
    read_row(rows.get(), account.day, shadow_texts_of(account), shadow_counts_of(spent),
             shadow_numbers_of(spent));
    visit(account, spent);
  }
  if (status != SQLITE_DONE) return failure();
  return {};
}

}  // namespace signalbox::spending
