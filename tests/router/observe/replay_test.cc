// Tests the record of requests: it is bounded, in order, and contains no text unless the text was
// captured.

#include "router/observe/replay.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace signalbox::observe {
namespace {

Account kept_account(const std::string& id, const std::string& decision = "math") {
  Account out;
  out.id = "request-" + id;
  out.replay_id = id;
  out.decision = decision;
  out.model = "small";
  out.path = "/v1/chat/completions";
  out.at = std::chrono::system_clock::now();
  out.status = 200;
  out.matched = {{"keyword", {"a \"name\""}}};
  return out;
}

std::string ids(Replay& replay, const Replay::Query& query = {}) {
  const std::string text = replay.list_json(query);
  const auto document = json::Document::parse(text);
  if (!document) return document.error().message + ": " + text;
  std::string out;
  for (const json::Value& each : document->root().find("data")->items())
    out += std::string(each.find("id")->text()) + " ";
  return out;
}

TEST(Replay, keeps_the_newest_and_lists_them_first) {
  Replay replay;
  replay.set_limits(3, std::chrono::seconds(0));
  for (const char* id : {"a", "b", "c", "d"}) {
    Account each = kept_account(id, *id == 'c' ? "law" : "math");
    replay.add(each);
  }
  EXPECT_EQ(ids(replay), "d c b ");
  EXPECT_EQ(ids(replay, {.limit = 1, .offset = 1}), "c ");
  EXPECT_EQ(ids(replay, {.decision = "law"}), "c ");
  EXPECT_EQ(ids(replay, {.model = "large"}), "");
  EXPECT_FALSE(replay.find_json("a"));
  EXPECT_TRUE(replay.find_json("b"));
}

TEST(Replay, forgets_what_is_too_old_or_too_much) {
  Replay replay;
  replay.set_limits(1000, std::chrono::seconds(60));
  Account old = kept_account("old");
  old.at -= std::chrono::seconds(61);
  replay.add(old);
  Account young = kept_account("young");
  replay.add(young);
  EXPECT_EQ(ids(replay), "young ");
  for (int i = 0; i < 5; ++i) {
    Account large = kept_account(std::to_string(i));
    large.request_body.assign(Replay::kBytesMax / 4, 'x');
    replay.add(large);
  }
  EXPECT_EQ(ids(replay), "4 3 2 ");
}

TEST(Replay, shows_bodies_of_one_record_only) {
  Replay replay;
  Account each = kept_account("a");
  each.request_body = "asked \"this\"";
  each.response_body = "said that";
  each.response_cut = true;
  replay.add(each);
  EXPECT_EQ(replay.list_json({}).find("asked"), std::string::npos);
  const std::string found = *replay.find_json("a");
  const auto document = json::Document::parse(found);
  ASSERT_TRUE(document) << found;
  EXPECT_EQ(document->root().find("request_body")->text(), "asked \"this\"");
  EXPECT_EQ(document->root().find("response_body_truncated")->raw(), "true");
  EXPECT_EQ(document->root().find("request_id")->text(), "request-a");
}

}  // namespace
}  // namespace signalbox::observe
