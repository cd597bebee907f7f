// Runs data/words.jsonl: the words that a `pre_tokenizer` makes of a text, with their positions in
// it.

#include <sstream>

#include "tests/tokenizer/support.h"
#include "tokenizer/hf/sections.h"

namespace signalbox::tokenizer {
namespace {

struct Words {
  std::vector<std::string> texts;
  Ranges places;  // in code points of the original
};

Words words_of(const Pretokenizer& pretokenizer, std::string_view original) {
  Normalized buffers[2];
  TextView text(original, 0);
  std::vector<Span> words;
  if (!original.empty()) words.push_back({0, static_cast<uint32_t>(original.size())});
  for (const PretokenizerStep& step : pretokenizer.steps) {
    std::vector<Span> next;
    if (step.splitter) {
      for (const Span word : words) step.splitter->split(text.text(), word, next);
    } else {
      std::swap(buffers[0], buffers[1]);
      buffers[0].clear();
      step.rewriter->rewrite(text, words, buffers[0], next);
      text = TextView(buffers[0]);
    }
    words = std::move(next);
  }
  Words out;
  for (const Span word : words) {
    const Span place = text.original(word);
    out.texts.emplace_back(text.text().substr(word.begin, word.end - word.begin));
    out.places.emplace_back(utf8::count(original.substr(0, place.begin)),
                            utf8::count(original.substr(0, place.end)));
  }
  return out;
}

std::vector<std::string> strings(const json::Value& array) {
  std::vector<std::string> out;
  for (const json::Value& item : array.items()) out.emplace_back(item.text());
  return out;
}

TEST(Words, words_and_places_match_those_worked_out_by_hand) {
  std::istringstream rows(read_file(data_file("words.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    SCOPED_TRACE(line);
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row);
    const auto pretokenizer = read_pretokenizer(Field(row->root(), ""));
    ASSERT_TRUE(pretokenizer) << pretokenizer.error().message;
    const Words words = words_of(*pretokenizer, row->root().find("text").value().text());
    EXPECT_EQ(words.texts, strings(row->root().find("words").value()));
    EXPECT_EQ(words.places, ranges(row->root().find("places").value()));
  }
  EXPECT_GE(count, 70);
}

}  // namespace
}  // namespace signalbox::tokenizer
