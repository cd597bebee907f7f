#pragma once
// The layer of a model that marks the tokens of an answer which its context does not support, such
// as LettuceDetect's. A context that is longer than the model reads goes through it in windows,
// each with the whole question and the whole piece of the answer: the answer is never cut. A token
// is as hallucinated as the window says that supports it best.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "router/safety/grounding/match.h"

namespace signalbox::grounding {

/// A token of the answer and how probable it is that nothing supports it.
struct JudgedToken {
  uint32_t begin = 0, end = 0;  // bytes of the answer
  float hallucinated = 0;
};

/// A stretch of a text that takes a known part of the model's input.
struct Piece {
  uint32_t begin = 0, end = 0;  // bytes
  int32_t tokens = 0;
};

/// Of one context, for one model.
struct TokenContext {
  std::vector<Piece> pieces;
  std::vector<uint32_t> sentences;  // (pieces): of each, its sentence
  std::string question;             // as much of it as the model is given
};

/// Immutable and thread-safe.
class TokenJudge {
 public:
  /// The head labels tokens, and one of its labels says "hallucinated", "hallucination",
  /// "unsupported" or "not_supported"; of two labels without names ("LABEL_0", "LABEL_1") it is the
  /// second, as models of LettuceDetect's first version have it, which are then given their prompt.
  /// kInvalid otherwise, naming the labels.
  static Result<TokenJudge> create(std::shared_ptr<const engine::TextModel> model, size_t head);

  Result<TokenContext> prepare(const ReadText& context, std::string_view question) const;

  /// Every token of the answer. At most `windows_max` windows are looked at for each piece of it,
  /// those that share most with it.
  Result<std::vector<JudgedToken>> judge(const ReadText& context, const TokenContext& prepared,
                                         const SentenceIndex& index, const ReadText& answer,
                                         size_t windows_max) const;

 private:
  struct Window {
    uint32_t first = 0, last = 0;  // pieces, half-open
  };
  TokenJudge() = default;
  Result<int32_t> count(std::string_view text) const;
  Result<void> cut(std::string_view text, uint32_t begin, uint32_t end, int32_t most,
                   std::vector<Piece>& out) const;
  Result<std::vector<Piece>> units(const ReadText& answer, const TokenContext& context) const;
  std::vector<Window> windows(const TokenContext& context, int32_t room) const;
  std::string prompt(std::string_view context, std::string_view question) const;
  Result<void> judge_unit(std::string_view context, std::string_view question,
                          std::string_view unit, uint32_t offset,
                          std::vector<JudgedToken>& out) const;

  std::shared_ptr<const engine::TextModel> model_;
  size_t head_ = 0;
  int32_t adapter_ = engine::kNoAdapter;
  std::vector<size_t> labels_;  // those that mean hallucinated
  bool passages_ = false;       // whether it reads LettuceDetect's prompt
};

}  // namespace signalbox::grounding
