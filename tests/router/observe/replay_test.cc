// Tests the record of requests: it is bounded, in order, and contains no text unless the text was
// captured.

#include "router/observe/replay.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "router/observe/spans.h"

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
  const std::string text = replay.list_json(query).value();
  const auto document = json::Document::parse(text);
  if (!document) return document.error().message + ": " + text;
  std::string out;
  for (const json::Value& each : document->root().find("data")->items())
    out += std::string(each.find("id")->text()) + " ";
  return out;
}

TEST(Replay, keeps_the_newest_and_lists_them_first) {
  LocalReplay replay;
  replay.set_limits({.records = 3});
  for (const char* id : {"a", "b", "c", "d"}) {
    Account each = kept_account(id, *id == 'c' ? "law" : "math");
    replay.add(each);
  }
  EXPECT_EQ(ids(replay), "d c b ");
  EXPECT_EQ(ids(replay, {.limit = 1, .offset = 1}), "c ");
  EXPECT_EQ(ids(replay, {.decision = "law"}), "c ");
  EXPECT_EQ(ids(replay, {.model = "large"}), "");
  EXPECT_FALSE(replay.find_json("a").value());
  EXPECT_TRUE(replay.find_json("b").value());
}

TEST(Replay, lists_and_deletes_the_records_of_one_user_or_key) {
  LocalReplay replay;
  replay.set_limits({.records = 9});
  for (const char* id : {"a", "b", "c", "d"}) {
    Account each = kept_account(id);
    each.user = *id == 'a' || *id == 'b' ? "ada" : "bob";
    each.key = *id == 'b' || *id == 'c' ? "k1" : "";
    replay.add(each);
  }
  EXPECT_EQ(ids(replay, {.user = "ada"}), "b a ");
  EXPECT_EQ(ids(replay, {.key = "k1"}), "c b ");
  EXPECT_EQ(replay.remove("ada", "k1"), 1u);
  EXPECT_EQ(replay.remove("nobody", ""), 0u);
  EXPECT_EQ(replay.remove("bob", ""), 2u);
  EXPECT_EQ(ids(replay), "a ");
  EXPECT_EQ(replay.remove("", ""), 1u);
  EXPECT_EQ(replay.size(), 0u);
}

Account looped() {
  Account out = kept_account("looped");
  out.algorithm = "fusion";
  out.used_up = "calls";
  out.began = out.ended = std::chrono::steady_clock::now();
  const auto add = [&out](const char* model, std::string_view purpose, std::string_view error) {
    ModelCall call;
    call.model = model;
    call.purpose = purpose;
    call.error = error;
    call.status = error.empty() ? 200 : 500;
    call.span[0] = static_cast<uint8_t>(out.calls.size() + 1);
    call.began = call.ended = out.began;
    if (error.empty()) call.tokens = Tokens{.prompt = 3, .completion = 4};
    out.calls.push_back(call);
  };
  add("small", "answer", "");
  add("large", "synthesise", "upstream");
  return out;
}

TEST(Replay, lists_each_call_of_a_looper) {
  const std::string text = account_json(looped());
  EXPECT_NE(text.find(R"("used_up":"calls","calls":[{"model":"small","purpose":"answer","ms":0,)"
                      R"("status":200,"prompt_tokens":3,"completion_tokens":4},)"
                      R"({"model":"large","purpose":"synthesise","ms":0,"status":500,)"
                      R"("error":"upstream"}])"),
            std::string::npos)
      << text;
}

TEST(Spans, each_call_of_a_looper_has_a_span_below_the_span_of_the_run) {
  const std::vector<Span> spans = spans_of(looped());
  ASSERT_GE(spans.size(), 3U);
  const Span &run = spans[spans.size() - 3], &first = spans[spans.size() - 2],
             &second = spans.back();
  EXPECT_EQ(run.name, "semantic_router.looper.execute");
  for (const Span* call : {&first, &second}) {
    EXPECT_EQ(call->name, "semantic_router.upstream.request");
    EXPECT_EQ(call->parent, run.id);
  }
  EXPECT_EQ(first.id[0], 1);
  EXPECT_EQ(second.id[0], 2);
  EXPECT_EQ(first.error, "");
  EXPECT_EQ(second.error, "upstream");
}

TEST(Replay, forgets_records_over_the_limits_of_age_and_number) {
  LocalReplay replay;
  replay.set_limits({.records = 1000, .age = std::chrono::seconds(60)});
  Account old = kept_account("old");
  old.at -= std::chrono::seconds(61);
  replay.add(old);
  Account young = kept_account("young");
  replay.add(young);
  EXPECT_EQ(ids(replay), "young ");
  for (int i = 0; i < 5; ++i) {
    Account large = kept_account(std::to_string(i));
    large.request_body.assign(LocalReplay::kBytesMax / 4, 'x');
    replay.add(large);
  }
  EXPECT_EQ(ids(replay), "4 3 2 ");
}

TEST(Replay, shows_bodies_of_one_record_only) {
  LocalReplay replay;
  Account each = kept_account("a");
  each.request_body = "asked \"this\"";
  each.response_body = "said that";
  each.response_cut = true;
  replay.add(each);
  EXPECT_EQ(replay.list_json({}).value().find("asked"), std::string::npos);
  const std::string found = *replay.find_json("a").value();
  const auto document = json::Document::parse(found);
  ASSERT_TRUE(document) << found;
  EXPECT_EQ(document->root().find("request_body")->text(), "asked \"this\"");
  EXPECT_EQ(document->root().find("response_body_truncated")->raw(), "true");
  EXPECT_EQ(document->root().find("request_id")->text(), "request-a");
}

json::Value first_of(const json::Value& list) {
  return *list.items().begin();
}

TEST(Replay, keeps_bodies_shorter_than_the_record_if_the_account_requests_it) {
  LocalReplay replay;
  for (const char* id : {"short", "long", "unlimited"}) {
    Account each = kept_account(id);
    each.at -= std::chrono::seconds(61);
    each.request_body = "asked this";
    each.response_body = "said that";
    each.body_age_max = std::chrono::seconds(*id == 's' ? 60 : *id == 'l' ? 120 : 0);
    replay.add(each);
    Shadow shadow;
    shadow.replay_id = id;
    shadow.model = "other";
    shadow.response = "said otherwise";
    replay.add_shadow(shadow);
  }
  const std::string expired = *replay.find_json("short").value();
  EXPECT_EQ(expired.find("asked this"), std::string::npos) << expired;
  EXPECT_EQ(expired.find("said"), std::string::npos) << expired;
  const auto document = json::Document::parse(expired);
  ASSERT_TRUE(document) << expired;
  EXPECT_EQ(document->root().find("bodies_expired")->raw(), "true");
  EXPECT_EQ(first_of(*document->root().find("shadows")).find("model")->text(), "other");
  for (const char* id : {"long", "unlimited"}) {
    const std::string whole = *replay.find_json(id).value();
    const auto read = json::Document::parse(whole);
    ASSERT_TRUE(read) << whole;
    EXPECT_EQ(read->root().find("request_body")->text(), "asked this");
    EXPECT_EQ(first_of(*read->root().find("shadows")).find("response")->text(), "said otherwise");
    EXPECT_FALSE(read->root().find("bodies_expired"));
  }
}

TEST(Replay, expired_bodies_make_room) {
  LocalReplay replay;
  for (int i = 0; i < 8; ++i) {
    Account each = kept_account(std::to_string(i));
    each.at -= std::chrono::seconds(120 - 10 * i);
    each.request_body.assign(LocalReplay::kBytesMax / 5, 'x');
    each.body_age_max = std::chrono::seconds(1);
    replay.add(each);
    EXPECT_EQ(replay.size(), static_cast<size_t>(i + 1));
  }
}

TEST(Replay, bodies_expire_by_the_end_of_the_newest_request_however_long_it_took) {
  LocalReplay replay;
  for (int i = 0; i < 8; ++i) {
    Account each = kept_account(std::to_string(i));
    each.at -= std::chrono::seconds(200 + 10 * i);
    each.ended = each.began + std::chrono::seconds(100 + 20 * i);
    each.request_body.assign(LocalReplay::kBytesMax / 5, 'x');
    each.body_age_max = std::chrono::seconds(1);
    replay.add(each);
  }
  EXPECT_EQ(replay.size(), 8U);
}

}  // namespace
}  // namespace signalbox::observe
