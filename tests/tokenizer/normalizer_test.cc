// data/normalizers.jsonl: a normalizer, a text, the result, and the source code points of each code
// point in the result. Each row is tested on the original text and on a copy made by an earlier
// step.

#include <sstream>

#include "tests/tokenizer/support.h"
#include "tokenizer/hf/sections.h"

namespace signalbox::tokenizer {
namespace {

Normalizers read(std::string_view normalizer) {
  const auto document = json::Document::parse(R"({"normalizer": )" + std::string(normalizer) + "}");
  EXPECT_TRUE(document) << normalizer;
  auto steps = read_normalizers(Field(document->root(), ""));
  EXPECT_TRUE(steps) << steps.error().message;
  return steps ? std::move(*steps) : Normalizers{};
}

Normalized copy_of(const TextView& view) {
  Normalized out;
  view.copy_to(out, {0, static_cast<uint32_t>(view.text().size())});
  return out;
}

// Like the pipeline, but every step writes, even if it reports that it would change nothing.
Normalized normalize(const Normalizers& steps, const TextView& view) {
  Normalized text = copy_of(view);
  for (const auto& step : steps) {
    Normalized out;
    step->normalize(TextView(text), out);
    if (step->keeps(text.text)) {
      EXPECT_EQ(out.text, text.text);
      EXPECT_EQ(out.source, text.source);
    }
    text = std::move(out);
  }
  return text;
}

// Returns the source of each code point, in code points.
Ranges sources(const Normalized& normalized, std::string_view text) {
  Ranges out;
  for (size_t i = 0; i < normalized.text.size(); i += utf8::decode(normalized.text, i).bytes) {
    const Span source = normalized.source[i];
    out.emplace_back(utf8::count(text.substr(0, source.begin)),
                     utf8::count(text.substr(0, source.end)));
  }
  return out;
}

TEST(Normalizers, texts_and_sources_match_those_worked_out_by_hand) {
  std::istringstream rows(read_file(data_file("normalizers.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    SCOPED_TRACE(row->root().find("why").value().text());
    const Normalizers steps = read(row->root().find("normalizer").value().raw());
    const std::string_view text = row->root().find("text").value().text();
    const Normalized normalized = normalize(steps, TextView(text, 0));
    EXPECT_EQ(normalized.text, row->root().find("normalized").value().text());
    EXPECT_EQ(sources(normalized, text), ranges(row->root().find("sources").value()));
    ASSERT_EQ(normalized.source.size(), normalized.text.size());
  }
  EXPECT_GE(count, 54);
}

TEST(Normalizers, most_real_text_is_kept_as_it_is) {
  const Normalizers nfc = read(R"({"type": "NFC"})");
  for (const std::string_view text :
       {"plain", "déjà vu", "Съешь ещё", "我能吞下玻璃", "나는 유리를", "ฉันกินกระจกได้",
        "मैं काँच खा सकता हूँ", "أنا قادر على", "\u00ff\u017f\u0245"}) {
    EXPECT_TRUE(nfc[0]->keeps(text)) << text;
  }
  EXPECT_FALSE(nfc[0]->keeps("e\u0301"));
  EXPECT_FALSE(nfc[0]->keeps("\u0651\u064e"));  // classes 33 and 30 are not in order
}

TEST(Normalizers, local_normalizers_are_those_that_work_on_parts) {
  const auto is_local = [](std::string_view normalizer) { return read(normalizer)[0]->is_local(); };
  EXPECT_TRUE(is_local(R"({"type": "NFKC"})"));
  EXPECT_TRUE(is_local(R"({"type": "Lowercase"})"));
  EXPECT_TRUE(is_local(R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})"));
  EXPECT_TRUE(is_local(R"({"type": "Replace", "pattern": {"String": "''"}, "content": "\""})"));
  EXPECT_FALSE(is_local(R"({"type": "Replace", "pattern": {"String": " "}, "content": ""})"));
  EXPECT_FALSE(is_local(R"({"type": "Replace", "pattern": {"String": "a "}, "content": "b"})"));
  EXPECT_FALSE(is_local(R"({"type": "Replace", "pattern": {"String": "a"}, "content": ""})"));
  EXPECT_FALSE(is_local(R"({"type": "Replace", "pattern": {"String": "a"}, "content": " b"})"));
  EXPECT_FALSE(is_local(R"({"type": "Replace", "pattern": {"Regex": "a"}, "content": "b"})"));
  EXPECT_FALSE(is_local(R"({"type": "Strip", "strip_left": true, "strip_right": true})"));
  EXPECT_FALSE(is_local(R"({"type": "Prepend", "prepend": "a"})"));
}

TEST(Normalizers, a_million_marks_are_sorted_and_keep_their_places) {
  constexpr uint32_t kPairs = 500'000;
  std::string text = "a";
  std::string sorted = "a";
  for (uint32_t i = 0; i < kPairs; ++i) text += "\u030d\u0316";  // classes 230 and 220
  for (uint32_t i = 0; i < kPairs; ++i) sorted += "\u0316";
  for (uint32_t i = 0; i < kPairs; ++i) sorted += "\u030d";
  const Normalized normalized = normalize(read(R"({"type": "NFC"})"), TextView(text, 0));
  EXPECT_EQ(normalized.text, sorted);
  EXPECT_EQ(normalized.source, copy_of(TextView(text, 0)).source);
}

}  // namespace
}  // namespace signalbox::tokenizer
