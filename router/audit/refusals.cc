// A minute's counts are complete at the first event of the next minute, or when take() removes
// them.

#include "router/audit/refusals.h"

#include <utility>

namespace signalbox::audit {
namespace {

constexpr uint32_t kEntriesMax = 60;  // of a sender in a minute
constexpr size_t kSendersMax = 1000;  // of a kind in a minute
constexpr size_t kNameBytesMax = 256;

Entry omitted_entry(Sender::Kind kind, std::string_view name, uint64_t count) {
  Entry out("refusals_omitted");
  out.text(kind == Sender::Kind::kKey ? "key" : "from", name);
  if (kind == Sender::Kind::kManagement) out.text("listener", "management");
  return std::move(out.number("count", static_cast<int64_t>(count)));
}

}  // namespace

Refusals::Counts& Refusals::of(const Sender& sender, TimePoint now) {
  if (now - begin_ >= std::chrono::minutes(1)) {
    end_minute();
    begin_ = now;
  }
  Minute& minute = minutes_[static_cast<size_t>(sender.kind)];
  const std::string_view name = std::string_view(sender.name).substr(0, kNameBytesMax);
  const auto found = minute.senders.find(name);
  if (found != minute.senders.end()) return found->second;
  if (minute.senders.size() >= kSendersMax) return minute.others;
  return minute.senders[std::string(name)];
}

bool Refusals::admit(const Sender& sender, TimePoint now) {
  Counts& counts = of(sender, now);
  if (counts.entries < kEntriesMax) {
    ++counts.entries;
    return true;
  }
  ++counts.omitted;
  has_counts_ = true;
  return false;
}

void Refusals::count(const Sender& sender, TimePoint now) {
  ++of(sender, now).omitted;
  has_counts_ = true;
}

void Refusals::end_minute() {
  for (size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Sender::Kind>(i);
    const auto add = [&](std::string_view name, uint64_t count) {
      if (count > 0) ended_.push_back({omitted_entry(kind, name, count), count});
    };
    for (const auto& [name, counts] : minutes_[i].senders) add(name, counts.omitted);
    add("", minutes_[i].others.omitted);
    minutes_[i] = {};
  }
}

std::vector<Refusals::Omitted> Refusals::take(TimePoint now, bool all) {
  if (all || now - begin_ >= std::chrono::minutes(1)) {
    end_minute();
    begin_ = now;
    has_counts_ = false;
  }
  return std::exchange(ended_, {});
}

}  // namespace signalbox::audit
