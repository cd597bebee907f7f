// The id of a row is a digest of its names, because an index takes no names of kilobytes.

#include "router/shared_spending/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/json_writer.h"
#include "base/sha256.h"
#include "router/spending/members.h"

namespace signalbox::shared_spending {
namespace {

using config::Spending;
using spending::Day;

constexpr std::array<std::string_view, 6> kTexts{"key",   "user_name", "groups",
                                                 "model", "decision",  "currency"};
constexpr std::array<std::string_view, 6> kCounts{"requests", "prompt",     "cached",
                                                  "written",  "completion", "reasoning"};
constexpr std::array<std::string_view, 2> kNumbers{"cost", "cost_on_largest"};
constexpr Columns kRequestColumns{"requests", kTexts, kCounts, kNumbers};

constexpr std::array<std::string_view, 5> kShadowTexts{"decision", "model", "shadow", "currency",
                                                       "shadow_currency"};
constexpr std::array<std::string_view, 8> kShadowCounts{
    "failed", "pairs", "compared", "agreed", "contradicted", "measured", "tokens", "shadow_tokens"};
constexpr std::array<std::string_view, 6> kShadowNumbers{
    "similarity", "cost", "shadow_cost", "seconds", "shadow_seconds", "failed_cost"};
constexpr Columns kShadowColumns{"shadows", kShadowTexts, kShadowCounts, kShadowNumbers};

constexpr std::array<std::string_view, 3> kBy{"key", "user", "group"};
constexpr std::array<std::string_view, 2> kPer{"day", "month"};

// A row of a day gets fewer than eight million batches, so bigint holds the sum.
constexpr uint64_t kCountMax = uint64_t{1} << 40;
constexpr double kNumberMax = 1e15;

constexpr size_t kOctalDigits = 3;
constexpr size_t kUuidDigits = 32;

template <class Number>
bool read_figure(std::string_view text, Number& into) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && at == text.data() + text.size();
}

double bounded(double number) {
  return std::isfinite(number) ? std::clamp(number, -kNumberMax, kNumberMax) : 0;
}

std::string id_of(Day day, std::span<const std::string> texts) {
  std::string all = std::to_string(day);
  for (const std::string& text : texts) all += fmt::format(" {}:{}", text.size(), text);
  return sha256_hex(all).substr(0, kUuidDigits);
}

void write_row(json::Writer& out, const Columns& columns, Day day, const auto& texts,
               const auto& counts, const auto& numbers) {
  std::vector<std::string> names;
  for (const std::string* text : texts) names.push_back(escaped(*text));
  out.begin_object().member("id", id_of(day, names)).member("day", day);
  for (size_t i = 0; i < names.size(); ++i) out.member(columns.texts[i], names[i]);
  for (size_t i = 0; i < counts.size(); ++i)
    out.member(columns.counts[i], static_cast<int64_t>(std::min(*counts[i], kCountMax)));
  for (size_t i = 0; i < numbers.size(); ++i) out.member(columns.numbers[i], bounded(*numbers[i]));
  out.end_object();
}

void write_total(json::Writer& out, const spending::TotalKey& key, double amount) {
  const std::array<std::string, 3> names{name_of({key.by, key.per}), escaped(key.currency),
                                         escaped(key.name)};
  out.begin_object().member("id", id_of(key.begin, names)).member("kind", names[0]);
  out.member("begin", key.begin).member("currency", names[1]).member("name", names[2]);
  out.member("amount", bounded(amount)).end_object();
}

bool read_row(Cells cells, Day& day, const auto& texts, const auto& counts, const auto& numbers) {
  if (cells.size() != 1 + texts.size() + counts.size() + numbers.size()) return false;
  size_t at = 0;
  if (!read_figure(cells[at++], day)) return false;
  for (std::string* text : texts) {
    auto bytes = unescaped(cells[at++]);
    if (!bytes) return false;
    *text = *std::move(bytes);
  }
  for (uint64_t* count : counts) {
    if (!read_figure(cells[at++], *count)) return false;
  }
  for (double* number : numbers) {
    if (!read_figure(cells[at++], *number) || !std::isfinite(*number)) return false;
  }
  return true;
}

}  // namespace

const Columns& request_columns() {
  return kRequestColumns;
}
const Columns& shadow_columns() {
  return kShadowColumns;
}

std::string escaped(std::string_view bytes) {
  std::string out;
  for (const char each : bytes.substr(0, kNameBytesMax)) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '\\') {
      out += "\\\\";
    } else if (byte == 0 || byte >= 0x80) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += each;
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  if (text.size() > kNameTextMax) return std::nullopt;
  while (!text.empty()) {
    const char first = text.front();
    text.remove_prefix(1);
    if (first != '\\') {
      out += first;
    } else if (text.starts_with('\\')) {
      out += '\\';
      text.remove_prefix(1);
    } else {
      unsigned byte = 0;
      const std::string_view digits = text.substr(0, kOctalDigits);
      const auto [at, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 8);
      if (error != std::errc() || at != digits.data() + kOctalDigits || byte > 0xff)
        return std::nullopt;
      out += static_cast<char>(byte);
      text.remove_prefix(kOctalDigits);
    }
  }
  return out;
}

std::string name_of(spending::TotalKind kind) {
  return fmt::format("{}/{}", kBy[static_cast<size_t>(kind.by)],
                     kPer[static_cast<size_t>(kind.per)]);
}

std::string text_of(const spending::Batch& batch) {
  json::Writer out;
  out.begin_object().key(kRequestColumns.member).begin_array();
  for (const auto& [account, spent] : batch.sums.requests)
    write_row(out, kRequestColumns, account.day, spending::texts_of(account),
              spending::counts_of(spent), spending::numbers_of(spent));
  out.end_array().key(kShadowColumns.member).begin_array();
  for (const auto& [account, spent] : batch.sums.shadows)
    write_row(out, kShadowColumns, account.day, spending::shadow_texts_of(account),
              spending::shadow_counts_of(spent), spending::shadow_numbers_of(spent));
  out.end_array().key("totals").begin_array();
  for (const auto& [key, amount] : batch.totals) write_total(out, key, amount);
  return out.end_array().end_object().take();
}

std::optional<std::pair<spending::Account, spending::Spent>> read_request(Cells cells) {
  std::pair<spending::Account, spending::Spent> out;
  auto& [account, spent] = out;
  if (!read_row(cells, account.day, spending::texts_of(account), spending::counts_of(spent),
                spending::numbers_of(spent)))
    return std::nullopt;
  return out;
}

std::optional<std::pair<spending::ShadowAccount, spending::ShadowSpent>> read_shadow(Cells cells) {
  std::pair<spending::ShadowAccount, spending::ShadowSpent> out;
  auto& [account, spent] = out;
  if (!read_row(cells, account.day, spending::shadow_texts_of(account),
                spending::shadow_counts_of(spent), spending::shadow_numbers_of(spent)))
    return std::nullopt;
  return out;
}

std::optional<spending::CommonTotal> read_total(Cells cells) {
  if (cells.size() != 5) return std::nullopt;
  const size_t slash = std::min(cells[0].find('/'), cells[0].size() - 1);
  const auto by = std::ranges::find(kBy, std::string_view(cells[0]).substr(0, slash));
  const auto per = std::ranges::find(kPer, std::string_view(cells[0]).substr(slash + 1));
  auto currency = unescaped(cells[2]), name = unescaped(cells[3]);
  spending::CommonTotal out;
  if (by == kBy.end() || per == kPer.end() || !currency || !name ||
      !read_figure(cells[1], out.key.begin) || !read_figure(cells[4], out.amount) ||
      !std::isfinite(out.amount) || out.amount < 0)
    return std::nullopt;
  out.key.by = static_cast<Spending::By>(by - kBy.begin());
  out.key.per = static_cast<Spending::Per>(per - kPer.begin());
  out.key.currency = *std::move(currency);
  out.key.name = *std::move(name);
  return out;
}

std::optional<int64_t> read_integer(std::string_view text) {
  int64_t out = 0;
  return read_figure(text, out) ? std::optional(out) : std::nullopt;
}

}  // namespace signalbox::shared_spending
