// What the ways of comparing share, and the two that are one call each.

#include "router/signals/matching/keyword_matcher.h"

#include <map>

#include "router/signals/matching/keyword_automaton.h"
#include "router/signals/matching/pattern.h"

namespace signalbox::signals {
namespace {

class Literals : public KeywordMatcher {
 public:
  explicit Literals(bool lower) : lower_(lower) {}

  Result<void> add(uint32_t keyword, std::string_view text, const config::KeywordSignal&) override {
    SIGNALBOX_TRY(std::string folded, folded_keyword(text, lower_));
    const auto [known, fresh] = numbers_.emplace(folded, static_cast<uint32_t>(patterns_.size()));
    if (fresh) {
      patterns_.push_back({static_cast<uint32_t>(folded.size()),
                           text::word_starts_at(folded, 0),
                           text::word_ends_at(folded, folded.size()),
                           {}});
      texts_.push_back(std::move(folded));
    }
    patterns_[known->second].keywords.push_back(keyword);
    return {};
  }

  Result<void> finish() override {
    SIGNALBOX_TRY(automaton_, KeywordAutomaton::build(texts_));
    return {};
  }

  void match(KeywordText& text, KeywordHits& hits) const override {
    if (patterns_.empty()) return;
    const std::string_view folded = text.folded(lower_);
    automaton_.scan(folded, [&](uint32_t number, size_t end) {
      const Pattern& pattern = patterns_[number];
      if (hits.has(pattern.keywords.front())) return;
      if (pattern.left_boundary && text::word_ends_at(folded, end - pattern.bytes)) return;
      if (pattern.right_boundary && text::word_starts_at(folded, end)) return;
      for (const uint32_t keyword : pattern.keywords) hits.add(keyword, 1);
    });
  }

 private:
  struct Pattern {
    uint32_t bytes;
    bool left_boundary;  // the pattern starts with a word character: none may stand before it
    bool right_boundary;
    std::vector<uint32_t> keywords;
  };

  bool lower_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
  std::vector<Pattern> patterns_;
  KeywordAutomaton automaton_;
};

class Patterns : public KeywordMatcher {
 public:
  Result<void> add(uint32_t keyword, std::string_view text,
                   const config::KeywordSignal& signal) override {
    SIGNALBOX_TRY(Pattern pattern, Pattern::compile(text, signal.case_sensitive));
    patterns_.push_back({keyword, std::move(pattern)});
    return {};
  }
  Result<void> finish() override { return {}; }

  void match(KeywordText& text, KeywordHits& hits) const override {
    for (const CompiledPattern& each : patterns_) {
      if (each.pattern.is_in(text.original())) hits.add(each.keyword, 1);
    }
  }

 private:
  struct CompiledPattern {
    uint32_t keyword;
    Pattern pattern;
  };
  std::vector<CompiledPattern> patterns_;
};

}  // namespace

void KeywordText::reset(std::string_view text) {
  original_ = text;
  for (Form& form : forms_) form.folded = form.split = false;
}

std::string_view KeywordText::folded(bool lower) {
  Form& form = forms_[lower ? 1 : 0];
  if (!form.folded) text::fold(original_, lower, form.text);
  form.folded = true;
  return form.text;
}

std::string_view KeywordText::near(bool lower) {
  const std::string_view text = folded(lower);
  size_t end = std::min(text.size(), kNearBytesMax);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

const std::vector<text::TextUnit>& KeywordText::units(bool lower) {
  Form& form = forms_[lower ? 1 : 0];
  if (!form.split || !form.folded) text::split_units(near(lower), form.units);
  form.split = true;
  return form.units;
}

Result<std::string> folded_keyword(std::string_view keyword, bool lower) {
  std::string folded;
  text::fold(keyword, lower, folded);
  if (folded.starts_with(' ')) folded.erase(0, 1);
  if (folded.ends_with(' ')) folded.pop_back();
  if (folded.empty())
    return fail(Code::kInvalid, "expected a keyword, found nothing but white space");
  return folded;
}

std::unique_ptr<KeywordMatcher> literal_matcher(bool lower) {
  return std::make_unique<Literals>(lower);
}

std::unique_ptr<KeywordMatcher> pattern_matcher() {
  return std::make_unique<Patterns>();
}

}  // namespace signalbox::signals
