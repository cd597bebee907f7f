// One automaton holds the keywords of all signals that ignore case, another those that do not, so a
// request's text is scanned twice at most.

#include "router/signals/keyword.h"

#include <map>
#include <optional>
#include <string>

#include "router/signals/fold.h"
#include "router/signals/keyword_automaton.h"

namespace signalbox::router {
namespace {

using Operator = config::KeywordSignal::Operator;

struct Use {
  uint32_t signal;
  std::string_view keyword;  // as configured
};

struct Pattern {
  uint32_t bytes;
  bool left_boundary;  // the pattern starts with a word character: none may stand before it
  bool right_boundary;
  std::vector<Use> uses;
};

// Work space of a request, reused by a thread.
struct Scratch {
  std::string text;
  std::vector<bool> seen;         // (patterns)
  std::vector<uint32_t> matched;  // (signals) keywords that occur
};

// The keywords that are compared in one way.
class Index {
 public:
  explicit Index(bool lower) : lower_(lower) {}

  Result<void> add(uint32_t signal, const std::string& keyword) {
    std::string folded;
    fold(keyword, lower_, folded);
    if (folded.starts_with(' ')) folded.erase(0, 1);
    if (folded.ends_with(' ')) folded.pop_back();
    if (folded.empty())
      return fail(Code::kInvalid, "expected a keyword, found nothing but white space");
    const auto [known, fresh] = numbers_.emplace(folded, static_cast<uint32_t>(patterns_.size()));
    if (fresh) {
      patterns_.push_back({static_cast<uint32_t>(folded.size()),
                           word_starts_at(folded, 0),
                           word_ends_at(folded, folded.size()),
                           {}});
      texts_.push_back(folded);
    }
    patterns_[known->second].uses.push_back({signal, keyword});
    return {};
  }

  Result<void> finish() {
    SIGNALBOX_TRY(automaton_, KeywordAutomaton::build(texts_));
    return {};
  }

  void match(std::string_view text, Scratch& scratch, std::vector<Evidence>& evidence) const {
    if (patterns_.empty()) return;
    fold(text, lower_, scratch.text);
    scratch.seen.assign(patterns_.size(), false);
    const std::string_view folded = scratch.text;
    automaton_.scan(folded, [&](uint32_t number, size_t end) {
      const Pattern& pattern = patterns_[number];
      if (scratch.seen[number]) return;
      if (pattern.left_boundary && word_ends_at(folded, end - pattern.bytes)) return;
      if (pattern.right_boundary && word_starts_at(folded, end)) return;
      scratch.seen[number] = true;
      for (const Use& use : pattern.uses) {
        ++scratch.matched[use.signal];
        evidence.push_back({use.signal, use.keyword, 1});
      }
    });
  }

 private:
  bool lower_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
  std::vector<Pattern> patterns_;
  KeywordAutomaton automaton_;
};

class Signals : public KeywordSignals {
 public:
  explicit Signals(const std::vector<config::KeywordSignal>& signals) : signals_(signals) {}

  Result<void> index() {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      for (const std::string& keyword : signals_[i].keywords) {
        auto added = (signals_[i].case_sensitive ? exact_ : lower_).add(i, keyword);
        if (!added)
          return fail_in(fmt::format("keyword signal \"{}\"", signals_[i].name),
                         std::move(added).error());
      }
    }
    SIGNALBOX_TRY_VOID(lower_.finish());
    return exact_.finish();
  }

  std::string_view type() const override { return "keyword"; }
  Cost cost() const override { return Cost::kCheap; }
  size_t size() const override { return signals_.size(); }
  std::string_view name(size_t signal) const override { return signals_[signal].name; }

  Result<void> evaluate(const ChatRequest& request, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    static thread_local Scratch scratch;
    scratch.matched.assign(signals_.size(), 0);
    const std::string_view text = request.user_text();
    lower_.match(text, scratch, evidence);
    exact_.match(text, scratch, evidence);
    for (size_t i = 0; i < signals_.size(); ++i) out[i] = read(signals_[i], scratch.matched[i]);
    return {};
  }

 private:
  static Reading read(const config::KeywordSignal& signal, uint32_t matched) {
    const double share =
        signal.keywords.empty() ? 0 : matched / static_cast<double>(signal.keywords.size());
    switch (signal.op) {
      case Operator::kAnd:
        return reading(matched == signal.keywords.size(), 0.5 + 0.5 * share, share);
      case Operator::kOr:
        return reading(matched > 0, 0.5 + 0.5 * share, share);
      case Operator::kNor:
        return reading(matched == 0, 1, share);
    }
    return {};
  }
  static Reading reading(bool matched, double confidence, double share) {
    return {matched, matched ? confidence : 0, share};
  }

  std::vector<config::KeywordSignal> signals_;
  Index lower_{true};
  Index exact_{false};
};

}  // namespace

Result<std::unique_ptr<const SignalType>> KeywordSignals::create(
    const std::vector<config::KeywordSignal>& signals) {
  auto made = std::make_unique<Signals>(signals);
  SIGNALBOX_TRY_VOID(made->index());
  return made;
}

}  // namespace signalbox::router
