// Both servers return the members of a row by the same names, so one reader serves both.

#include "router/shared_memories/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/sha256.h"
#include "base/utf8.h"
#include "router/stores/milvus.h"

namespace signalbox::shared_memories {
namespace {

constexpr size_t kPrefix = 4, kHexDigits = 32;
constexpr std::string_view kMemoryPrefix = "mem_", kDeletionPrefix = "del_", kAllPrefix = "all_";
constexpr std::array<std::string_view, kTextFields + 1> kRowFields = {
    "id",     "owner",   "kind",  "created",   "used", "uses",   "digest",
    "moment", "expires", "model", "masked_by", "text", "answer", "vector"};

tl::unexpected<Error> no_row(std::string_view name) {
  return fail(Code::kIo, "a row has no valid \"{}\"", name);
}

/// An integer from 0 to `max`, which some versions of Milvus write as a string.
template <class T>
Result<void> take(const json::Value& members, std::string_view name, T max, T& into) {
  const auto number = stores::milvus_integer(members, name);
  if (!number || *number < 0 || static_cast<uint64_t>(*number) > static_cast<uint64_t>(max))
    return no_row(name);
  into = static_cast<T>(*number);
  return {};
}

Result<void> take_text(const json::Value& members, std::string_view name, std::string& into) {
  const auto value = members.find(name);
  if (!value || !value->is_string() || value->text().size() > kRowTextMax) return no_row(name);
  into = value->text();
  return {};
}

Result<void> take_time(const json::Value& members, std::string_view name,
                       memories::TimePoint& into) {
  int64_t ms = 0;
  SIGNALBOX_TRY_VOID(take(members, name, kMsMax, ms));
  into = from_ms(ms);
  return {};
}

Result<void> take_vector(const std::optional<json::Value>& vector, std::vector<float>& into) {
  if (!vector || !vector->is_array()) return no_row("vector");
  for (const json::Value value : vector->items()) {
    const auto number = value.number();
    const bool is_float = number && std::abs(*number) <= std::numeric_limits<float>::max();
    if (!is_float || into.size() == kValuesMax) return no_row("vector");
    into.push_back(static_cast<float>(*number));
  }
  return {};
}

Result<RowKind> take_kind(const json::Value& members) {
  auto kind = static_cast<uint32_t>(RowKind::kMemory);
  SIGNALBOX_TRY_VOID(take(members, "kind", uint32_t{2}, kind));
  return static_cast<RowKind>(kind);
}

std::string_view prefix_of(RowKind kind) {
  if (kind == RowKind::kMemory) return kMemoryPrefix;
  return kind == RowKind::kDeletion ? kDeletionPrefix : kAllPrefix;
}

template <class T>
auto row_texts(T& record) {
  return std::array{&record.vector.model, &record.memory.masked_by, &record.memory.text,
                    &record.memory.answer};
}

}  // namespace

std::span<const std::string_view> row_fields() {
  return kRowFields;
}

bool is_row_id(std::string_view id) {
  if (id.size() != kPrefix + kHexDigits) return false;
  const std::string_view prefix = id.substr(0, kPrefix);
  if (prefix != kMemoryPrefix && prefix != kDeletionPrefix && prefix != kAllPrefix) return false;
  return is_memory_id(std::string(kMemoryPrefix) + std::string(id.substr(kPrefix)));
}

std::string deletion_id(std::string_view memory_id) {
  return std::string(kDeletionPrefix) + std::string(memory_id.substr(kPrefix));
}

Row deletion_row(const Deletion& deletion, size_t dimension, int64_t now_ms, int64_t expires_ms) {
  const bool is_all = deletion.id.empty();
  Row out;
  out.id = is_all ? std::string(kAllPrefix) + sha256_hex(deletion.name()).substr(0, kHexDigits)
                  : deletion_id(deletion.id);
  out.kind = is_all ? RowKind::kDeletionOfAll : RowKind::kDeletion;
  out.entry.created = out.entry.used = from_ms(now_ms);
  out.entry.moment = deletion.moment;
  out.expires_ms = expires_ms;
  out.record.owner = deletion.owner;
  // Milvus needs a vector with a direction in each row.
  out.record.vector.values.assign(dimension, 0);
  out.record.vector.values.front() = 1;
  return out;
}

Deletion deletion_of(const Row& row) {
  Deletion out{.owner = row.record.owner, .moment = row.entry.moment};
  if (row.kind == RowKind::kDeletion) out.id = std::string(kMemoryPrefix) + row.id.substr(kPrefix);
  return out;
}

Result<void> check_row(const Row& row) {
  const Record& record = row.record;
  for (const std::string* text : row_texts(record)) {
    if (text->size() > kRowTextMax)
      return fail(Code::kTooLarge, "a memory with a text of {} bytes, where each may have {}",
                  text->size(), kRowTextMax);
    if (!utf8::is_valid(*text)) return fail(Code::kInvalid, "a memory whose text is not UTF-8");
  }
  return {};
}

void write_row(const Row& row, json::Writer& to) {
  const IndexEntry& entry = row.entry;
  to.member("id", row.id).member("owner", row.record.owner);
  to.member("kind", static_cast<int64_t>(row.kind)).member("created", to_ms(entry.created));
  to.member("used", to_ms(entry.used)).member("uses", static_cast<int64_t>(entry.uses));
  to.member("digest", entry.digest).member("moment", static_cast<int64_t>(entry.moment));
  to.member("expires", row.expires_ms).member("model", row.record.vector.model);
  to.member("masked_by", row.record.memory.masked_by).member("text", row.record.memory.text);
  to.member("answer", row.record.memory.answer);
}

Result<Row> read_row(const json::Value& members, const std::optional<json::Value>& vector,
                     bool is_whole) {
  Row out;
  SIGNALBOX_TRY(out.kind, take_kind(members));
  SIGNALBOX_TRY_VOID(take_text(members, "id", out.id));
  if (!is_row_id(out.id) || !out.id.starts_with(prefix_of(out.kind))) return no_row("id");
  SIGNALBOX_TRY_VOID(take_text(members, "owner", out.record.owner));
  if (!is_owner(out.record.owner)) return no_row("owner");
  IndexEntry& entry = out.entry;
  SIGNALBOX_TRY_VOID(take_time(members, "created", entry.created));
  SIGNALBOX_TRY_VOID(take_time(members, "used", entry.used));
  SIGNALBOX_TRY_VOID(take(members, "uses", UINT32_MAX, entry.uses));
  SIGNALBOX_TRY_VOID(take_text(members, "digest", entry.digest));
  if (entry.digest.size() > kHexDigits) return no_row("digest");
  SIGNALBOX_TRY_VOID(take(members, "moment", kMomentMax, entry.moment));
  SIGNALBOX_TRY_VOID(take(members, "expires", kMsMax, out.expires_ms));
  if (out.kind != RowKind::kMemory || !is_whole) return out;
  const auto fields = row_fields().subspan(kEntryFields);
  const auto texts = row_texts(out.record);
  for (size_t i = 0; i < texts.size(); ++i)
    SIGNALBOX_TRY_VOID(take_text(members, fields[i], *texts[i]));
  SIGNALBOX_TRY_VOID(take_vector(vector, out.record.vector.values));
  if (!check_vector(out.record.vector)) return no_row("vector");
  out.record.memory.id = out.id;
  out.record.memory.created = entry.created;
  out.record.memory.used = entry.used;
  out.record.memory.uses = entry.uses;
  return out;
}

Result<void> Rows::add(const json::Value& members, const std::optional<json::Value>& vector,
                       const RowQuery& query) {
  auto row = read_row(members, vector, query.is_whole);
  if (!row) {
    const auto kind = take_kind(members);
    if (!kind || *kind != RowKind::kMemory) return tl::unexpected<Error>(std::move(row).error());
    ++illegible;
    return {};
  }
  // Check the filter again: a server that ignores it must neither mix up users nor cause an early
  // purge.
  const bool is_wanted =
      (query.owner.empty() || row->record.owner == query.owner) &&
      (query.ids.empty() || std::ranges::find(query.ids, row->id) != query.ids.end()) &&
      (!query.only_deletions || row->kind != RowKind::kMemory) &&
      (query.moment_above == 0 || row->entry.moment > query.moment_above) &&
      (query.expires_below_ms == 0 || row->expires_ms < query.expires_below_ms);
  if (!is_wanted) {
    ++illegible;
    return {};
  }
  rows.push_back(*std::move(row));
  return {};
}

}  // namespace signalbox::shared_memories
