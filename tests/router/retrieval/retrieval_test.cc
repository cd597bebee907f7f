// Tests searches for documents and their replies from data, one case per line:
//
//   documents.jsonl: {"name", "format", "top_k"?, "similarity"?, "file_ids"?, "body": the reply,
//                     "documents": [TEXT, ...] or "error": part of the message}
//   searches.jsonl:  {"name", "format", "top_k"?, "similarity"?, "template"?, "decision"?,
//                     "filter"?, "text", "body": the request}
//
// The vector of every text is [0.5, -0.5].

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/json.h"
#include "router/plugins/rag/file_search.h"
#include "router/plugins/rag/rag.h"
#include "router/retrieval/formats.h"
#include "router/splice/edit.h"

namespace signalbox::retrieval {
namespace {

Search search_of(const json::Value& row) {
  static const std::map<std::string_view, Format> formats = {
      {"custom", Format::kCustom},     {"elasticsearch", Format::kElasticsearch},
      {"pinecone", Format::kPinecone}, {"weaviate", Format::kWeaviate},
      {"openai", Format::kOpenAi},     {"milvus", Format::kMilvus},
      {"qdrant", Format::kQdrant}};
  Search out;
  out.format = formats.at(row.find("format")->text());
  out.database = "db";
  out.collection = "docs";
  out.content_field = "content";
  if (const auto count = row.find("top_k")) out.top_k = static_cast<uint32_t>(*count->integer());
  if (const auto least = row.find("similarity")) out.similarity_min = *least->number();
  if (const auto text = row.find("template")) out.request_template = text->text();
  if (const auto text = row.find("decision")) out.decision = text->text();
  if (const auto text = row.find("filter")) out.filter = text->text();
  if (const auto ids = row.find("file_ids")) {
    for (const json::Value id : ids->items()) out.file_ids.emplace_back(id.text());
  }
  return out;
}

template <class Check>
void for_each_case(std::string_view file, const Check& check) {
  std::ifstream in(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/retrieval" / file);
  std::string line;
  int cases = 0;
  for (; std::getline(in, line); ++cases) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    SCOPED_TRACE(row->root().find("name")->text());
    check(row->root());
  }
  EXPECT_GT(cases, 5);
}

TEST(Documents, documents_are_read_as_listed) {
  for_each_case("documents.jsonl", [](const json::Value& row) {
    const auto found = read_documents(search_of(row), std::string(row.find("body")->text()));
    if (const auto error = row.find("error")) {
      ASSERT_FALSE(found);
      EXPECT_NE(found.error().message.find(error->text()), std::string::npos)
          << found.error().message;
      EXPECT_EQ(found.error().message.find("hunter2"), std::string::npos);
      return;
    }
    ASSERT_TRUE(found) << found.error().message;
    std::vector<std::string> expected;
    for (const json::Value text : row.find("documents")->items())
      expected.emplace_back(text.text());
    EXPECT_EQ(*found, expected);
  });
}

TEST(Searches, searches_are_written_as_listed) {
  constexpr std::array<float, 2> kVector{0.5F, -0.5F};
  for_each_case("searches.jsonl", [&](const json::Value& row) {
    const std::string body = write_search(search_of(row), {row.find("text")->text(), kVector});
    EXPECT_EQ(body, row.find("body")->text());
    EXPECT_TRUE(json::Document::parse(body)) << body;
  });
}

TEST(Rag, joins_documents_and_cuts_them_between_characters) {
  config::RagPlugin plugin;
  const std::vector<std::string> documents{"äöü", "b"};
  EXPECT_EQ(plugins::join_documents(plugin, documents), "äöü\n\n---\n\nb");
  plugin.max_context_length = 2;
  EXPECT_EQ(plugins::join_documents(plugin, documents), "äö...");
  plugin.max_context_length = 11;
  EXPECT_EQ(plugins::join_documents(plugin, documents), "äöü\n\n---\n\nb");
}

std::string with_result(std::string_view request) {
  const auto document = json::Document::parse(std::string(request));
  std::vector<splice::Edit> edits;
  const bool is_added =
      plugins::add_as_tool_result("D \"1\"", *document->root().find("messages"), edits);
  return is_added ? splice::apply(document->source(), std::move(edits)) : "";
}

TEST(Rag, adds_a_call_and_its_result_behind_the_last_message_of_the_user) {
  const std::string added =
      R"(,{"role":"assistant","content":"","tool_calls":[{"id":"ID","type":"function",)"
      R"("function":{"name":"search_documents","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"ID","content":"D \"1\""})";
  const std::string before = R"({"messages": [{"role": "user", "content": "a"}, )"
                             R"({"role": "user", "content": "b"})";
  const std::string after = R"(, {"role": "assistant", "content": "c"}]})";
  std::string out = with_result(before + after);
  const size_t id = out.find("\"id\":\"") + 6;
  const std::string name = out.substr(id, 9);
  for (size_t at = 0; (at = out.find(name)) != std::string::npos;) out.replace(at, 9, "ID");
  EXPECT_EQ(out, before + added + after);
  EXPECT_EQ(with_result(R"({"messages": [{"role": "system", "content": "a"}]})"), "");
}

TEST(Rag, replaces_the_clients_search_of_files_by_its_own) {
  config::RagPlugin plugin;
  plugin.backend_config.vector_store_id = "vs_1";
  EXPECT_EQ(plugins::offer_file_search(R"({"input": "x", "n": 1.0})", plugin),
            R"({"input": "x", "n": 1.0,"tools":[{"type":"file_search",)"
            R"("vector_store_ids":["vs_1"]}]})");
  plugin.top_k = 3;
  plugin.similarity_threshold = 0.5;
  plugin.backend_config.filter = R"({"type": "eq"})";
  const std::string offered =
      plugins::offer_file_search(R"({"tools": [{"type": "file_search", "vector_store_ids": ["o"]},)"
                                 R"( {"type": "function", "name": "f"}]})",
                                 plugin);
  EXPECT_EQ(offered, R"({"tools": [{"type": "function", "name": "f"},{"type":"file_search",)"
                     R"("vector_store_ids":["vs_1"],"max_num_results":3,)"
                     R"("filters":{"type": "eq"},"ranking_options":{"score_threshold":0.5}}]})");
}

}  // namespace
}  // namespace signalbox::retrieval
