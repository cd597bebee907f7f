// Tests the messages for a tool of an MCP server. mcp_responses.jsonl has one case per line:
//
//   {"name", "type": the Content-Type, "body": the reply to the call with the id 7,
//    "texts": [TEXT, ...] or "error": part of the message}

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "router/retrieval/mcp.h"

namespace signalbox::retrieval::mcp {
namespace {

Result<std::vector<std::string>> texts_of(std::string_view type, std::string_view body) {
  SIGNALBOX_TRY(const json::Document response, read_response(type, std::string(body), 7));
  return read_call(response, 3);
}

TEST(Responses, responses_are_read_as_listed) {
  std::ifstream in(std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                   "tests/router/retrieval/mcp_responses.jsonl");
  std::string line;
  int cases = 0;
  for (; std::getline(in, line); ++cases) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << line;
    const json::Value row = document->root();
    SCOPED_TRACE(row.find("name")->text());
    const auto found = texts_of(row.find("type")->text(), row.find("body")->text());
    if (const auto error = row.find("error")) {
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().code, Code::kUpstream);
      EXPECT_NE(found.error().message.find(error->text()), std::string::npos)
          << found.error().message;
      EXPECT_EQ(found.error().message.find("hunter2"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(found) << found.error().message;
    std::vector<std::string> expected;
    for (const json::Value text : row.find("texts")->items()) expected.emplace_back(text.text());
    EXPECT_EQ(*found, expected);
  }
  EXPECT_GT(cases, 10);
}

Result<std::string> version_of(std::string_view body) {
  SIGNALBOX_TRY(const json::Document response,
                read_response("application/json", std::string(body), 1));
  return read_initialize(response);
}

TEST(Initialize, accepts_only_known_versions) {
  EXPECT_EQ(version_of(R"({"id": 1, "result": {"protocolVersion": "2025-03-26"}})").value_or(""),
            "2025-03-26");
  const auto older = version_of(R"({"id": 1, "result": {"protocolVersion": "hunter2"}})");
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().message, "it requires another version of the protocol than 2025-06-18");
  EXPECT_FALSE(version_of(R"({"id": 1, "result": {}})"));
  EXPECT_FALSE(version_of(R"({"id": 1, "error": {"code": 1}})"));
}

TEST(Requests, requests_have_the_format_of_the_protocol) {
  const auto begin = json::Document::parse(write_initialize(3));
  ASSERT_TRUE(begin);
  const json::Value params = *begin->root().find("params");
  EXPECT_EQ(begin->root().find("method")->text(), "initialize");
  EXPECT_EQ(*begin->root().find("id")->integer(), 3);
  EXPECT_EQ(params.find("protocolVersion")->text(), kVersion);
  EXPECT_TRUE(params.find("capabilities")->is_object());
  EXPECT_EQ(params.find("clientInfo")->find("name")->text(), "signalbox");
  EXPECT_EQ(write_initialized(), R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(write_call(4, "a \"b\"", R"({"q":"x"})"),
            R"({"jsonrpc":"2.0","id":4,"method":"tools/call",)"
            R"("params":{"name":"a \"b\"","arguments":{"q":"x"}}})");
}

}  // namespace
}  // namespace signalbox::retrieval::mcp
