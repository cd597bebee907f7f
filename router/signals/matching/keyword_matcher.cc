// Code that all matchers share, and the two matchers that need one call per pattern or text.

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
    SIGNALBOX_TRY(std::string normalized, normalize_keyword(text, lower_));
    const auto [known, fresh] =
        numbers_.emplace(normalized, static_cast<uint32_t>(patterns_.size()));
    if (fresh) {
      patterns_.push_back({static_cast<uint32_t>(normalized.size()),
                           text::word_starts_at(normalized, 0),
                           text::word_ends_at(normalized, normalized.size()),
                           {}});
      texts_.push_back(std::move(normalized));
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
    const std::string_view normalized = text.normalized(lower_);
    automaton_.scan(normalized, [&](uint32_t number, size_t end) {
      const Pattern& pattern = patterns_[number];
      if (hits.has(pattern.keywords.front())) return;
      if (pattern.left_boundary && text::word_ends_at(normalized, end - pattern.bytes)) return;
      if (pattern.right_boundary && text::word_starts_at(normalized, end)) return;
      for (const uint32_t keyword : pattern.keywords) hits.add(keyword, 1);
    });
  }

 private:
  struct Pattern {
    uint32_t bytes;
    // The pattern starts (ends) with a word character, so none may precede (follow) it.
    bool left_boundary;
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

// The beginning that the approximate methods read.
std::string_view cut(std::string_view text) {
  size_t end = std::min(text.size(), kNearBytesMax);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

void KeywordText::reset(std::string_view text) {
  release();
  original_ = text;
}

void KeywordText::release() {
  original_ = {};
  for (Form& form : forms_) {
    form.is_normalized = form.is_begun = form.is_split = false;
    if (form.text.capacity() > 2 * kNearBytesMax) std::string().swap(form.text);
    std::string().swap(form.beginning);
  }
}

size_t KeywordText::memory_bytes() const {
  size_t out = 0;
  for (const Form& form : forms_) {
    out += form.text.capacity() + form.beginning.capacity() +
           form.units.capacity() * sizeof(text::TextUnit);
  }
  return out;
}

std::string_view KeywordText::normalized(bool lower) {
  Form& form = forms_[lower ? 1 : 0];
  if (form.is_normalized) return form.text;
  if (is_long()) {
    Form& other = forms_[lower ? 0 : 1];
    std::string().swap(other.text);  // an assignment would keep the memory
    other.is_normalized = false;
  }
  text::normalize(original_, lower, form.text);
  form.is_normalized = true;
  if (is_long() && !form.is_begun) form.beginning = cut(form.text);
  form.is_begun = true;
  return form.text;
}

std::string_view KeywordText::beginning(bool lower) {
  Form& form = forms_[lower ? 1 : 0];
  if (!form.is_begun) normalized(lower);
  return is_long() ? std::string_view(form.beginning) : cut(form.text);
}

const std::vector<text::TextUnit>& KeywordText::units(bool lower) {
  Form& form = forms_[lower ? 1 : 0];
  if (!form.is_split) text::split_units(beginning(lower), form.units);
  form.is_split = true;
  return form.units;
}

namespace {

KeywordText& work_space() {
  static thread_local KeywordText text;
  return text;
}

}  // namespace

LentKeywordText::LentKeywordText(std::string_view text) : text_(work_space()) {
  text_.reset(text);
}

LentKeywordText::~LentKeywordText() {
  text_.release();
}

Result<std::string> normalize_keyword(std::string_view keyword, bool lower) {
  std::string normalized;
  text::normalize(keyword, lower, normalized);
  if (normalized.starts_with(' ')) normalized.erase(0, 1);
  if (normalized.ends_with(' ')) normalized.pop_back();
  if (normalized.empty())
    return fail(Code::kInvalid, "expected a keyword, found nothing but white space");
  return normalized;
}

std::unique_ptr<KeywordMatcher> literal_matcher(bool lower) {
  return std::make_unique<Literals>(lower);
}

std::unique_ptr<KeywordMatcher> pattern_matcher() {
  return std::make_unique<Patterns>();
}

}  // namespace signalbox::signals
