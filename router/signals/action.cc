// Signals of type action: the first phrase of the user's last message that names an action decides.
// No model runs. The phrases are English.

#include <array>

#include "router/signals/matching/pattern.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

struct Action {
  std::string_view name;
  std::string_view phrases;  // a pattern of RE2, in which a space stands for any white space
};

// For two phrases of the same length at the same place, the first row decides.
constexpr std::array<Action, 5> kActions{{
    {"generate",
     "(?:write|create|generate|build|draft|produce|scaffold|implement|develop|design|compose)"
     " (?:(?:me|us) )?(?:an?|some|new|another|code)|implement(?:ing)?|code (?:up|me)"
     "|add (?:an?|another|new|some|support for)"
     "|(?:give|show) (?:me|us) (?:an?|some) (?:example |sample )?"
     "(?:function|script|class|snippet|implementation|program|query|regex|command|code)"
     "|(?:i|we) (?:need|want) (?:an?|some) (?:new )?"
     "(?:function|script|class|program|tool|endpoint|component|cli|service|page|api|app)"
     "|make (?:me|us) (?:an?|some|another)|make (?:an?|some|another|new) (?:[\\w-]+ ){0,2}"
     "(?:function|script|class|program|tool|endpoint|component|cli|service|page|api|app|website"
     "|game|bot|library|module|parser|table|list|chart|diagram|query|regex|example|file|code)"
     "|boilerplate|starter (?:code|template|project)"},
    {"explain",
     "explain(?:s|ing)?|what(?:['’]s| (?:does|do|did|is|are|was|were|happens))|why"
     "|how (?:does|do|did|is|are|can|could|should|would|to|come)|(?:should|could) (?:i|we)"
     "|(?:walk|talk) (?:me|us) through|help (?:me|us) understand"
     "|tell (?:me|us) (?:about|what|how|why|more)|describe|summari[sz]e|clarify|meaning of"
     "|difference between|(?:do not|don['’]?t) understand|confused (?:about|by)|purpose of"
     "|is it (?:possible|safe|better|ok|okay)|which (?:is|are|one|should)"},
    {"fix",
     "fix(?:es|ed|ing)?|debug(?:s|ged|ging)?|repair(?:ing)?|resolv(?:e|ing)|troubleshoot(?:ing)?"
     "|patch (?:this|the|it|my)|(?:correct|solve) (?:the|this|my|these)"
     "|(?:(?:does|is|are|wo|ca|do|did)n['’]?t|(?:does|do|did|is|are|will) not|cannot|no longer|not"
     "|stopped) (?:compil(?:es?|ing)|run(?:s|ning)?|pass(?:es|ing)?"
     "|(?:work|build|load|start)(?:s|ing)?)"
     "|(?:is|are|keeps?) (?:broken|failing|crashing|erroring|throwing|hanging|timing out)"
     "|(?:getting|got|get|seeing|see|hitting|hit) (?:(?:an?|this|the) )?"
     "(?:\\w+ )?(?:error|exception|crash|segfault|panic|bug)"
     "|make (?:it|this|the tests?) (?:work|pass|compile|run)"},
    {"refactor",
     "refactor(?:s|ed|ing)?|renam(?:e|es|ed|ing)|clean(?: |-)?up|clean (?:this|it)"
     "|simplif(?:y|ies|ied|ying)|restructur(?:e|es|ed|ing)|reorgani[sz](?:e|es|ed|ing)"
     "|rewrit(?:e|es|ing|ten)|extract (?:an?|the|this|that|it|into|out)"
     "|split (?:this|the|it|up)|de-?dup(?:e|licate)|tidy up|moderni[sz]e|inline (?:this|the)"
     "|(?:convert|migrate|port) (?:this|it|the|my)"
     "|mak(?:e|ing) (?:it|this|the code) (?:more )?"
     "(?:readable|cleaner|simpler|idiomatic|pythonic|maintainable|modular)"
     "|improve (?:the )?(?:readability|structure|naming|code quality)"},
    {"test",
     "(?:write|add|create|make|generate|need|want) (?:(?:me|us|an?|the|some|more|a few|new|unit"
     "|integration|regression|end-to-end|e2e|snapshot|property-based|table-driven|pytest|jest"
     "|vitest|junit) )*tests?"
     "|test (?:cases?|coverage)|(?:increase|improve|raise) (?:the )?coverage"
     "|cover (?:this|it|the \\w+) with tests|test (?:this|it|that|these)"
     "|(?:mock|stub) (?:the|this|out)"},
}};
constexpr std::string_view kOther = "other";  // no phrase names an action

/// Copies the text without what is between backticks: code and logs are not the request.
std::string without_code(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t tick = text.find('`');
    out += text.substr(0, tick);
    if (tick == std::string_view::npos) break;
    text.remove_prefix(tick);
    const std::string_view mark = text.starts_with("```") ? "```" : "`";
    const size_t end = text.find(mark, mark.size());
    const bool is_closed = end != std::string_view::npos &&
                           (mark.size() == 3 || text.substr(0, end).find('\n') == text.npos);
    out += is_closed ? " " : mark;
    text.remove_prefix(is_closed ? end + mark.size() : mark.size());
  }
  return out;
}

Result<Pattern> phrase_pattern(std::string_view phrases) {
  std::string pattern = "\\b(?:";
  for (const char c : phrases) c == ' ' ? pattern += "\\s+" : pattern += c;
  return Pattern::compile(pattern + ")\\b", false);
}

class ActionSignals : public NamedSignals<config::ClassSignal> {
 public:
  using NamedSignals::NamedSignals;

  Result<void> compile() {
    for (const Action& action : kActions) {
      SIGNALBOX_TRY(Pattern pattern, phrase_pattern(action.phrases));
      patterns_.push_back(std::move(pattern));
    }
    return {};
  }

  std::string_view type() const override { return "action"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"share of phrases", ""}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    const auto [action, share] = find(without_code(inputs.request().user_text()));
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i].name == action) out[i] = {true, 1, share};
    }
    return {};
  }

 private:
  struct Found {
    std::string_view action;
    double share;
  };

  // The action of the first phrase, and its share of all phrases; phrases do not overlap.
  Found find(std::string_view text) const {
    std::vector<std::optional<Pattern::Span>> next;  // (actions)
    for (const Pattern& pattern : patterns_) next.push_back(pattern.find(text, 0));
    std::array<size_t, kActions.size()> counts{};
    std::optional<size_t> chosen;
    size_t all = 0;
    while (all < Pattern::kCountMax) {
      std::optional<size_t> best;
      for (size_t i = 0; i < next.size(); ++i) {
        if (next[i] && (!best || next[i]->begin < next[*best]->begin ||
                        (next[i]->begin == next[*best]->begin && next[i]->end > next[*best]->end)))
          best = i;
      }
      if (!best) break;
      if (!chosen) chosen = best;
      ++counts[*best];
      ++all;
      const size_t end = next[*best]->end;
      for (size_t i = 0; i < next.size(); ++i) {
        if (next[i] && next[i]->begin < end) next[i] = patterns_[i].find(text, end);
      }
    }
    if (!chosen) return {kOther, 1};
    return {kActions[*chosen].name,
            static_cast<double>(counts[*chosen]) / static_cast<double>(all)};
  }

  std::vector<Pattern> patterns_;  // (actions)
};

}  // namespace

SignalTypeResult action_signals(const std::vector<config::ClassSignal>& signals) {
  auto made = std::make_unique<ActionSignals>(signals);
  SIGNALBOX_TRY_VOID(made->compile());
  return made;
}

}  // namespace signalbox::signals
