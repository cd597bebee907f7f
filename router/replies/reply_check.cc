// The text before a window is checked with it as its context, but not reported again.

#include "router/replies/reply_check.h"

#include <algorithm>
#include <chrono>

#include "base/utf8.h"
#include "router/text/facts.h"
#include "router/text/read_text.h"
#include "router/text/windows.h"

namespace signalbox::replies {
namespace {

using text::ReadText;
using text::Sentence;
using text::Token;
using text::TokenKind;

constexpr size_t kSharedMin = 2;  // shared words that make two texts treat the same subject
constexpr size_t kAttemptBytesBefore = 512;  // a jailbreak attempt is one or two sentences long

size_t words_in(std::string_view text) {
  const ReadText read(text);
  size_t words = 0;
  for (const Token& token : read.tokens()) words += token.kind != TokenKind::kSymbol;
  return words;
}

std::string_view tail(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  size_t begin = text.size() - bytes;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

// The stem of a content word; "" for any other token.
std::string_view stem_or_empty(const Token& token) {
  if (token.kind == TokenKind::kSymbol || token.lower.size() < 2 ||
      text::is_common_word(token.lower))
    return {};
  return text::stem_of(token.lower);
}

// The stems of all content words of `text`; with `of`, only those in that set.
std::unordered_set<std::string> stems_of(std::string_view text,
                                         const std::unordered_set<std::string>* of = nullptr) {
  std::unordered_set<std::string> out;
  const ReadText read(text);
  for (const Token& token : read.tokens()) {
    std::string stem(stem_or_empty(token));
    if (!stem.empty() && (of == nullptr || of->contains(stem))) out.insert(std::move(stem));
  }
  return out;
}

}  // namespace

ReplyCheck::ReplyCheck(const ReplyRules& rules, GroundTruth truth,
                       std::shared_ptr<const grounding::Checker> checker, const SpanRules& spans,
                       JailbreakJudge judge)
    : rules_(rules),
      truth_(std::move(truth)),
      checker_(std::move(checker)),
      spans_(spans),
      judge_(std::move(judge)) {}

Result<void> ReplyCheck::prepare() {
  if (!truth_.instructions.empty()) {
    instruction_words_ = stems_of(truth_.instructions);
    question_words_ = stems_of(truth_.question, &instruction_words_);
  }
  SIGNALBOX_TRY(context_, checker_->prepare(std::move(truth_.context), std::move(truth_.question)));
  return {};
}

ReplyVerdict ReplyCheck::check(const std::vector<ReplyWindow>& windows,
                               const engine::Patience& patience) {
  const auto began = std::chrono::steady_clock::now();
  ReplyVerdict out;
  for (const ReplyWindow& window : windows) {
    ReplyFinding found;
    found.choice = window.choice;
    if (rules_.grounding && !check_grounding(window, patience, found)) out.grounding_failed = true;
    if (rules_.jailbreak && !check_jailbreak(window, patience, found)) out.jailbreak_failed = true;
    if (!found.spans.empty() || found.jailbreak > 0) out.findings.push_back(std::move(found));
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return out;
}

bool ReplyCheck::counts(const grounding::Span& span, std::string_view text) const {
  if (span.verdict == grounding::SpanVerdict::kUnchecked) return false;
  const bool marked = span.verdict == grounding::SpanVerdict::kHallucinated ||
                      span.verdict == grounding::SpanVerdict::kUnsupported;
  if (!marked) return true;
  return span.score >= spans_.score_min && words_in(text) >= spans_.words_min;
}

Result<void> ReplyCheck::check_grounding(const ReplyWindow& window,
                                         const engine::Patience& patience, ReplyFinding& out) {
  if (checker_ == nullptr) return fail(Code::kUnsupported, "there is no checker");
  if (context_ == nullptr) {
    SIGNALBOX_TRY_VOID(prepare());
  }
  const std::string answer = window.before + window.text;
  SIGNALBOX_TRY(const grounding::Report report, checker_->check(*context_, answer, patience));
  if (report.spans.empty()) return {};
  const std::vector<Sentence> sentences = relevant_sentences(answer);
  auto sentence = sentences.begin();
  utf8::Points points(answer, window.before.size());
  for (const grounding::Span& span : report.spans) {
    if (span.end <= window.before.size()) continue;
    const uint32_t begin = std::max(span.begin, static_cast<uint32_t>(window.before.size()));
    const std::string_view text = std::string_view(answer).substr(begin, span.end - begin);
    while (sentence != sentences.end() && sentence->end <= span.begin) ++sentence;
    const bool is_relevant = sentence != sentences.end() && sentence->begin < span.end;
    if (!counts(span, text) || !is_relevant) continue;
    ReplySpan reported;
    reported.begin = window.begin + points.up_to(begin);
    reported.end = reported.begin + utf8::count(text);
    reported.text = text;
    reported.verdict = grounding::verdict_name(span.verdict);
    reported.score = span.score;
    out.spans.push_back(std::move(reported));
  }
  return {};
}

// Instructions do not mention most subjects, and they cannot contradict a sentence on a subject
// that they do not mention. Returns the sentences that they may contradict.
std::vector<Sentence> ReplyCheck::relevant_sentences(std::string_view answer) const {
  if (truth_.instructions.empty())
    return {Sentence{.begin = 0, .end = static_cast<uint32_t>(answer.size())}};
  const ReadText read(answer);
  std::vector<Sentence> out;
  for (const Sentence& sentence : read.sentences()) {
    std::unordered_set<std::string> shared;
    for (uint32_t i = sentence.first_token; i < sentence.last_token; ++i) {
      if (question_words_.size() + shared.size() >= kSharedMin) break;
      std::string stem(stem_or_empty(read.at(i)));
      if (instruction_words_.contains(stem) && !question_words_.contains(stem))
        shared.insert(std::move(stem));
    }
    if (question_words_.size() + shared.size() >= kSharedMin) out.push_back(sentence);
  }
  return out;
}

Result<void> ReplyCheck::check_jailbreak(const ReplyWindow& window,
                                         const engine::Patience& patience,
                                         ReplyFinding& out) const {
  if (judge_.model == nullptr) return fail(Code::kUnsupported, "there is no classifier");
  const std::string text = std::string(tail(window.before, kAttemptBytesBefore)) + window.text;
  SIGNALBOX_TRY(const text::Windows pieces, text::windows_of({text}, *judge_.model));
  for (const std::string_view piece : pieces.pieces) {
    const engine::Input input{.text = piece};
    SIGNALBOX_TRY(const auto answers, judge_.model->answer_within(patience, {&input, 1}));
    double sum = 0;
    for (const size_t label : judge_.positive) sum += answers[judge_.head].scores[label];
    if (sum >= judge_.threshold) out.jailbreak = std::max(out.jailbreak, std::min(sum, 1.0));
  }
  if (pieces.whole || out.jailbreak > 0) return {};
  return fail(Code::kTooLarge, "the reply is too long to be checked whole");
}

}  // namespace signalbox::replies
