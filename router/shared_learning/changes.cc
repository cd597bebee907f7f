// Every field has exactly one form, so that a change that was read is written back unchanged.

#include "router/shared_learning/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace signalbox::shared_learning {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr size_t kKeyDigits = 64;
constexpr size_t kConversationFields = 14;
/// Changes with the meaning of the sums and of the features. The scripts of redis_learning.cc
/// contain it.
constexpr int64_t kSumsVersion = 1;
/// The greatest moment, because scripts compute with doubles.
constexpr int64_t kMomentMax = int64_t{1} << 53;
constexpr uint32_t kCountMax = 1'000'000'000;

template <class Number>
bool read_number(std::string_view text, Number most, Number& into) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, into);
  return error == std::errc() && at == end && into <= most && !text.starts_with('-') &&
         fmt::format("{}", into) == text;
}

bool is_key(std::string_view key) {
  return key.size() == kKeyDigits && key.find_first_not_of("0123456789abcdef") == key.npos;
}

bool is_name(std::string_view name) {
  return name.size() <= kNameBytesMax && name.find('\n') == name.npos;
}

std::optional<Change> read_name(std::string_view name, Change::Kind kind) {
  const size_t feed = name.find('\n');
  if (feed == name.npos) return std::nullopt;
  Change out{.kind = kind,
             .decision = std::string(name.substr(0, feed)),
             .model = std::string(name.substr(feed + 1))};
  if (verdicts_name(out.decision, out.model) != name) return std::nullopt;
  return out;
}

std::optional<Change> read_conversation(const Fields& entry) {
  Change out{.kind = Change::Kind::kForgotten, .key = entry[1]};
  if (!is_key(out.key)) return std::nullopt;
  if (entry.size() == 2) return out;
  if (entry.size() != kConversationFields) return std::nullopt;
  out.kind = Change::Kind::kConversation;
  learning::Conversation& to = out.conversation;
  to.last = {entry[3], entry[5], entry[7]};
  const bool is_good = is_name(to.last.model) && is_name(to.last.upstream_name) &&
                       is_name(to.last.decision) && read_number(entry[9], kCountMax, to.turns) &&
                       read_number(entry[11], kCountMax, to.switches) &&
                       read_number(entry[13], kMomentMax, out.used_ms);
  const auto fields = fields_of(to, out.used_ms);
  if (!is_good || !fields || !std::equal(fields->begin(), fields->end(), entry.begin() + 2))
    return std::nullopt;
  return out;
}

}  // namespace

std::optional<Fields> fields_of(const learning::Conversation& conversation, int64_t used_ms) {
  const learning::Answerer& last = conversation.last;
  if (!is_name(last.model) || !is_name(last.upstream_name) || !is_name(last.decision))
    return std::nullopt;
  return Fields{"model",    last.model,
                "asked",    last.upstream_name,
                "decision", last.decision,
                "turns",    std::to_string(conversation.turns),
                "switches", std::to_string(conversation.switches),
                "used",     std::to_string(used_ms)};
}

std::string counts_of(const learning::Tally& tally) {
  return fmt::format("{}", fmt::join(tally.counts, " "));
}

std::optional<learning::Tally> read_counts(std::string_view text) {
  learning::Tally out;
  std::string_view rest = text;
  for (uint32_t& count : out.counts) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (!read_number(rest.substr(0, end), learning::Tally::kCountMax, count)) return std::nullopt;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (counts_of(out) != text) return std::nullopt;
  return out;
}

std::optional<std::string> verdicts_name(std::string_view decision, std::string_view model) {
  if (!is_name(decision) || !is_name(model)) return std::nullopt;
  return fmt::format("{}\n{}", decision, model);
}

std::optional<Change> read_verdicts(std::string_view name, std::string_view counts) {
  auto out = read_name(name, Change::Kind::kVerdicts);
  const auto tally = read_counts(counts);
  if (!out || !tally) return std::nullopt;
  out->tally = *tally;
  return out;
}

std::string sums_of(const learning::Regression& regression) {
  return fmt::format("{} {} {} {}", kSumsVersion, regression.count,
                     fmt::join(regression.rewards, " "), fmt::join(regression.products, " "));
}

std::shared_ptr<const learning::Regression> read_sums(std::string_view text) {
  if (text.size() > kSumsBytesMax) return nullptr;
  auto out = std::make_shared<learning::Regression>();
  const char *at = text.data(), *const end = at + text.size();
  const auto read = [&](int64_t& into) {
    const auto [after, error] = std::from_chars(at, end, into);
    at = after == end ? end : after + 1;
    return error == std::errc();
  };
  int64_t version = 0;
  if (!read(version) || version != kSumsVersion || !read(out->count)) return nullptr;
  if (!std::all_of(out->rewards.begin(), out->rewards.end(), read) ||
      !std::all_of(out->products.begin(), out->products.end(), read))
    return nullptr;
  if (!out->is_possible() || sums_of(*out) != text) return nullptr;
  return out;
}

std::optional<Change> read_change(const Fields& entry) {
  if (entry.size() < 2) return std::nullopt;
  if (entry[0] == "key") return read_conversation(entry);
  if (entry[0] == "sums" && entry.size() == 2) return read_name(entry[1], Change::Kind::kSums);
  if (entry[0] == "verdicts" && entry.size() == 4 && entry[2] == "counts")
    return read_verdicts(entry[1], entry[3]);
  if (Change out;
      entry[0] == "reset" && entry.size() == 2 && read_number(entry[1], kMomentMax, out.resets))
    return out;
  return std::nullopt;
}

int64_t Now::to_ms(learning::TimePoint time) const {
  const auto age = duration_cast<milliseconds>(steady - time);
  return (duration_cast<milliseconds>(system.time_since_epoch()) - age).count();
}

learning::TimePoint Now::from_ms(int64_t ms) const {
  const auto age = duration_cast<milliseconds>(system.time_since_epoch()) - milliseconds(ms);
  return steady - std::max(age, milliseconds(0));
}

}  // namespace signalbox::shared_learning
