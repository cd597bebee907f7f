// Lengths come before the texts, so that a record that was cut off is noticed.

#include "router/shared_memories/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/sha256.h"
#include "router/stores/record_numbers.h"

namespace signalbox::shared_memories {
namespace {

using memories::TimePoint;
using std::chrono::milliseconds;
using stores::read_number;
using stores::write_number;

constexpr std::string_view kMagic = "SBM1", kIdBegin = "mem_";
constexpr size_t kTexts = 5, kNumberBytes = 4, kTimeBytes = 8;
constexpr size_t kHeadBytes = kMagic.size() + kTimeBytes + (1 + kTexts) * kNumberBytes;
constexpr size_t kIdDigits = 32, kDigestDigits = 16, kOwnerDigits = 64;

template <class T>
auto texts_of(T& record) {
  return std::array{&record.owner, &record.memory.masked_by, &record.vector.model,
                    &record.memory.text, &record.memory.answer};
}

bool are_digits(std::string_view text, size_t count) {
  return text.size() == count && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

tl::unexpected<Error> no_record(std::string_view why) {
  return fail(Code::kCorrupt, "the bytes of a memory {}", why);
}

/// Takes the text up to the next space.
std::string_view take_word(std::string_view& from) {
  const size_t size = std::min(from.find(' '), from.size());
  const std::string_view out = from.substr(0, size);
  from.remove_prefix(std::min(size + 1, from.size()));
  return out;
}

/// Takes a number as write_entry() writes it, without zeros in front.
template <class T>
bool take_number(std::string_view& from, T max, T& into) {
  const std::string_view word = take_word(from);
  if (word.empty() || (word.size() > 1 && word.front() == '0')) return false;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), into);
  return error == std::errc() && end == word.data() + word.size() && into >= 0 && into <= max &&
         word.front() != '-';
}

}  // namespace

int64_t to_ms(TimePoint time) {
  const auto ms = std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  return std::clamp<int64_t>(ms, 0, kMsMax);
}

TimePoint from_ms(int64_t ms) {
  return TimePoint(milliseconds(ms));
}

bool is_memory_id(std::string_view id) {
  return id.starts_with(kIdBegin) && are_digits(id.substr(kIdBegin.size()), kIdDigits);
}

std::string owner_of(std::string_view user) {
  return sha256_hex(user);
}

bool is_owner(std::string_view name) {
  return are_digits(name, kOwnerDigits);
}

std::string digest_of(std::string_view text) {
  return sha256_hex(text).substr(0, kDigestDigits);
}

Result<void> check_vector(const memories::Vector& vector) {
  double square = 0;
  for (const float value : vector.values) square += static_cast<double>(value) * value;
  if (!vector.values.empty() && vector.values.size() <= kValuesMax && std::isfinite(square) &&
      square > 0)
    return {};
  return fail(Code::kInvalid,
              "an embedding of {} values, where 1 to {} finite ones, not all of them 0, are needed",
              vector.values.size(), kValuesMax);
}

std::string write_record(const Record& record) {
  std::string out(kMagic);
  write_number(static_cast<uint64_t>(to_ms(record.memory.created)), kTimeBytes, out);
  write_number(record.vector.values.size(), kNumberBytes, out);
  for (const std::string* text : texts_of(record)) write_number(text->size(), kNumberBytes, out);
  for (const float value : record.vector.values)
    write_number(std::bit_cast<uint32_t>(value), kNumberBytes, out);
  for (const std::string* text : texts_of(record)) out += *text;
  return out;
}

Result<Record> read_record(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || bytes.size() > kRecordBytesMax || !bytes.starts_with(kMagic))
    return no_record("have no record's beginning or size");
  std::string_view head = bytes.substr(kMagic.size(), kHeadBytes - kMagic.size());
  bytes.remove_prefix(kHeadBytes);
  Record out;
  const uint64_t created = read_number(head, kTimeBytes);
  if (created > static_cast<uint64_t>(kMsMax)) return no_record("have no time");
  out.memory.created = out.memory.used = from_ms(static_cast<int64_t>(created));
  const size_t values = read_number(head, kNumberBytes);
  if (values > kValuesMax || values * kNumberBytes > bytes.size())
    return no_record("have too few values");
  for (size_t i = 0; i < values; ++i)
    out.vector.values.push_back(
        std::bit_cast<float>(static_cast<uint32_t>(read_number(bytes, kNumberBytes))));
  if (!check_vector(out.vector)) return no_record("have no vector");
  for (std::string* text : texts_of(out)) {
    const size_t length = read_number(head, kNumberBytes);
    if (length > bytes.size()) return no_record("are cut off");
    *text = bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) return no_record("go on after the record");
  return out;
}

std::string write_entry(const IndexEntry& entry) {
  return fmt::format("{} {} {} {} {}", to_ms(entry.created), to_ms(entry.used), entry.uses,
                     entry.digest, entry.moment);
}

Result<IndexEntry> read_entry(std::string_view bytes) {
  IndexEntry out;
  int64_t created = 0, used = 0;
  const bool has_times = take_number(bytes, kMsMax, created) && take_number(bytes, kMsMax, used) &&
                         take_number(bytes, UINT32_MAX, out.uses);
  if (!has_times) return no_record("have an index entry without its times");
  out.digest = take_word(bytes);
  if (!are_digits(out.digest, kDigestDigits))
    return no_record("have an index entry without a digest");
  const bool is_last = bytes.find(' ') == std::string_view::npos;
  if (!is_last || !take_number(bytes, kMomentMax, out.moment))
    return no_record("have an index entry without a moment");
  out.created = from_ms(created);
  out.used = from_ms(used);
  return out;
}

}  // namespace signalbox::shared_memories
