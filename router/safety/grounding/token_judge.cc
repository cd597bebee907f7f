// Lengths are counted in the model's own tokens, with a reserve for tokens at the joints.

#include "router/safety/grounding/token_judge.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::grounding {
namespace {

using namespace text;

constexpr int32_t kSpare = 8;  // special tokens, and words that split differently when joined

std::string label_name(std::string_view label) {
  if (label.size() > 2 && (label[0] == 'B' || label[0] == 'I') && label[1] == '-')
    label.remove_prefix(2);
  return ascii::snake_case(label);
}

// Returns the place to cut a stretch: a space near its middle, else the start of a character.
uint32_t middle(std::string_view text, uint32_t begin, uint32_t end) {
  const uint32_t half = begin + (end - begin) / 2;
  const size_t space = text.substr(0, end).find(' ', half);
  if (space != std::string_view::npos && space < end - (end - begin) / 4)
    return static_cast<uint32_t>(space);
  uint32_t at = half;
  while (at > begin + 1 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

Result<TokenJudge> TokenJudge::create(std::shared_ptr<const engine::TextModel> model, size_t head) {
  TokenJudge out;
  const auto heads = model->heads();
  if (head >= heads.size() || heads[head].kind != engine::HeadKind::kTokens)
    return fail(Code::kInvalid, "the model has no head that labels tokens");
  const auto& labels = heads[head].labels;
  std::string all;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string label = label_name(labels[i]);
    if (is_one_of(label, {"hallucinated", "hallucination", "unsupported", "not_supported"}))
      out.labels_.push_back(i);
    all += fmt::format("{}{}", i == 0 ? "" : ", ", labels[i]);
  }
  if (out.labels_.empty() && labels.size() == 2 && label_name(labels[1]) == "label_1") {
    out.labels_ = {1};
    out.passages_ = true;
  }
  if (out.labels_.empty()) {
    return fail(Code::kInvalid, "no label means hallucinated or unsupported: {}", all);
  }
  out.model_ = std::move(model);
  out.head_ = head;
  out.adapter_ = heads[head].adapter;
  return out;
}

Result<int32_t> TokenJudge::count(std::string_view text) const {
  if (text.empty()) return 0;
  return model_->tokens({.text = text, .adapter = adapter_});
}

Result<void> TokenJudge::cut(std::string_view text, uint32_t begin, uint32_t end, int32_t most,
                             std::vector<Piece>& out) const {
  if (begin == end) return {};
  SIGNALBOX_TRY(const int32_t tokens, count(text.substr(begin, end - begin)));
  if (tokens <= most || end - begin <= 1) {
    out.push_back({begin, end, tokens});
    return {};
  }
  const uint32_t half = middle(text, begin, end);
  if (half <= begin || half >= end) {
    out.push_back({begin, end, tokens});
    return {};
  }
  SIGNALBOX_TRY_VOID(cut(text, begin, half, most, out));
  return cut(text, half, end, most, out);
}

Result<TokenContext> TokenJudge::prepare(const ReadText& context, std::string_view question) const {
  TokenContext out;
  const int32_t all = model_->tokens_max();
  for (uint32_t s = 0; s < context.sentences().size(); ++s) {
    const Sentence& sentence = context.sentences()[s];
    SIGNALBOX_TRY_VOID(cut(context.text(), sentence.begin, sentence.end, all / 8, out.pieces));
    out.sentences.resize(out.pieces.size(), s);
  }
  std::vector<Piece> parts;  // a long question is truncated to the first
  SIGNALBOX_TRY_VOID(cut(question, 0, static_cast<uint32_t>(question.size()), all / 8, parts));
  if (!parts.empty()) out.question = question.substr(parts[0].begin, parts[0].end);
  return out;
}

std::string TokenJudge::prompt(std::string_view context, std::string_view question) const {
  if (!passages_) {
    return question.empty() ? std::string(context) : fmt::format("{}\n{}", context, question);
  }
  // The exact prompt of their training.
  if (question.empty()) return fmt::format("Summarize the following text:\n{}\noutput:", context);
  return fmt::format(
      "Briefly answer the following question:\n{}\nBear in mind that your response should be "
      "strictly based on the following 1 passages:\npassage 1: {}\nIn case the passages do not "
      "contain the necessary information to answer the question, please reply with: \"Unable to "
      "answer based on given passages.\"\noutput:",
      question, context);
}

// Splits the answer into pieces that leave half of the model's input to the context. Sentences stay
// together as long as they fit, because each is clearer with its neighbours.
Result<std::vector<Piece>> TokenJudge::units(const ReadText& answer,
                                             const TokenContext& context) const {
  SIGNALBOX_TRY(const int32_t fixed, count(prompt("", context.question)));
  const int32_t most = std::max((model_->tokens_max() - fixed - kSpare) / 2, 1);
  std::vector<Piece> parts, out;
  for (const Sentence& sentence : answer.sentences()) {
    SIGNALBOX_TRY_VOID(cut(answer.text(), sentence.begin, sentence.end, most, parts));
  }
  for (const Piece& part : parts) {
    if (out.empty() || out.back().tokens + part.tokens > most) {
      out.push_back(part);
    } else {
      out.back().end = part.end;
      out.back().tokens += part.tokens;
    }
  }
  return out;
}

// Fills windows greedily. Each begins with the last eighth of the previous one.
std::vector<TokenJudge::Window> TokenJudge::windows(const TokenContext& context,
                                                    int32_t room) const {
  std::vector<Window> out;
  const auto count = static_cast<uint32_t>(context.pieces.size());
  for (uint32_t first = 0; first < count;) {
    uint32_t last = first;
    int32_t tokens = 0;
    while (last < count && (last == first || tokens + context.pieces[last].tokens <= room))
      tokens += context.pieces[last++].tokens;
    out.push_back({first, last});
    if (last == count) break;
    uint32_t next = last;
    for (int32_t shared = 0; next > first + 1; --next) {
      shared += context.pieces[next - 1].tokens;
      if (shared > room / 8) break;
    }
    first = next;
  }
  return out;
}

Result<void> TokenJudge::judge_unit(std::string_view context, std::string_view question,
                                    std::string_view unit, uint32_t offset,
                                    const engine::Patience& patience,
                                    std::vector<JudgedToken>& out) const {
  const std::string text = prompt(context, question);
  const engine::Input input{text, unit, adapter_, engine::Marked::kPair};
  SIGNALBOX_TRY(const auto answers, model_->answer_within(patience, {&input, 1}));
  const auto& tokens = answers[head_].tokens;
  const bool first = out.empty();
  if (!first && tokens.size() != out.size()) {
    return fail(Code::kInternal, "a window left {} tokens of an answer of {}", tokens.size(),
                out.size());
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    float hallucinated = 0;
    for (const size_t label : labels_) hallucinated += tokens[i].scores[label];
    if (first) {
      out.push_back({tokens[i].begin + offset, tokens[i].end + offset, hallucinated});
    } else {
      out[i].hallucinated = std::min(out[i].hallucinated, hallucinated);
    }
  }
  return {};
}

Result<std::vector<JudgedToken>> TokenJudge::judge(const ReadText& context,
                                                   const TokenContext& prepared,
                                                   const SentenceIndex& index,
                                                   const ReadText& answer, size_t windows_max,
                                                   const engine::Patience& patience) const {
  std::vector<JudgedToken> out;
  SIGNALBOX_TRY(const std::vector<Piece> pieces, units(answer, prepared));
  SIGNALBOX_TRY(const int32_t fixed, count(prompt("", prepared.question)));
  for (const Piece& unit : pieces) {
    const int32_t room = model_->tokens_max() - fixed - unit.tokens - kSpare;
    std::vector<Window> all = windows(prepared, std::max(room, 1));
    if (all.size() > windows_max) {
      const auto& tokens = answer.tokens();
      const auto from = std::ranges::lower_bound(tokens, unit.begin, {}, &Token::begin);
      const auto to = std::ranges::lower_bound(tokens, unit.end, {}, &Token::begin);
      const auto scores = index.scores(answer, static_cast<uint32_t>(from - tokens.begin()),
                                       static_cast<uint32_t>(to - tokens.begin()));
      std::vector<float> sums;
      for (const Window& window : all) {
        float sum = 1e-6f;
        for (uint32_t p = window.first; p < window.last; ++p) sum += scores[prepared.sentences[p]];
        sums.push_back(sum);
      }
      std::vector<Window> kept;
      for (const uint32_t i : best(sums, windows_max)) kept.push_back(all[i]);
      all = std::move(kept);
    }
    std::vector<JudgedToken> judged;
    const std::string_view text = answer.text().substr(unit.begin, unit.end - unit.begin);
    for (const Window& window : all) {
      const uint32_t begin = prepared.pieces[window.first].begin;
      const uint32_t end = prepared.pieces[window.last - 1].end;
      SIGNALBOX_TRY_VOID(judge_unit(context.text().substr(begin, end - begin), prepared.question,
                                    text, unit.begin, patience, judged));
    }
    out.insert(out.end(), judged.begin(), judged.end());
  }
  return out;
}

}  // namespace signalbox::grounding
