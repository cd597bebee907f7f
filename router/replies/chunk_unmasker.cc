// A text knows its last piece in the chunk, and a choice the texts that hold something, so that the
// cost of a chunk is that of its bytes, however many texts it ends.

#include "router/replies/chunk_unmasker.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "router/replies/chunk_head.h"

namespace signalbox::replies {

std::string ChunkUnmasker::edit(const json::Document& chunk, std::string& before) {
  const json::Value root = chunk.root();
  if (const auto choices = root.find("choices")) {
    head_ = chunk_head(root);
    for (const json::Value& choice : choices->items()) {
      const int64_t index = index_member(choice);
      each_piece(choice, [&](const Piece& piece) { take(index, piece, before); });
      const auto found = choices_.find(index);
      if (found != choices_.end() && ends_choice(choice)) end(*found, nullptr, before);
    }
  }
  for (Text* text : std::exchange(spoken_, {})) settle(*text);
  std::ranges::sort(done_);
  unmask_strings(root, masks_, std::exchange(done_, {}), edits_);
  return splice::apply(chunk.source(), std::exchange(edits_, {}));
}

void ChunkUnmasker::finish(std::string& before) {
  for (auto& choice : choices_) end(choice, nullptr, before);
}

void ChunkUnmasker::take(int64_t index, const Piece& piece, std::string& before) {
  const bool says = piece.text && !piece.text->text().empty();
  auto found = choices_.find(index);
  if (found == choices_.end()) {
    if (!says || texts_ == kTextsMax) return;
    found = choices_.try_emplace(index).first;
  }
  Choice& choice = found->second;
  const auto known = choice.texts.find(std::tuple(piece.kind, piece.name, piece.number));
  Text* text = known == choice.texts.end() ? nullptr : &known->second;
  if (piece.begins || (says && piece.kind != choice.kind)) {
    end(*found, text, before);
    choice.kind = piece.kind;
  }
  if (text == nullptr && says) text = add(choice, piece);
  if (text != nullptr && piece.text) push(choice, *text, piece);
}

// Those that are too many are edited as all other strings are.
ChunkUnmasker::Text* ChunkUnmasker::add(Choice& choice, const Piece& piece) {
  if (texts_ == kTextsMax) return nullptr;
  ++texts_;
  return &choice.texts
              .try_emplace({std::string(piece.kind), std::string(piece.name), piece.number},
                           Text{TextUnmasker(is_arguments(piece), masks_)})
              .first->second;
}

void ChunkUnmasker::push(Choice& choice, Text& text, const Piece& piece) {
  if (text.now) {
    settle(text);
  } else {
    spoken_.push_back(&text);
  }
  text.said = piece.text->text();
  text.now = splice::Edit{piece.text->begin(), piece.text->end(), {}};
  text.unmasker.push(text.said, text.now->replacement);
  done_.push_back(piece.text->begin());
  if (!text.unmasker.holds_back()) return;
  text.before = piece.before;
  text.after = piece.after;
  if (!std::exchange(text.listed, true)) choice.holding.push_back(&text);
}

void ChunkUnmasker::settle(Text& text) {
  if (text.now->replacement != text.said) {
    text.now->replacement = json::quote(text.now->replacement);
    edits_.push_back(*std::move(text.now));
  }
  text.now.reset();
}

void ChunkUnmasker::end(Choices::value_type& choice, const Text* except, std::string& before) {
  for (Text* text : std::exchange(choice.second.holding, {})) {
    if (text == except) {
      choice.second.holding.push_back(text);
      continue;
    }
    text->listed = false;
    if (text->now) {
      text->unmasker.finish(text->now->replacement);
      continue;
    }
    std::string held;
    text->unmasker.finish(held);
    if (held.empty()) continue;
    before +=
        fmt::format("data: {}\"choices\":[{{\"index\":{},{}{}{},\"finish_reason\":null}}]}}\n\n",
                    head_, choice.first, text->before, json::quote(held), text->after);
  }
}

}  // namespace signalbox::replies
