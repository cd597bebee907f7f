// Runs the layers in order and merges their spans.

#include "router/safety/grounding/grounding.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "router/safety/grounding/check.h"
#include "router/safety/grounding/inference_judge.h"
#include "router/safety/grounding/token_judge.h"

namespace signalbox::grounding {

using namespace text;

std::string_view verdict_name(SpanVerdict verdict) {
  switch (verdict) {
    case SpanVerdict::kFabricatedNumber:
      return "fabricated_number";
    case SpanVerdict::kFabricatedDate:
      return "fabricated_date";
    case SpanVerdict::kFabricatedUnit:
      return "fabricated_unit";
    case SpanVerdict::kFabricatedName:
      return "fabricated_name";
    case SpanVerdict::kHallucinated:
      return "hallucinated";
    case SpanVerdict::kUnsupported:
      return "unsupported";
    case SpanVerdict::kContradicted:
      return "contradicted";
    case SpanVerdict::kUnchecked:
      return "unchecked";
  }
  return "unsupported";
}

class PreparedContext {
 public:
  PreparedContext(std::string context, std::string question)
      : context_(std::move(context)),
        question_(std::move(question)),
        read_context_(context_, Side::kContext),
        read_question_(question_, Side::kContext),
        index_(read_context_) {
    evidence_.add(read_context_);
    evidence_.add(read_question_);
    evidence_.seal();
  }

  bool empty() const { return read_context_.tokens().empty(); }
  const ReadText& text() const { return read_context_; }
  const std::string& question() const { return question_; }
  const SentenceIndex& index() const { return index_; }
  const Evidence& evidence() const { return evidence_; }

  TokenContext tokens = {};  // empty without a token model

 private:
  std::string context_, question_;
  ReadText read_context_, read_question_;
  SentenceIndex index_;
  Evidence evidence_;
};

struct Checker::Layers {
  CheckOptions options;
  std::optional<TokenJudge> tokens;
  std::optional<InferenceJudge> inference;
};

namespace {

Result<void> check_size(std::string_view what, size_t bytes, size_t most) {
  if (bytes <= most) return {};
  return fail(Code::kTooLarge, "{} has {} bytes, the limit is {}", what, bytes, most);
}

// Joins neighbouring tokens at or above the threshold and extends each run to whole words.
std::vector<Span> spans_of(std::string_view answer, const std::vector<JudgedToken>& tokens,
                           double threshold) {
  std::vector<Span> out;
  bool open = false;
  for (const JudgedToken& token : tokens) {
    if (token.begin == token.end) continue;
    if (token.hallucinated < threshold) {
      open = false;
      continue;
    }
    if (open) {
      out.back().end = token.end;
      out.back().score = std::max<double>(out.back().score, token.hallucinated);
    } else {
      out.push_back({token.begin, token.end, SpanVerdict::kHallucinated, token.hallucinated});
    }
    open = true;
  }
  const auto size = static_cast<uint32_t>(answer.size());
  for (Span& span : out) {
    while (span.begin < span.end && !ascii::is_word_byte(answer[span.begin])) ++span.begin;
    while (span.end > span.begin && !ascii::is_word_byte(answer[span.end - 1])) --span.end;
    if (span.begin == span.end) continue;
    while (span.begin > 0 && ascii::is_word_byte(answer[span.begin - 1])) --span.begin;
    while (span.end < size && ascii::is_word_byte(answer[span.end])) ++span.end;
  }
  std::erase_if(out, [](const Span& span) { return span.begin == span.end; });
  return out;
}

// Keeps `own` and adds the parts of `others` that do not overlap it, in the order of the text.
std::vector<Span> merge(std::string_view answer, std::vector<Span> own,
                        const std::vector<Span>& others) {
  std::vector<Span> out = own;
  uint32_t end_before = 0;
  for (Span other : others) {
    other.begin =
        std::max(other.begin, end_before);  // extending to whole words may have joined two
    end_before = std::max(end_before, other.end);
    auto over = std::ranges::lower_bound(own, other.begin + 1, {}, &Span::end);
    const auto add = [&](uint32_t begin, uint32_t end) {
      while (begin < end && !ascii::is_word_byte(answer[begin])) ++begin;
      while (end > begin && !ascii::is_word_byte(answer[end - 1])) --end;
      if (begin < end) out.push_back({begin, end, other.verdict, other.score});
    };
    for (; over != own.end() && over->begin < other.end; ++over) {
      if (over->begin > other.begin) add(other.begin, over->begin);
      other.begin = std::max(other.begin, over->end);
    }
    if (other.begin < other.end) add(other.begin, other.end);
  }
  std::ranges::sort(out, {}, &Span::begin);
  return out;
}

// The check of one answer.
class Check {
 public:
  Check(const CheckOptions& options, const PreparedContext& context, std::string_view answer,
        const engine::Patience& patience)
      : options_(options), context_(context), answer_(answer), patience_(patience) {}

  void facts() {
    CheckedFacts checked = check_facts(context_.evidence(), context_.index(), answer_);
    facts_ = std::move(checked.spans);
    unchecked_ = std::move(checked.unchecked);
    verified_ = std::move(checked.verified);
    report_.facts = true;
  }

  Result<void> tokens(const TokenJudge& judge) {
    SIGNALBOX_TRY(judged_, judge.judge(context_.text(), context_.tokens, context_.index(), answer_,
                                       options_.windows_max, patience_));
    for (JudgedToken& token : judged_) {
      if (is_verified(token)) token.hallucinated = 0;
    }
    marked_ = spans_of(answer_.text(), judged_, options_.threshold);
    report_.tokens = true;
    return {};
  }

  // Judges the sentences with findings, or all sentences without a token model.
  Result<void> inference(const InferenceJudge& judge) {
    report_.inference = true;
    size_t asked = 0;
    for (const Sentence& sentence : answer_.sentences()) {
      const bool marked = any_in(facts_, sentence) || any_in(marked_, sentence);
      if (sentence.code || (report_.tokens && !marked)) continue;
      if (asked++ == options_.inference_sentences_max) break;
      SIGNALBOX_TRY(const std::optional<Inference> found,
                    judge.judge(context_.text(), context_.index(), answer_, sentence, patience_));
      apply(sentence, found.value_or(Inference{}));
    }
    return {};
  }

  Report report() {
    std::erase_if(facts_, [&](const Span& s) { return s.score < options_.threshold; });
    report_.spans = merge(answer_.text(), facts_, marked_);
    for (const Span& span : report_.spans) doubt(span.score);
    for (const JudgedToken& token : judged_) doubt(token.hallucinated);
    add_unchecked();
    return std::move(report_);
  }

 private:
  // Token models are poor at numbers, so they may not mark a figure that the context contains.
  bool is_verified(const JudgedToken& token) const {
    const auto at = std::ranges::lower_bound(verified_, token.begin + 1, {}, &ByteSpan::end);
    return at != verified_.end() && at->begin <= token.begin;
  }

  static bool is_in(const Span& span, const Sentence& sentence) {
    return span.begin < sentence.end && sentence.begin < span.end;
  }
  static bool any_in(const std::vector<Span>& spans, const Sentence& sentence) {
    const auto first = std::ranges::lower_bound(spans, sentence.begin + 1, {}, &Span::end);
    return first != spans.end() && is_in(*first, sentence);
  }

  // A finding replaces an unchecked span that it overlaps.
  void add_unchecked() {
    std::erase_if(unchecked_, [&](const Span& span) {
      const auto after = std::ranges::lower_bound(report_.spans, span.begin + 1, {}, &Span::end);
      return after != report_.spans.end() && after->begin < span.end;
    });
    const auto findings = static_cast<ptrdiff_t>(report_.spans.size());
    report_.spans.insert(report_.spans.end(), unchecked_.begin(), unchecked_.end());
    std::ranges::inplace_merge(report_.spans, report_.spans.begin() + findings, {}, &Span::begin);
  }

  void doubt(double hallucinated) {
    report_.supported = std::min(report_.supported, 1 - hallucinated);
  }

  // NLI models are poor at numbers, so they may not clear a missing figure.
  void apply(const Sentence& sentence, const Inference& found) {
    if (found.entailment >= options_.entailment) {
      std::erase_if(marked_, [&](const Span& span) { return is_in(span, sentence); });
      std::erase_if(facts_, [&](const Span& span) {
        return is_in(span, sentence) && span.verdict == SpanVerdict::kFabricatedName;
      });
      for (JudgedToken& token : judged_) {
        if (token.begin < sentence.end && sentence.begin < token.end)
          token.hallucinated = std::min(token.hallucinated, 1 - found.entailment);
      }
      return;
    }
    const bool contradicted =
        found.contradiction >= options_.threshold && found.contradiction > found.entailment;
    for (Span& span : marked_) {
      if (!is_in(span, sentence)) continue;
      span.verdict = contradicted ? SpanVerdict::kContradicted : SpanVerdict::kUnsupported;
      if (contradicted) span.score = std::max<double>(span.score, found.contradiction);
    }
    if (contradicted && !report_.tokens)
      marked_.push_back(
          {sentence.begin, sentence.end, SpanVerdict::kContradicted, found.contradiction});
  }

  const CheckOptions& options_;
  const PreparedContext& context_;
  const ReadText answer_;
  const engine::Patience& patience_;
  std::vector<Span> facts_, marked_, unchecked_;
  std::vector<ByteSpan> verified_;  // figures and dates that the context contains
  std::vector<JudgedToken> judged_;
  Report report_;
};

}  // namespace

Checker::Checker(std::unique_ptr<const Layers> layers) : layers_(std::move(layers)) {}
Checker::Checker(Checker&&) noexcept = default;
Checker& Checker::operator=(Checker&&) noexcept = default;
Checker::~Checker() = default;

Result<Checker> Checker::create(const CheckOptions& options, const Models& models) {
  auto layers = std::make_unique<Layers>();
  layers->options = options;
  if (models.hallucination.model != nullptr) {
    SIGNALBOX_TRY(layers->tokens,
                  TokenJudge::create(models.hallucination.model, models.hallucination.head));
  }
  if (models.inference.model != nullptr) {
    SIGNALBOX_TRY(layers->inference,
                  InferenceJudge::create(models.inference.model, models.inference.head));
  }
  return Checker(std::move(layers));
}

Result<std::shared_ptr<const PreparedContext>> Checker::prepare(std::string context,
                                                                std::string question) const {
  const CheckOptions& options = layers_->options;
  SIGNALBOX_TRY_VOID(check_size("context", context.size(), options.context_bytes_max));
  SIGNALBOX_TRY_VOID(check_size("question", question.size(), options.question_bytes_max));
  auto out = std::make_shared<PreparedContext>(std::move(context), std::move(question));
  if (layers_->tokens) {
    SIGNALBOX_TRY(out->tokens, layers_->tokens->prepare(out->text(), out->question()));
  }
  return out;
}

Result<Report> Checker::check(const PreparedContext& context, std::string_view answer,
                              const engine::Patience& patience) const {
  SIGNALBOX_TRY_VOID(check_size("answer", answer.size(), layers_->options.answer_bytes_max));
  if (context.empty()) return Report{};
  Check check(layers_->options, context, answer, patience);
  check.facts();
  if (layers_->tokens) {
    SIGNALBOX_TRY_VOID(check.tokens(*layers_->tokens));
  }
  if (layers_->inference) {
    SIGNALBOX_TRY_VOID(check.inference(*layers_->inference));
  }
  return check.report();
}

Result<Report> Checker::check(std::string context, std::string question,
                              std::string_view answer) const {
  SIGNALBOX_TRY(const auto prepared, prepare(std::move(context), std::move(question)));
  return check(*prepared, answer);
}

}  // namespace signalbox::grounding
