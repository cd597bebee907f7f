// Tests the parts of the vector stores that need no folder: texts, chunks, filters, records and the
// registry.

#include <gtest/gtest.h>

#include "router/vector_stores/document_text.h"
#include "router/vector_stores/filter.h"
#include "router/vector_stores/records.h"
#include "router/vector_stores/registry.h"

namespace signalbox::vector_stores {
namespace {

TEST(DocumentText, the_text_of_html_is_the_text_that_a_browser_shows) {
  EXPECT_EQ(html_text("<h1>A  title</h1><p>One <b>bold</b>\n word.</p><!-- no --><p>Two</p>"),
            "A title\nOne bold word.\nTwo\n");
  EXPECT_EQ(html_text("a<script>if (a < b) x('</p>')</script>b"), "a\nb");
  EXPECT_EQ(html_text("1 &lt; 2 &amp;&amp; &#65;&#x42; &unknown; & 3 < 4"),
            "1 < 2 && AB &unknown; & 3 < 4");
  EXPECT_EQ(html_text("<p"), "");
  EXPECT_EQ(html_text("<script>never closed"), "");
  EXPECT_EQ(html_text("a<!-- never closed"), "a");
}

TEST(DocumentText, is_utf8_or_refused) {
  EXPECT_EQ(*document_text("a.txt", "\xEF\xBB\xBFtext"), "text");
  for (const std::string_view bytes : {std::string_view("a\0b", 3), std::string_view("\xC3("),
                                       std::string_view(" \n\t"), std::string_view()})
    EXPECT_EQ(document_text("a.txt", bytes).error().code, Code::kInvalid);
  EXPECT_EQ(document_text("a.html", "<p></p>").error().code, Code::kInvalid);
}

TEST(Chunks, cover_the_text_and_overlap) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("Sentence number {} is here. ", i);
  const auto chunks = cut(text, 200, 60);
  size_t covered = 0;
  for (const std::string_view chunk : chunks) {
    EXPECT_LE(chunk.size(), 200U);
    const auto begin = static_cast<size_t>(chunk.data() - text.data());
    EXPECT_LE(begin, covered + 1);
    EXPECT_TRUE(begin == 0 || text[begin - 1] == ' ');
    covered = begin + chunk.size();
    EXPECT_EQ(chunk.back(), '.');
  }
  EXPECT_EQ(covered + 1, text.size());
}

TEST(Chunks, never_split_a_character) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xE6\xBC\xA2";
  std::string joined;
  for (const std::string_view chunk : cut(text, 64, 0)) {
    EXPECT_EQ(chunk.size() % 3, 0U);
    joined += chunk;
  }
  EXPECT_EQ(joined, text);
  for (const std::string_view chunk : cut(text, 64, 32)) EXPECT_EQ(chunk.size() % 3, 0U);
  EXPECT_TRUE(cut("", 64, 0).empty());
  EXPECT_TRUE(cut("  \n ", 64, 0).empty());
}

TEST(Filters, are_bounded) {
  std::string deep = R"({"type": "eq", "key": "a", "value": 1})";
  for (int i = 0; i < 20; ++i) deep = fmt::format(R"({{"type": "and", "filters": [{}]}})", deep);
  const auto document = json::Document::parse(deep);
  EXPECT_NE(read_filter(document->root()).error().message.find("nested more than 8"),
            std::string::npos);
  std::string many = R"({"type": "eq", "key": "a", "value": 1})";
  for (int i = 0; i < 100; ++i) many += R"(,{"type": "eq", "key": "a", "value": 1})";
  const auto wide =
      json::Document::parse(fmt::format(R"({{"type": "or", "filters": [{}]}})", many));
  EXPECT_NE(read_filter(wide->root()).error().message.find("more than 100"), std::string::npos);
}

TEST(Records, are_read_as_they_were_written) {
  const Embedded embedded{"m", 2, {"one", "tw\no"}, {1, 2, 3, 4}};
  const auto again = read_embedded(write_record(embedded));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->chunks, embedded.chunks);
  EXPECT_EQ(again->vectors, embedded.vectors);
  Entry entry{"vf_1", "vs_1", "file-1", {200, 50}, {{"a", 1.5}, {"b", true}, {"c", "x"}}};
  entry.error = "why";
  const auto read = read_entry_record(write_record(entry));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->attributes, entry.attributes);
  EXPECT_EQ(read->chunking, entry.chunking);
  EXPECT_EQ(read->status, Status::kFailed);
}

TEST(Records, records_of_stores_keep_their_expiry) {
  Store store{"vs_1", "ann", "s", {{"a", "b"}}};
  store.created = store.last_active = 100;
  EXPECT_EQ(expiry_of(store), 0);
  store.expires_days = 2;
  store.last_active = 500;
  store.is_emptied = true;
  const auto read = read_store_record(write_record(store));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(expiry_of(*read), 500 + 2 * 24 * 60 * 60);
  EXPECT_TRUE(read->is_emptied);
  EXPECT_EQ(read->metadata, store.metadata);
  // A record of a release without expiry.
  const auto older = read_store_record(
      R"({"id":"vs_1","created":7,"number":1,"owner":"ann","name":"s","metadata":{}})");
  ASSERT_TRUE(older) << older.error().message;
  EXPECT_EQ(expiry_of(*older), 0);
  EXPECT_EQ(older->last_active, 7);
  EXPECT_FALSE(read_store_record(
      R"({"id":"vs_1","created":7,"number":1,"owner":"ann","name":"s","metadata":{},)"
      R"("expires_days":366,"last_active":7,"is_emptied":false})"));
}

TEST(Records, damaged_records_of_files_are_refused) {
  const std::string whole = write_record(Embedded{"m", 2, {"one", "two"}, {1, 2, 3, 4}});
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(read_embedded(whole.substr(0, i)));
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto read = read_embedded(changed);
    if (!read) continue;
    EXPECT_NE(read->model, "m") << i;  // the name of the model alone has no checksum
  }
}

TEST(Registries, name_the_oldest_store_that_has_not_expired) {
  Registry registry;
  Store first{"vs_1", std::string(kOperator), "library"}, second{"vs_2", first.owner, first.name};
  first.number = first.expires_days = 1;
  second.number = second.expires_days = 2;
  registry.add(first);
  registry.add(second);
  EXPECT_EQ(registry.named_store("library", expiry_of(first) - 1)->id, "vs_1");
  EXPECT_EQ(registry.named_store("library", expiry_of(first))->id, "vs_2");
  EXPECT_EQ(registry.named_store("library", expiry_of(second))->id, "vs_1");
  EXPECT_EQ(registry.named_store("vs_1", expiry_of(first))->id, "vs_1");
  EXPECT_EQ(registry.named_store("nothing", 0), nullptr);
}

}  // namespace
}  // namespace signalbox::vector_stores
