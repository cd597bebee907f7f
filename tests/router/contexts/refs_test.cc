// Tests requests with and without references, from the lines of refs.jsonl. A line has a name,
// contexts (their messages), a body ("$0" is the quoted id of the first context, "%0" the unquoted
// one), and the expected body, the refusal, or the fact that there are no references.

#include "router/contexts/refs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "router/contexts/context.h"

namespace signalbox::contexts {
namespace {

constexpr size_t kRefsMax = 4;
constexpr size_t kBytesMax = 600;

std::string with_ids(std::string_view body, const std::vector<std::string>& ids) {
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    const bool is_digit = i + 1 < body.size() && body[i + 1] >= '0' && body[i + 1] <= '9';
    if (!is_digit || (body[i] != '$' && body[i] != '%')) {
      out.push_back(body[i]);
      continue;
    }
    const std::string& id = ids[static_cast<size_t>(body[i + 1] - '0')];
    out += body[i] == '$' ? fmt::format("\"{}\"", id) : id;
    ++i;
  }
  return out;
}

Result<std::string> expanded(
    const json::Document& request,
    const std::map<std::string, std::shared_ptr<const std::string>>& known) {
  SIGNALBOX_TRY(const std::vector<std::string> ids, read_refs(request, kRefsMax));
  std::vector<std::shared_ptr<const std::string>> contents;
  for (const std::string& id : ids) contents.push_back(known.at(id));
  return expand(request, contents, kBytesMax);
}

TEST(Refs, match_the_listed_ones) {
  std::ifstream file(std::string(SIGNALBOX_SOURCE_DIR) + "/tests/router/contexts/refs.jsonl");
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line << row.error().message;
    const json::Value root = row->root();
    SCOPED_TRACE(std::string(root.find("name")->text()));
    std::vector<std::string> ids;
    std::map<std::string, std::shared_ptr<const std::string>> known;
    const json::Value contexts = *root.find("contexts");
    for (const json::Value& each : contexts.items()) {
      ids.push_back(id_of(each.text()));
      known[ids.back()] = std::make_shared<const std::string>(each.text());
    }
    const auto request = json::Document::parse(with_ids(root.find("body")->text(), ids));
    ASSERT_TRUE(request) << request.error().message;
    const auto has = root.find("has");
    EXPECT_EQ(has_refs(*request), !has || has->boolean());
    if (has) continue;
    const auto got = expanded(*request, known);
    if (const auto refused = root.find("refused")) {
      ASSERT_FALSE(got) << *got;
      EXPECT_NE(got.error().message.find(refused->text()), std::string::npos)
          << got.error().message;
      continue;
    }
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, root.find("becomes")->text());
  }
  EXPECT_GT(lines, 15U);
}

TEST(Refs, an_id_is_a_prefix_and_a_sum) {
  EXPECT_EQ(id_of("abc"), "ctx_ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(is_id(id_of("")));
  EXPECT_FALSE(is_id(id_of("") + "0"));
  EXPECT_FALSE(is_id("ctx_BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
  EXPECT_FALSE(is_id("ctx_"));
}

}  // namespace
}  // namespace signalbox::contexts
