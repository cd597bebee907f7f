#pragma once
// Marks the tokens of an answer that its context does not support, with a model such as
// LettuceDetect. A context that exceeds the model's input is read in windows, each with the whole
// question and a whole piece of the answer. The score of a token is the lowest of all windows.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "router/safety/grounding/sentence_index.h"

namespace signalbox::grounding {

/// A token of the answer.
struct JudgedToken {
  uint32_t begin = 0, end = 0;  // bytes of the answer
  float hallucinated = 0;       // probability that the context does not support it
};

/// A stretch of a text with its length in the model's tokens.
struct Piece {
  uint32_t begin = 0, end = 0;  // bytes
  int32_t tokens = 0;
};

/// A context prepared for one model.
struct TokenContext {
  std::vector<Piece> pieces;
  std::vector<uint32_t> sentences;  // (pieces): the sentence of each piece
  std::string question;             // truncated for the model
};

/// Immutable and thread-safe.
class TokenJudge {
 public:
  /// The head must label tokens and have a label "hallucinated", "hallucination", "unsupported" or
  /// "not_supported". If it has two unnamed labels ("LABEL_0", "LABEL_1"), the second is used, with
  /// the prompt of the first LettuceDetect models. Returns kInvalid with the labels otherwise.
  static Result<TokenJudge> create(std::shared_ptr<const engine::TextModel> model, size_t head);

  Result<TokenContext> prepare(const text::ReadText& context, std::string_view question) const;

  /// Judges every token of the answer. For each piece of it, only the `windows_max` windows that
  /// share most with it are read.
  Result<std::vector<JudgedToken>> judge(const text::ReadText& context,
                                         const TokenContext& prepared, const SentenceIndex& index,
                                         const text::ReadText& answer, size_t windows_max,
                                         const engine::Patience& patience) const;

 private:
  struct Window {
    uint32_t first = 0, last = 0;  // pieces, half-open
  };
  TokenJudge() = default;
  Result<int32_t> count(std::string_view text) const;
  Result<void> cut(std::string_view text, uint32_t begin, uint32_t end, int32_t most,
                   std::vector<Piece>& out) const;
  Result<std::vector<Piece>> units(const text::ReadText& answer, const TokenContext& context) const;
  std::vector<Window> windows(const TokenContext& context, int32_t room) const;
  std::string prompt(std::string_view context, std::string_view question) const;
  Result<void> judge_unit(std::string_view context, std::string_view question,
                          std::string_view unit, uint32_t offset, const engine::Patience& patience,
                          std::vector<JudgedToken>& out) const;

  std::shared_ptr<const engine::TextModel> model_;
  size_t head_ = 0;
  int32_t adapter_ = engine::kNoAdapter;
  std::vector<size_t> labels_;  // that mean "hallucinated"
  bool passages_ = false;       // use LettuceDetect's prompt
};

}  // namespace signalbox::grounding
