// Tests a reflector with scenarios from stories.jsonl: its requests, and their effects. Each line
// has a name and steps:
//   {"asks": QUERY, "pause": [LEAST, MOST]}   the next request; a watch's query begins with ?watch
//   {"list": STATUS, "body": VALUE}           the reply to a list; a text is the literal body
//   {"watch": STATUS}                         the reply to a watch; "goes": false if it fails
//   {"line": VALUE, "goes": bool}             a line of the watch
//   {"end": true}, {"fail": REASON}
//   {"has": {NAME: SPEC, ...}, "changes": N}  the resources, and the number of their changes
//   {"trouble": TEXT}                         the beginning of the trouble report

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "base/yaml_writer.h"
#include "router/kubernetes/reflector.h"

namespace signalbox::kubernetes {
namespace {

constexpr double kDraws[] = {0, 0.999};

/// Returns a text as it is, and the JSON of any other value.
std::string text_of(const json::Value& value) {
  return std::string(value.is_string() ? value.text() : value.raw());
}

bool flag_of(const json::Value& step, std::string_view key) {
  const auto found = step.find(key);
  return !found || found->boolean();
}

/// Converts to YAML a spec from the story, and one from the reflector.
std::string written(const json::Value& spec) {
  const auto event = read_event(fmt::format(
      R"({{"type":"ADDED","object":{{"metadata":{{"name":"x","resourceVersion":"1"}},"spec":{}}}}})",
      spec.raw()));
  EXPECT_TRUE(event) << event.error().message;
  return event ? yaml::write(event->resource.spec) : "";
}

void check(const json::Value& step, const Reflector& reflector) {
  if (const auto has = step.find("has")) {
    size_t count = 0;
    for (const json::Member& each : has->members()) {
      ++count;
      const auto found = reflector.resources().find(std::string(each.key));
      ASSERT_NE(found, reflector.resources().end()) << each.key;
      EXPECT_EQ(yaml::write(found->second.spec), written(each.value)) << each.key;
    }
    EXPECT_EQ(reflector.resources().size(), count);
    EXPECT_TRUE(reflector.is_complete());
    EXPECT_EQ(reflector.changes(), static_cast<uint64_t>(*step.find("changes")->integer()));
  }
  if (const auto trouble = step.find("trouble")) {
    EXPECT_TRUE(reflector.trouble().starts_with(trouble->text())) << reflector.trouble();
    EXPECT_EQ(reflector.trouble().empty(), trouble->text().empty());
  }
}

void expect_asked(const json::Value& step, std::string_view query, const Reflector& reflector) {
  int64_t bounds[2] = {0, 0};
  if (const auto pause = step.find("pause")) {
    for (int i = 0; const json::Value& each : pause->items()) bounds[i++] = *each.integer();
  }
  for (int i = 0; i < 2; ++i) {
    const Reflector::Step next = reflector.next(kDraws[i]);
    EXPECT_EQ(next.query, query);
    EXPECT_EQ(next.is_watch, query.starts_with("?watch"));
    EXPECT_EQ(next.pause.count(), bounds[i]);
  }
}

void take(const json::Value& step, Reflector& reflector) {
  if (const auto asks = step.find("asks")) expect_asked(step, asks->text(), reflector);
  if (const auto list = step.find("list"))
    reflector.listed(static_cast<int>(*list->integer()), text_of(*step.find("body")));
  if (const auto watch = step.find("watch")) {
    EXPECT_EQ(reflector.watching(static_cast<int>(*watch->integer()), ""), flag_of(step, "goes"));
  }
  if (const auto line = step.find("line")) {
    EXPECT_EQ(reflector.received(text_of(*line)), flag_of(step, "goes")) << line->raw();
  }
  if (step.find("end")) reflector.ended();
  if (const auto why = step.find("fail")) reflector.failed(why->text());
  check(step, reflector);
}

TEST(Reflector, follows_the_listed_events) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/router/kubernetes/stories.jsonl");
  std::string line;
  int stories = 0;
  for (; std::getline(file, line); ++stories) {
    const auto story = json::Document::parse(line);
    ASSERT_TRUE(story) << story.error().message;
    SCOPED_TRACE(std::string(story->root().find("name")->text()));
    Reflector reflector;
    int number = 0;
    const json::Value steps = *story->root().find("steps");
    for (const json::Value& step : steps.items()) {
      SCOPED_TRACE(fmt::format("step {}: {}", ++number, step.raw()));
      take(step, reflector);
    }
  }
  EXPECT_GE(stories, 8);
}

TEST(Resources, are_bounded) {
  std::string many = R"({"metadata":{"resourceVersion":"1"},"items":[)";
  for (int i = 0; i < 1001; ++i)
    many += fmt::format(R"({}{{"metadata":{{"name":"n{}"}}}})", i == 0 ? "" : ",", i);
  EXPECT_EQ(read_page(many + "]}").error().code, Code::kTooLarge);
  EXPECT_EQ(read_page(std::string(kPageBytesMax + 1, ' ')).error().code, Code::kTooLarge);
  EXPECT_EQ(read_event(std::string(kEventBytesMax + 1, ' ')).error().code, Code::kTooLarge);
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_FALSE(read_event(fmt::format(R"({{"type":"ADDED","object":{}}})", deep)));
}

}  // namespace
}  // namespace signalbox::kubernetes
