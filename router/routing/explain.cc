// Two renderings of one Report: the JSON form covers every node, the text form gives the decision's
// own reasons and sums up the rest.

#include "router/routing/explain.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/counted.h"
#include "base/json_writer.h"
#include "router/routing/near_miss.h"

namespace signalbox::routing {
namespace {

using config::Rule;
using decision::kNoSignal;
using decision::Truth;

constexpr std::string_view kNotNeeded = "never needed: the outcome was fixed without it";
constexpr std::string_view kSettled = "never needed: the other conditions settle this";
constexpr std::string_view kOutranked = "never needed: the decision is outranked, matching or not";
constexpr std::string_view kFailed = "the model failed";
constexpr std::string_view kFailedMatch = "the model failed, which counts as a match";
constexpr std::string_view kFailedNoMatch = "the model failed, which counts as no match";
constexpr std::string_view kNotThere = "there is no such signal";
constexpr std::string_view kMoot = "the request has nothing for it to evaluate";

class Explainer {
 public:
  explicit Explainer(const Report& report) : report_(report) {}

  std::string json() {
    out_.begin_object().key("signals").begin_object();
    for (size_t i = 0; i < report_.types.size(); ++i) write_type(i);
    write_projections();
    out_.end_object().key("trace").begin_array();
    for (size_t d = 0; d < report_.routing->decisions.size(); ++d) write_decision(d);
    return out_.end_array().end_object().take();
  }

  std::string words() {
    const auto& decisions = report_.routing->decisions;
    if (report_.outcome.decision == decision::kNoDecision) {
      text_ = report_.named.empty()
                  ? "No decision matches; the default model answers.\n"
                  : fmt::format("No decision refuses it or has an action; {} answers.\n",
                                report_.named);
    } else {
      const auto d = static_cast<size_t>(report_.outcome.decision);
      const std::string tier =
          decisions[d].tier == 0 ? "" : fmt::format("tier {}, ", decisions[d].tier);
      text_ =
          fmt::format("Decision {} ({}priority {}, confidence {:.2f}), because\n",
                      decisions[d].name, tier, decisions[d].priority, report_.outcome.confidence);
      add_reasons(d);
    }
    if (report_.masking != decision::kNoDecision) {
      const auto d = static_cast<size_t>(report_.masking);
      text_ += fmt::format("Decision {} masks personal data, because\n", decisions[d].name);
      add_reasons(d);
    }
    text_ += "Signals\n";
    for (const TypeReport& type : report_.types) add_type(type);
    add_projections();
    add_other_decisions();
    if (text_.ends_with('\n')) text_.pop_back();
    return std::move(text_);
  }

 private:
  // --- JSON ---

  // Writes null if the truth is unknown or cannot be known.
  void write_truth(const decision::Value& value) {
    out_.key("matched");
    if (value.low == value.high && value.low != Truth::kUnavailable) {
      out_.boolean(value.is_match());
    } else {
      out_.null();
    }
    if (value.is_match()) out_.member("confidence", value.confidence_low);
  }

  // Writes the members of a signal.
  void write_signal(const TypeReport& type, uint32_t signal) {
    if (const std::string_view why = why_unknown(type, signal); !why.empty()) {
      out_.key("matched").null().member("why", why);
    } else {
      write_truth(report_.signals[type.first + signal]);
      if (type.moot) {
        out_.member("why", kMoot);
      } else {
        write_reading(type, signal);
      }
    }
    const auto server = type.signals->server(signal);
    if (type.computed && !type.moot && !server.empty()) out_.member("server", server);
  }

  void write_reading(const TypeReport& type, uint32_t signal) {
    const signals::Reading& reading = type.readings[signal];
    out_.member("score", reading.score);
    if (const auto threshold = type.signals->threshold(signal))
      out_.member("threshold", *threshold);
    write_similarity(type, signal);
    if (!reading.label.empty()) out_.member("label", reading.label);
    if (!reading.unsupported_language.empty())
      out_.member("unsupported_language", reading.unsupported_language);
    if (reading.windows_cleared > 0) {
      out_.member("windows", static_cast<int64_t>(reading.windows));
      out_.member("windows_cleared", static_cast<int64_t>(reading.windows_cleared));
    }
    write_evidence(type, signal);
    if (!type.signals->stand_in().empty()) out_.member("stand_in", type.signals->stand_in());
  }

  // Types of one name are adjacent and form one object.
  void write_type(size_t index) {
    const TypeReport& type = report_.types[index];
    const auto is_same = [&](size_t other) {
      return other < report_.types.size() &&
             report_.types[other].signals->type() == type.signals->type();
    };
    if (index == 0 || !is_same(index - 1)) out_.key(type.signals->type()).begin_object();
    for (uint32_t i = 0; i < type.signals->size(); ++i) {
      out_.key(type.signals->name(i)).begin_object();
      write_signal(type, i);
      out_.end_object();
    }
    if (!is_same(index + 1)) out_.end_object();
  }

  void write_projections() {
    const decision::Projections& projections = report_.leaf_values->projections();
    if (projections.outputs() == 0) return;
    out_.key("projection").begin_object();
    projections.for_each_output([&](uint32_t number, std::string_view name, size_t score) {
      out_.key(name).begin_object();
      write_truth(report_.signals[number]);
      const decision::Bounds& at = report_.scores[score];
      if (at.low == at.high) out_.member("score", at.low);
      out_.member("of", projections.score(score).name);
      write_inputs(score);
      out_.end_object();
    });
    out_.end_object();
  }

  // Writes the inputs of a score, each unknown one with the reason.
  void write_inputs(size_t score) {
    out_.key("inputs").begin_array();
    report_.leaf_values->projections().for_each_input(
        score, [&](const config::ScoreInput& input, uint32_t number) {
          out_.begin_object().member("type", input.type);
          if (!input.name.empty()) out_.member("name", input.name);
          if (!input.metric.empty()) out_.member("kb", input.kb).member("metric", input.metric);
          out_.member("weight", input.weight);
          if (number != kNoSignal) write_truth(report_.signals[number]);
          const TypeReport* type = type_of(number);
          const std::string_view why = type != nullptr ? why_unknown(*type, number - type->first)
                                       : number == kNoSignal && input.type != "projection"
                                           ? kNotThere
                                           : std::string_view();
          if (!why.empty()) out_.member("why", why);
          out_.end_object();
        });
    out_.end_array();
  }

  void write_similarity(const TypeReport& type, uint32_t signal) {
    const auto least = type.signals->least_similarity(signal);
    if (!least) return;
    if (const auto nearest = nearest_similarity(type, signal)) out_.member("similarity", *nearest);
    out_.member("least_similarity", *least);
  }

  void write_evidence(const TypeReport& type, uint32_t signal) {
    bool open = false;
    for (const signals::Evidence& evidence : type.evidence) {
      if (evidence.signal != signal) continue;
      if (!open) out_.key("evidence").begin_array();
      open = true;
      out_.string(evidence.text);
    }
    if (open) out_.end_array();
  }

  void write_decision(size_t d) {
    const config::Decision& decision = report_.routing->decisions[d];
    const uint32_t root = report_.engine->root(d);
    out_.begin_object().member("decision", decision.name).member("priority", decision.priority);
    if (decision.tier != 0) out_.member("tier", decision.tier);
    out_.member("selected", static_cast<int32_t>(d) == report_.outcome.decision);
    if (static_cast<int32_t>(d) == report_.masking) out_.member("masks", true);
    write_truth(report_.values[root]);
    reason_ = reason_of(d);
    out_.key("rules");
    write_node(root);
    out_.end_object();
  }

  void write_node(uint32_t at) {
    const decision::Node& node = report_.engine->nodes()[at];
    const decision::Value& value = report_.values[at];
    out_.begin_object();
    if (node.op == Rule::Operator::kLeaf) {
      out_.member("type", node.rule->type).member("name", node.rule->name);
      write_truth(value);
      if (const std::string_view why = why_unknown(node); !why.empty()) out_.member("why", why);
    } else {
      out_.member("operator", operator_name(node.op));
      write_truth(value);
      out_.key("conditions").begin_array();
      for (uint32_t child = at + 1; child < node.end; child = report_.engine->nodes()[child].end)
        write_node(child);
      out_.end_array();
    }
    out_.end_object();
  }

  static std::string_view operator_name(Rule::Operator op) {
    switch (op) {
      case Rule::Operator::kAnd:
        return "AND";
      case Rule::Operator::kOr:
        return "OR";
      case Rule::Operator::kNot:
        return "NOT";
      case Rule::Operator::kLeaf:
        break;
    }
    return "";
  }

  // --- JSON and text ---

  bool applies(size_t decision) const {
    const auto d = static_cast<int32_t>(decision);
    return d == report_.outcome.decision || d == report_.masking;
  }

  // The reason why a condition of the decision was never needed. If the outcome is not fixed, it
  // rests on failures.
  std::string_view reason_of(size_t decision) const {
    if (!report_.outcome.fixed) return kNotNeeded;
    const decision::Value& root = report_.values[report_.engine->root(decision)];
    return !applies(decision) && root.can_match() ? kOutranked : kSettled;
  }

  static std::string_view why_unknown(const TypeReport& type, uint32_t signal) {
    if (type.moot) return "";
    if (const std::string_view why = type.signals->unavailable(signal); !why.empty()) return why;
    if (type.computed && !type.failed && !type.readings[signal].whole)
      return signals::kNotReadWhole;
    if (type.computed && !type.failed && !type.readings[signal].known)
      return type.signals->lacks(signal);
    return type.computed && !type.failed ? "" : type.failed ? kFailed : kNotNeeded;
  }

  const TypeReport* type_of(uint32_t number) const {
    for (const TypeReport& type : report_.types) {
      if (number >= type.first && number - type.first < type.signals->size()) return &type;
    }
    return nullptr;
  }

  // A projection, or a leaf with its own bounds, is explained by its inputs.
  std::string_view why_unknown(const decision::Node& leaf) const {
    if (leaf.signal == kNoSignal) return kNotThere;
    const decision::Value& value = report_.signals[leaf.signal];
    const uint32_t number = report_.leaf_values->target_of(leaf.signal).number;
    const decision::Value& own = report_.signals[number];
    std::string_view why;
    if (const TypeReport* type = type_of(number)) {
      why = why_unknown(*type, number - type->first);
    } else if (own.low != own.high) {  // a projection with unknown inputs
      why = value.low == value.high ? kFailed : kNotNeeded;
    }
    if (why == kNotNeeded) return reason_;
    if (why != kFailed || value.low != value.high) return why;
    return value.is_match() ? kFailedMatch : kFailedNoMatch;
  }

  static std::string describe_cleared(std::string_view before, const signals::Reading& reading) {
    if (reading.windows_cleared == 0) return "";
    return fmt::format("{}({} of {} windows cleared by the screen)", before,
                       reading.windows_cleared, reading.windows);
  }

  // Describes the evidence of a reading, for example the keywords or the nearest example.
  std::string describe_evidence(const TypeReport& type, uint32_t signal) const {
    std::string found;
    for (const signals::Evidence& evidence : type.evidence) {
      if (evidence.signal != signal) continue;
      found += found.empty() ? "" : ", ";
      found += fmt::format("\"{}\"", evidence.text);
    }
    const signals::Wording wording = type.signals->wording();
    std::string out;
    if (!wording.score.empty())
      out = fmt::format("{} {}", wording.score, format_value(type.readings[signal].score));
    if (!found.empty()) {
      if (!out.empty()) out += ", ";
      if (!wording.evidence.empty()) out.append(wording.evidence).append(" ");
      out += found;
    }
    const signals::Reading& reading = type.readings[signal];
    if (!reading.label.empty())
      out += fmt::format("{}best label {}", out.empty() ? "" : ", ", reading.label);
    if (reading.matched && !reading.unsupported_language.empty())
      out += fmt::format("{}unsupported_language {}, which counts as a match",
                         out.empty() ? "" : ", ", reading.unsupported_language);
    out += describe_cleared(out.empty() ? "" : " ", reading);
    if (!type.signals->stand_in().empty())
      out += fmt::format("{}by the stand-in {}", out.empty() ? "" : ", ", type.signals->stand_in());
    if (const auto server = type.signals->server(signal); !server.empty())
      out += fmt::format("{}by the server {}", out.empty() ? "" : ", ", server);
    return out;
  }

  std::string describe_evidence(uint32_t number) const {
    const TypeReport* type = type_of(number);
    return type != nullptr && type->computed ? describe_evidence(*type, number - type->first) : "";
  }

  // --- text ---

  void add_line(size_t depth, std::string_view text) {
    text_ += fmt::format("{:{}}{}\n", "", depth * 2, text);
  }

  std::string describe_leaf(const decision::Node& node, const decision::Value& value) const {
    const std::string what = fmt::format("{} {}", node.rule->type, node.rule->name);
    if (const std::string_view why = why_unknown(node); !why.empty())
      return fmt::format("{}: {}", what, why);
    const std::string reasons =
        describe_evidence(report_.leaf_values->target_of(node.signal).number);
    const std::string verdict =
        value.is_match() ? fmt::format("matches ({:.2f})", value.confidence_low) : "does not match";
    return reasons.empty() ? fmt::format("{} {}", what, verdict)
                           : fmt::format("{} {}: {}", what, verdict, reasons);
  }

  // Skips the branches of an OR that do not match and the parts of a NOT that holds: they do not
  // explain the result.
  void add_node(uint32_t at, size_t depth) {
    const auto nodes = report_.engine->nodes();
    const decision::Node& node = nodes[at];
    if (node.op == Rule::Operator::kLeaf)
      return add_line(depth, describe_leaf(node, report_.values[at]));
    if (node.end == at + 1) return add_line(depth, "the rule has no conditions");
    if (node.op == Rule::Operator::kNot) return add_line(depth, describe_not(at + 1));
    const bool any = node.op == Rule::Operator::kOr;
    for (uint32_t child = at + 1; child < node.end; child = nodes[child].end) {
      if (!any || report_.values[child].is_match()) add_node(child, depth);
    }
  }

  std::string describe_not(uint32_t child) const {
    const auto nodes = report_.engine->nodes();
    size_t leaves = 0;
    for (uint32_t i = child; i < nodes[child].end; ++i)
      leaves += nodes[i].op == Rule::Operator::kLeaf;
    if (leaves == 1 && nodes[child].op == Rule::Operator::kLeaf) {
      return fmt::format("{} {} does not match", nodes[child].rule->type, nodes[child].rule->name);
    }
    return fmt::format("none of {} other conditions matches", leaves);
  }

  void add_type(const TypeReport& type) {
    std::string unmatched;
    std::vector<std::pair<std::string_view, size_t>> unknown;  // why, how many
    for (uint32_t i = 0; i < type.signals->size(); ++i) {
      const decision::Value& value = report_.signals[type.first + i];
      if (const std::string_view why = why_unknown(type, i); !why.empty()) {
        auto known = std::find_if(unknown.begin(), unknown.end(),
                                  [&](const auto& each) { return each.first == why; });
        if (known == unknown.end()) known = unknown.insert(known, {why, 0});
        ++known->second;
        continue;
      }
      if (value.is_match()) {
        add_match(fmt::format("{} {}", type.signals->type(), type.signals->name(i)), value,
                  describe_evidence(type, i));
        continue;
      }
      unmatched += unmatched.empty() ? "" : ", ";
      unmatched += type.signals->name(i);
      if (!type.signals->wording().score.empty() && !type.moot)
        unmatched += fmt::format(" {}", describe_near_miss(type, i));
      if (type.computed && !type.readings[i].unsupported_language.empty())
        unmatched +=
            fmt::format(" (unsupported_language {})", type.readings[i].unsupported_language);
      if (type.computed) unmatched += describe_cleared(" ", type.readings[i]);
    }
    if (!unmatched.empty())
      add_line(1, fmt::format("{} does not match: {}", type.signals->type(), unmatched));
    for (const auto& [why, count] : unknown)
      add_line(1, fmt::format("{}: {}, {}", type.signals->type(), counted(count, "signal"), why));
  }

  void add_reasons(size_t decision) {
    reason_ = reason_of(decision);
    add_node(report_.engine->root(decision), 1);
  }

  void add_match(const std::string& what, const decision::Value& value,
                 const std::string& reasons) {
    const std::string verdict = fmt::format("{} matches ({:.2f})", what, value.confidence_low);
    add_line(1, reasons.empty() ? verdict : fmt::format("{}: {}", verdict, reasons));
  }

  void add_projections() {
    const decision::Projections& projections = report_.leaf_values->projections();
    projections.for_each_output([&](uint32_t number, std::string_view name, size_t score) {
      const decision::Value& value = report_.signals[number];
      if (!value.is_match()) return;
      const decision::Bounds& at = report_.scores[score];
      const std::string& of = projections.score(score).name;
      add_match(fmt::format("projection {}", name), value,
                at.low == at.high ? fmt::format("{} {:.2f}", of, at.low)
                                  : fmt::format("{} {:.2f} to {:.2f}", of, at.low, at.high));
    });
  }

  void add_other_decisions() {
    std::string matching, open;
    for (size_t d = 0; d < report_.routing->decisions.size(); ++d) {
      const decision::Value& value = report_.values[report_.engine->root(d)];
      if (applies(d) || !value.can_match()) continue;
      std::string& list = value.is_match() ? matching : open;
      list += list.empty() ? "" : ", ";
      list += report_.routing->decisions[d].name;
    }
    if (!matching.empty())
      text_ += fmt::format("Decisions that match as well and rank lower: {}\n", matching);
    if (!open.empty()) text_ += fmt::format("Decisions that could not have won: {}\n", open);
  }

  const Report& report_;
  std::string_view reason_ = kNotNeeded;  // for conditions of the current decision
  json::Writer out_;
  std::string text_;
};

}  // namespace

std::string explain_json(const Report& report) {
  return Explainer(report).json();
}

std::string explain_words(const Report& report) {
  return Explainer(report).words();
}

}  // namespace signalbox::routing
