// The layers in their order, and their spans made one list.

#include "router/safety/grounding/grounding.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "router/safety/grounding/check.h"
#include "router/safety/grounding/inference.h"
#include "router/safety/grounding/tokens.h"

namespace signalbox::grounding {


std::string_view verdict_name(GroundingVerdict verdict) {
  switch (verdict) {
    case GroundingVerdict::kFabricatedNumber:
      return "fabricated_number";
    case GroundingVerdict::kFabricatedDate:
      return "fabricated_date";
    case GroundingVerdict::kFabricatedUnit:
      return "fabricated_unit";
    case GroundingVerdict::kFabricatedName:
      return "fabricated_name";
    case GroundingVerdict::kHallucinated:
      return "hallucinated";
    case GroundingVerdict::kUnsupported:
      return "unsupported";
    case GroundingVerdict::kContradicted:
      return "contradicted";
  }
  return "unsupported";
}

class GroundingContext {
 public:
  GroundingContext(std::string context, std::string question)
      : context_(std::move(context)),
        question_(std::move(question)),
        read_context_(context_, Side::kContext),
        read_question_(question_, Side::kContext),
        index_(read_context_) {
    evidence_.add(read_context_);
    evidence_.add_question(read_question_);
    evidence_.seal();
  }

  bool empty() const { return read_context_.tokens().empty(); }
  const ReadText& text() const { return read_context_; }
  const std::string& question() const { return question_; }
  const SentenceIndex& index() const { return index_; }
  const Evidence& evidence() const { return evidence_; }

  TokenContext tokens = {};  // with a model that marks them

 private:
  std::string context_, question_;
  ReadText read_context_, read_question_;
  SentenceIndex index_;
  Evidence evidence_;
};

struct GroundingChecker::Layers {
  GroundingOptions options;
  std::optional<TokenJudge> tokens;
  std::optional<InferenceJudge> inference;
};

namespace {

Result<void> check_size(std::string_view what, size_t bytes, size_t most) {
  if (bytes <= most) return {};
  return fail(Code::kTooLarge, "{} has {} bytes, the limit is {}", what, bytes, most);
}

// Runs of tokens at or above the threshold, each taken to whole words. A space between two stays
// in.
std::vector<GroundingSpan> spans_of(std::string_view answer, const std::vector<JudgedToken>& tokens,
                                    double threshold) {
  std::vector<GroundingSpan> out;
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
      out.push_back({token.begin, token.end, GroundingVerdict::kHallucinated, token.hallucinated});
    }
    open = true;
  }
  const auto size = static_cast<uint32_t>(answer.size());
  for (GroundingSpan& span : out) {
    while (span.begin < span.end && !ascii::is_word_byte(answer[span.begin])) ++span.begin;
    while (span.end > span.begin && !ascii::is_word_byte(answer[span.end - 1])) --span.end;
    if (span.begin == span.end) continue;
    while (span.begin > 0 && ascii::is_word_byte(answer[span.begin - 1])) --span.begin;
    while (span.end < size && ascii::is_word_byte(answer[span.end])) ++span.end;
  }
  std::erase_if(out, [](const GroundingSpan& span) { return span.begin == span.end; });
  return out;
}

// `own` as they are, and of `others` what they leave, in the order of the text.
std::vector<GroundingSpan> merge(std::string_view answer, std::vector<GroundingSpan> own,
                                 const std::vector<GroundingSpan>& others) {
  std::vector<GroundingSpan> out = own;
  uint32_t end_before = 0;
  for (GroundingSpan other : others) {
    other.begin = std::max(other.begin, end_before);  // words may have made two of them meet
    end_before = std::max(end_before, other.end);
    auto over = std::ranges::lower_bound(own, other.begin + 1, {}, &GroundingSpan::end);
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
  std::ranges::sort(out, {}, &GroundingSpan::begin);
  return out;
}

// One answer on its way through the layers.
class Check {
 public:
  Check(const GroundingOptions& options, const GroundingContext& context, std::string_view answer)
      : options_(options), context_(context), answer_(answer) {}

  void facts() {
    auto [unsupported, verified] = grounding::check_facts(context_.evidence(), answer_);
    facts_ = std::move(unsupported);
    verified_ = std::move(verified);
    report_.facts = true;
  }

  Result<void> tokens(const TokenJudge& judge) {
    SIGNALBOX_TRY(judged_, judge.judge(context_.text(), context_.tokens, context_.index(), answer_,
                                       options_.windows_max));
    for (JudgedToken& token : judged_) {
      if (is_verified(token)) token.hallucinated = 0;
    }
    marked_ = spans_of(answer_.text(), judged_, options_.threshold);
    report_.tokens = true;
    return {};
  }

  // Asks about the sentences in which something is marked, or about all where nothing marks.
  Result<void> inference(const InferenceJudge& judge) {
    report_.inference = true;
    size_t asked = 0;
    for (const Sentence& sentence : answer_.sentences()) {
      const bool marked = any_in(facts_, sentence) || any_in(marked_, sentence);
      if (sentence.code || (report_.tokens && !marked)) continue;
      if (asked++ == options_.inference_sentences_max) break;
      SIGNALBOX_TRY(const std::optional<Inference> found,
                    judge.judge(context_.text(), context_.index(), answer_, sentence));
      apply(sentence, found.value_or(Inference{}));
    }
    return {};
  }

  GroundingReport report() {
    std::erase_if(facts_, [&](const GroundingSpan& s) { return s.score < options_.threshold; });
    report_.spans = merge(answer_.text(), facts_, marked_);
    for (const GroundingSpan& span : report_.spans) doubt(span.score);
    for (const JudgedToken& token : judged_) doubt(token.hallucinated);
    return std::move(report_);
  }

 private:
  // Models that mark tokens are poor at numbers, too: what was counted and is there is not theirs
  // to doubt.
  bool is_verified(const JudgedToken& token) const {
    const auto at = std::ranges::lower_bound(verified_, token.begin + 1, {}, &ByteSpan::end);
    return at != verified_.end() && at->begin <= token.begin;
  }

  static bool is_in(const GroundingSpan& span, const Sentence& sentence) {
    return span.begin < sentence.end && sentence.begin < span.end;
  }
  static bool any_in(const std::vector<GroundingSpan>& spans, const Sentence& sentence) {
    const auto first = std::ranges::lower_bound(spans, sentence.begin + 1, {}, &GroundingSpan::end);
    return first != spans.end() && is_in(*first, sentence);
  }

  void doubt(double hallucinated) {
    report_.supported = std::min(report_.supported, 1 - hallucinated);
  }

  // Models of inference are poor at numbers: what was counted stays.
  void apply(const Sentence& sentence, const Inference& found) {
    if (found.entailment >= options_.entailment) {
      std::erase_if(marked_, [&](const GroundingSpan& span) { return is_in(span, sentence); });
      std::erase_if(facts_, [&](const GroundingSpan& span) {
        return is_in(span, sentence) && span.verdict == GroundingVerdict::kFabricatedName;
      });
      for (JudgedToken& token : judged_) {
        if (token.begin < sentence.end && sentence.begin < token.end)
          token.hallucinated = std::min(token.hallucinated, 1 - found.entailment);
      }
      return;
    }
    const bool contradicted =
        found.contradiction >= options_.threshold && found.contradiction > found.entailment;
    for (GroundingSpan& span : marked_) {
      if (!is_in(span, sentence)) continue;
      span.verdict =
          contradicted ? GroundingVerdict::kContradicted : GroundingVerdict::kUnsupported;
      if (contradicted) span.score = std::max<double>(span.score, found.contradiction);
    }
    if (contradicted && !report_.tokens)
      marked_.push_back(
          {sentence.begin, sentence.end, GroundingVerdict::kContradicted, found.contradiction});
  }

  const GroundingOptions& options_;
  const GroundingContext& context_;
  const ReadText answer_;
  std::vector<GroundingSpan> facts_, marked_;
  std::vector<ByteSpan> verified_;  // numbers and dates
  std::vector<JudgedToken> judged_;
  GroundingReport report_;
};

}  // namespace

GroundingChecker::GroundingChecker(std::unique_ptr<const Layers> layers)
    : layers_(std::move(layers)) {}
GroundingChecker::GroundingChecker(GroundingChecker&&) noexcept = default;
GroundingChecker& GroundingChecker::operator=(GroundingChecker&&) noexcept = default;
GroundingChecker::~GroundingChecker() = default;

Result<GroundingChecker> GroundingChecker::create(const GroundingOptions& options,
                                                  const GroundingModels& models) {
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
  return GroundingChecker(std::move(layers));
}

Result<std::shared_ptr<const GroundingContext>> GroundingChecker::prepare(
    std::string context, std::string question) const {
  const GroundingOptions& options = layers_->options;
  SIGNALBOX_TRY_VOID(check_size("context", context.size(), options.context_bytes_max));
  SIGNALBOX_TRY_VOID(check_size("question", question.size(), options.question_bytes_max));
  auto out = std::make_shared<GroundingContext>(std::move(context), std::move(question));
  if (layers_->tokens) {
    SIGNALBOX_TRY(out->tokens, layers_->tokens->prepare(out->text(), out->question()));
  }
  return out;
}

Result<GroundingReport> GroundingChecker::check(const GroundingContext& context,
                                                std::string_view answer) const {
  SIGNALBOX_TRY_VOID(check_size("answer", answer.size(), layers_->options.answer_bytes_max));
  if (context.empty()) return GroundingReport{};  // nothing to hold it against
  Check check(layers_->options, context, answer);
  check.facts();
  if (layers_->tokens) {
    SIGNALBOX_TRY_VOID(check.tokens(*layers_->tokens));
  }
  if (layers_->inference) {
    SIGNALBOX_TRY_VOID(check.inference(*layers_->inference));
  }
  return check.report();
}

Result<GroundingReport> GroundingChecker::check(std::string context, std::string question,
                                                std::string_view answer) const {
  SIGNALBOX_TRY(const auto prepared, prepare(std::move(context), std::move(question)));
  return check(*prepared, answer);
}

}  // namespace signalbox::grounding
