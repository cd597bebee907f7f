// Each text keeps its last piece in the chunk, and each choice lists the texts that hold something
// back. So the cost of a chunk depends on its bytes, not on the number of texts that it ends.

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
  for (Text* text : std::exchange(open_texts_, {})) settle(*text);
  std::ranges::sort(text_begins_);
  unmask_strings(root, masks_, std::exchange(text_begins_, {}), edits_);
  return splice::apply(chunk.source(), std::exchange(edits_, {}));
}

void ChunkUnmasker::finish(std::string& before) {
  for (auto& choice : choices_) end(choice, nullptr, before);
}

void ChunkUnmasker::take(int64_t index, const Piece& piece, std::string& before) {
  const bool has_text = piece.text && !piece.text->text().empty();
  auto found = choices_.find(index);
  if (found == choices_.end()) {
    if (!has_text || texts_ == kTextsMax) return;
    found = choices_.try_emplace(index).first;
  }
  Choice& choice = found->second;
  const auto known = choice.texts.find(std::tuple(piece.kind, piece.name, piece.number));
  Text* text = known == choice.texts.end() ? nullptr : &known->second;
  if (piece.begins || (has_text && piece.kind != choice.kind)) {
    end(*found, text, before);
    choice.kind = piece.kind;
  }
  if (text == nullptr && has_text) text = add(choice, piece);
  if (text != nullptr && piece.text) push(choice, *text, piece);
}

// Texts beyond the limit are edited like all other strings.
ChunkUnmasker::Text* ChunkUnmasker::add(Choice& choice, const Piece& piece) {
  if (texts_ == kTextsMax) return nullptr;
  ++texts_;
  return &choice.texts
              .try_emplace({std::string(piece.kind), std::string(piece.name), piece.number},
                           Text{TextUnmasker(is_arguments(piece), masks_)})
              .first->second;
}

void ChunkUnmasker::push(Choice& choice, Text& text, const Piece& piece) {
  if (text.edit_now) {
    settle(text);
  } else {
    open_texts_.push_back(&text);
  }
  text.original = piece.text->text();
  text.edit_now = splice::Edit{piece.text->begin(), piece.text->end(), {}};
  text.unmasker.push(text.original, text.edit_now->replacement);
  text_begins_.push_back(piece.text->begin());
  if (!text.unmasker.holds_back()) return;
  text.before = piece.before;
  text.after = piece.after;
  if (!std::exchange(text.listed, true)) choice.holding.push_back(&text);
}

void ChunkUnmasker::settle(Text& text) {
  if (text.edit_now->replacement != text.original) {
    text.edit_now->replacement = json::quote(text.edit_now->replacement);
    edits_.push_back(*std::move(text.edit_now));
  }
  text.edit_now.reset();
}

void ChunkUnmasker::end(Choices::value_type& choice, const Text* except, std::string& before) {
  for (Text* text : std::exchange(choice.second.holding, {})) {
    if (text == except) {
      choice.second.holding.push_back(text);
      continue;
    }
    text->listed = false;
    if (text->edit_now) {
      text->unmasker.finish(text->edit_now->replacement);
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
