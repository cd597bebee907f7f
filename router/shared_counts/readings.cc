// A name is "by per day currency name", with line ends between the words, because the last word may
// hold anything.

#include "router/shared_counts/readings.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace signalbox::shared_counts {
namespace {

using config::Spending;
using stores::RedisValue;

constexpr std::array<std::string_view, 3> kBy{"key", "user", "group"};
constexpr std::array<std::string_view, 2> kPer{"day", "month"};
constexpr uint64_t kUnitSecondsMax = 86'400;

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && at == text.data() + text.size();
}

bool read_amount(const RedisValue& value, double& into) {
  return value.is_text() && read_number(value.text, into) && std::isfinite(into) && into >= 0;
}

bool read_count(const RedisValue& value, uint64_t& into) {
  return value.is_text() && read_number(value.text, into);
}

template <size_t kSize>
std::optional<size_t> index_of(std::string_view word,
                               const std::array<std::string_view, kSize>& in) {
  for (size_t i = 0; i < kSize; ++i) {
    if (in[i] == word) return i;
  }
  return std::nullopt;
}

tl::unexpected<Error> unexpected_reply() {
  return fail(Code::kCorrupt, "EVAL returned an unexpected reply");
}

/// Reads the epoch, the cursor and the entries, each by `read`, which returns nullopt for an entry
/// that cannot be read.
template <class Entry, class Read>
Result<Reading<Entry>> read_all(const RedisValue& reply, const Read& read) {
  if (!reply.is_list() || reply.items.size() < 2 || !reply.items[0].is_text() ||
      !reply.items[1].is_text())
    return unexpected_reply();
  Reading<Entry> out{reply.items[0].text, reply.items[1].text, {}, reply.items.size() - 2};
  for (size_t i = 2; i < reply.items.size(); ++i) {
    if (auto entry = read(reply.items[i].items)) out.entries.push_back(*std::move(entry));
  }
  return out;
}

std::optional<spending::SharedTotal> read_total(const std::vector<RedisValue>& from) {
  if (from.size() != 3) return std::nullopt;
  auto key = total_of(from[0].text);
  if (!key) return std::nullopt;
  spending::SharedTotal out{*std::move(key)};
  if (!read_amount(from[1], out.others) || !read_amount(from[2], out.own)) return std::nullopt;
  return out;
}

std::optional<limits::BucketLevel> read_bucket(const std::vector<RedisValue>& from) {
  if (from.size() != 6) return std::nullopt;
  limits::BucketLevel out{.name = from[0].text};
  uint64_t unit = 0;
  if (!read_count(from[1], out.requests_per_unit) || !read_count(from[2], out.tokens_per_unit) ||
      !read_count(from[3], unit) || !read_amount(from[4], out.requests) ||
      !read_amount(from[5], out.tokens) || unit == 0 || unit > kUnitSecondsMax)
    return std::nullopt;
  out.unit = std::chrono::seconds(unit);
  return out;
}

}  // namespace

Result<Reading<spending::SharedTotal>> read_totals(const RedisValue& reply) {
  return read_all<spending::SharedTotal>(reply, read_total);
}

Result<Reading<limits::BucketLevel>> read_buckets(const RedisValue& reply) {
  return read_all<limits::BucketLevel>(reply, read_bucket);
}

Result<std::vector<Peer>> read_routers(const RedisValue& reply) {
  if (!reply.is_list()) return unexpected_reply();
  std::vector<Peer> out;
  for (const RedisValue& each : reply.items) {
    if (each.items.size() != 4) continue;
    Peer peer{each.items[0].text, each.items[1].text, each.items[2].text};
    if (read_number(each.items[3].text, peer.started)) out.push_back(std::move(peer));
  }
  return out;
}

std::string name_of(const spending::TotalKey& key) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", kBy[static_cast<size_t>(key.by)],
                     kPer[static_cast<size_t>(key.per)], key.begin, key.currency, key.name);
}

std::optional<spending::TotalKey> total_of(std::string_view name) {
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    const size_t end = name.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    word = name.substr(0, end);
    name.remove_prefix(end + 1);
  }
  const auto by = index_of(words[0], kBy), per = index_of(words[1], kPer);
  spending::TotalKey out;
  if (!by || !per || !read_number(words[2], out.begin)) return std::nullopt;
  out.by = static_cast<Spending::By>(*by);
  out.per = static_cast<Spending::Per>(*per);
  out.currency = words[3];
  out.name = name;
  return out;
}

}  // namespace signalbox::shared_counts
