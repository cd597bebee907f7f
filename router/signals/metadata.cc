// Signals about what accompanies a request. metadata: a member of its metadata equals a given text.
// agentic_facts: a fact about the agent behind it, in a header that a proxy vouches for.

#include <algorithm>
#include <chrono>

#include "base/ascii.h"
#include "base/json.h"
#include "router/config/access.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

class MetadataSignals : public NamedSignals<config::MetadataSignal> {
 public:
  using NamedSignals::NamedSignals;
  std::string_view type() const override { return "metadata"; }
  Needs needs() const override { return Needs::kRequest; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const auto value = inputs.request().metadata(signals_[i].key);
      const bool matched = value && *value == signals_[i].predicate.equals;
      out[i] = {matched, matched ? 1.0 : 0.0, matched ? 1.0 : 0.0};
      if (matched) evidence.push_back({i, signals_[i].key, 1});
    }
    return {};
  }
};

// --- agentic_facts ---

using config::AgenticFacts;
using Bounds = AgenticFacts::Bounds;

/// The system clock may count nanoseconds, which overflow for the last years of RFC 3339.
using Time = std::chrono::sys_time<std::chrono::milliseconds>;

constexpr uint32_t kEnvelopeBytes = 8192, kDepth = 16, kCapabilities = 16, kStringBytes = 128;
constexpr uint32_t kJsonDepth = 8;

uint32_t bound(uint32_t configured, uint32_t by_default) {
  return configured > 0 ? configured : by_default;
}

/// Returns the seconds since 1970 of a time of RFC 3339, without fractions.
std::optional<int64_t> seconds_of(std::string_view text) {
  constexpr size_t kSeconds = 19;  // "2027-01-31T12:00:00"
  if (text.size() <= kSeconds) return std::nullopt;
  auto time = config::parse_time(std::string(text.substr(0, kSeconds)) + "Z");
  text.remove_prefix(kSeconds);
  if (text.starts_with('.')) {
    const size_t end = text.find_first_not_of("0123456789", 1);
    if (end == 1 || end == text.npos) return std::nullopt;
    text.remove_prefix(end);
  }
  if (!time || text == "Z") return time;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (const size_t i : {1, 2, 4, 5}) {
    if (!ascii::is_digit(text[i])) return std::nullopt;
  }
  const auto two_digits = [&](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  const int64_t offset = two_digits(1) * 3600 + two_digits(4) * 60;
  return text[0] == '+' ? *time - offset : *time + offset;
}

/// Reads the facts about an agent. A fact that breaks a rule makes all of them void: a client must
/// not get rid of one by writing it wrongly.
class Envelope {
 public:
  Envelope(const json::Value& root, const Bounds& bounds) : root_(root), bounds_(bounds) {}

  /// Reads all facts, and returns false if they are void.
  bool is_valid(Time now) {
    if (!root_.is_object() || text(root_, "version") != "1") return false;
    check_expiry(now);
    check_lineage();
    role = text(root_, "delegated_role");
    phase = text(root_, "task_phase");
    const std::string portability = ascii::lower_case(text(root_, "context_portability"));
    expect(portability.empty() || portability == "portable" || portability == "sticky");
    if (const auto budget = object("budget")) {
      for (const char* key : {"remaining_tokens", "remaining_time_ms"}) {
        if (const auto value = find(*budget, key)) expect(value->integer().value_or(-1) >= 0);
      }
      if (const auto value = find(*budget, "remaining_cost"))
        expect(value->number().value_or(-1) >= 0);
    }
    check_capabilities();
    if (const auto trust = object("trust_boundary")) {
      for (const char* key : {"tenant", "residency", "label"}) text(*trust, key);
    }
    return is_valid_;
  }

  std::string role, phase;

 private:
  void expect(bool condition) { is_valid_ = is_valid_ && condition; }

  std::optional<json::Value> find(const json::Value& in, std::string_view key) {
    expect(in.count(key) <= 1);
    const auto value = in.find(key);
    return value && !value->is_null() ? value : std::nullopt;
  }
  std::optional<json::Value> object(std::string_view key) {
    const auto value = find(root_, key);
    if (value) expect(value->is_object());
    return value;
  }
  std::string text(const json::Value& in, std::string_view key) {
    const auto value = find(in, key);
    if (!value) return "";
    expect(value->is_string());
    return value->is_string() ? bounded(value->text()) : "";
  }
  std::string bounded(std::string_view text) {
    text = ascii::trimmed(text);
    expect(text.size() <= bound(bounds_.max_string_length, kStringBytes));
    return std::string(text);
  }

  void check_expiry(Time now) {
    const std::optional<int64_t> seconds = seconds_of(text(root_, "expires_at"));
    if (!seconds) return expect(false);
    const Time expires{std::chrono::seconds(*seconds)};
    expect(now <= expires + bounds_.clock_skew);
    expect(expires <= now + bounds_.max_lifetime + bounds_.clock_skew);
  }

  void check_lineage() {
    const auto lineage = object("lineage");
    if (!lineage) return;
    const bool has_root = !text(*lineage, "root_invocation_id").empty();
    const bool has_parent = !text(*lineage, "parent_invocation_id").empty();
    const auto given = find(*lineage, "depth");
    const int64_t depth = given ? given->integer().value_or(-1) : 0;
    expect(depth >= 0 && depth <= bound(bounds_.max_depth, kDepth));
    expect(depth == 0 || has_parent);
    expect(!has_parent || has_root);
  }

  void check_capabilities() {
    const auto capabilities = find(root_, "required_capabilities");
    if (!capabilities) return;
    expect(capabilities->is_array());
    uint32_t count = 0;
    for (const json::Value& each : capabilities->items()) {
      ++count;
      expect(each.is_string() && !bounded(each.text()).empty());
      if (!is_valid_) return;
    }
    expect(count <= bound(bounds_.max_capabilities, kCapabilities));
  }

  const json::Value root_;
  const Bounds& bounds_;
  bool is_valid_ = true;
};

class AgenticFactsSignals : public NamedSignals<config::AgenticFactsSignal> {
 public:
  AgenticFactsSignals(const std::vector<config::AgenticFactsSignal>& signals,
                      const AgenticFacts& facts)
      : NamedSignals(signals),
        facts_(facts),
        carrier_(ascii::lower_case(facts.carrier_header)),
        marker_(ascii::lower_case(facts.trust.marker_header)) {}

  std::string_view type() const override { return "agentic_facts"; }
  Needs needs() const override { return Needs::kRequest; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    if (!facts_.enabled || inputs.header(marker_) != facts_.trust.marker_value) return {};
    const std::string_view carried = inputs.header(carrier_).value_or("");
    const uint32_t bytes_max = bound(facts_.bounds.max_envelope_bytes, kEnvelopeBytes);
    if (carried.empty() || carried.size() > bytes_max) return {};
    const auto document =
        json::Document::parse(std::string(carried), {.bytes = bytes_max, .depth = kJsonDepth});
    if (!document) return {};
    Envelope envelope(document->root(), facts_.bounds);
    using namespace std::chrono;
    if (!envelope.is_valid(time_point_cast<milliseconds>(system_clock::now()))) return {};
    for (size_t i = 0; i < signals_.size(); ++i) {
      const bool is_role = signals_[i].field == config::AgenticFactsSignal::Field::kDelegatedRole;
      if (matches(signals_[i].predicate, is_role ? envelope.role : envelope.phase))
        out[i] = {true, 1, 1};
    }
    return {};
  }

 private:
  static bool matches(const config::AgenticFactsSignal::Test& test, const std::string& value) {
    if (value.empty()) return false;
    return value == test.equals || std::ranges::find(test.in, value) != test.in.end();
  }

  const AgenticFacts& facts_;
  const std::string carrier_, marker_;
};

}  // namespace

SignalTypeResult agentic_facts_signals(const std::vector<config::AgenticFactsSignal>& signals,
                                       const config::AgenticFacts& facts) {
  return std::make_unique<AgenticFactsSignals>(signals, facts);
}

SignalTypeResult metadata_signals(const std::vector<config::MetadataSignal>& signals) {
  return std::make_unique<MetadataSignals>(signals);
}

}  // namespace signalbox::signals
