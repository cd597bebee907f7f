// Tests the algorithms that call several models from data: every line of stories/*.jsonl is a
// decision, the replies of its models, and the calls and the answer that must follow.
//
//   {"name": ..., "models": [{"name", "pricing"?}], "cards": [...]?, "refs": [...]?,
//    "algorithm": {...}, "looper": {...}?, "messages": [...]?, "tools": [...]?,
//    "leaves_out": [MODEL, ...]?, "story": [event, ...],
//    "answer": {"model", "text" or "body"?, "waiting"?: [turn, ...]}, "error": part of it?,
//    "used_up": ...?, "invalid": part of the message if the decision is refused?,
//    "outline": ["STEP MODEL PURPOSE", ...]?}  the calls that an explanation lists
//
// With "task": {...} the models, except for those with "chats": true, answer that request of System
// One: a reply has its "body", and the answer has a "stage".
// With "draws": true the first model answers with a text, and an image server for the second one.
//
// An event is one of
//   {"calls": ["MODEL PURPOSE", ...]}         these calls begin now, and no others
//   {"prompt": turn, "is" | "has" | "lacks": text}   the prompt of a call, or its whole body
//   {"call": turn, MEMBER: value}             temperature, max_tokens, tools, logprobs, last,
//                                             results
//   {"reply": turn, "text", "reasoning"?, "tools"?: true, "logprobs"?: [...], "margins"?: [...],
//    "tokens"?: [prompt, completion], "cost"?, "with_next"?: true if the next reply comes with it}
//   {"fails": turn, "why"?, "elsewhere"?: false if no other model may be tried}
//   {"at": milliseconds since the beginning}
//   {"gives_up": [turn, ...]}                 these calls are given up now
//   {"waits": [turn, ...], "renames"?: turn}  the run has ended, because these turns have called
//                                             tools. A second run continues with its turns, after
//                                             the model of the turn "renames" was replaced
//   {"diverges": true}                        the second run needs other calls than the first did

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/looper/outline.h"
#include "router/looper/run.h"
#include "router/looper/task.h"

namespace signalbox::looper {
namespace {

namespace fs = std::filesystem;
using json::Value;
using std::chrono::milliseconds;

std::string raw(const Value& row, std::string_view key, std::string_view fallback) {
  const auto found = row.find(key);
  return std::string(found ? found->raw() : fallback);
}

std::string text_at(const Value& row, std::string_view key, std::string_view fallback = "") {
  const auto found = row.find(key);
  return std::string(found ? found->text() : fallback);
}

Result<config::Config> configuration(const Value& row) {
  std::string models, refs;
  for (const Value& model : row.find("models")->items()) {
    models += fmt::format(
        R"({}{{"name": {}, "api_format": "{}", "backend_refs": [{{"type": "echo"}}]{}}})",
        models.empty() ? "" : ",", model.find("name")->raw(),
        row.find("task") && !model.find("chats") ? "systemone" : "openai",
        model.find("pricing") ? fmt::format(R"(, "pricing": {})", raw(model, "pricing", "")) : "");
    refs += fmt::format(R"({}{{"model": {}}})", refs.empty() ? "" : ",", model.find("name")->raw());
  }
  const Value first = *row.find("models")->items().begin();
  const std::string_view form =
      row.find("task") ? R"("entrypoints": [{{"api": "systemone", "model_names": ["auto"],
"recipe": "r"}}], "recipes": [{{"name": "r", "routing": {}}}])"
                       : R"("routing": {})";
  const std::string routing =
      fmt::format(R"({{"modelCards": {}, "decisions": [{{"name": "d", "modelRefs": {},
"algorithm": {}}}]}})",
                  raw(row, "cards", "[]"), raw(row, "refs", fmt::format("[{}]", refs)),
                  raw(row, "algorithm", "{}"));
  auto loaded = config::parse(
      fmt::format(R"({{"version": "v0.3", "providers": {{"defaults": {{"default_model": {}}},
"models": [{}]}}, {}, "global": {{"integrations": {{"looper": {}}}}}}})",
                  first.find("name")->raw(), models, fmt::format(fmt::runtime(form), routing),
                  raw(row, "looper", "{}")),
      "f.yaml", {.strict = true});
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return std::move(loaded->config);
}

const config::Routing& routing_of(const config::Config& config) {
  return config.recipes.empty() ? config.routing : config.recipes.front().routing;
}

std::vector<Voice> voices_of(const config::Config& config, const Value& row) {
  std::vector<Voice> out;
  for (const config::ModelRef& ref : routing_of(config).decisions.front().model_refs) {
    Voice voice;
    voice.model = ref.model;
    voice.weight = ref.weight.value_or(1);
    const config::Model* model = config.providers.find(ref.model);
    if (model->pricing) voice.price = model->pricing->prompt_per_1m;
    for (const config::ModelCard& card : routing_of(config).model_cards) {
      if (card.name != ref.model) continue;
      voice.size = read_size(card.param_size);
      voice.quality = card.quality_score;
    }
    bool is_left_out = false;
    if (const auto names = row.find("leaves_out")) {
      for (const Value& name : names->items()) is_left_out |= name.text() == voice.model;
    }
    if (!is_left_out) out.push_back(std::move(voice));
  }
  return out;
}

/// A completion as a server would send it.
std::string completion(const Value& event) {
  json::Writer out;
  out.begin_object().member("id", "c").member("object", "chat.completion");
  out.key("choices").begin_array().begin_object().member("index", 0).key("message").begin_object();
  out.member("role", "assistant").member("content", text_at(event, "text"));
  if (event.find("reasoning")) out.member("reasoning_content", text_at(event, "reasoning"));
  if (event.find("tools")) {
    out.key("tool_calls").begin_array().begin_object().member("id", "t").end_object().end_array();
  }
  out.end_object().member("finish_reason", "stop");
  if (const auto logprobs = event.find("logprobs")) {
    std::vector<double> margins;
    if (const auto given = event.find("margins")) {
      for (const Value& each : given->items()) margins.push_back(*each.number());
    }
    out.key("logprobs").begin_object().key("content").begin_array();
    size_t i = 0;
    for (const Value& each : logprobs->items()) {
      const double logprob = *each.number();
      out.begin_object().member("token", i == 0 ? "word" : "{").member("logprob", logprob);
      out.key("top_logprobs").begin_array();
      if (i < margins.size()) {
        out.begin_object().member("logprob", logprob - margins[i]).end_object();
        out.begin_object().member("logprob", logprob).end_object();
      }
      out.end_array().end_object();
      ++i;
    }
    out.end_array().end_object();
  }
  out.end_object().end_array();
  if (const auto tokens = event.find("tokens")) {
    auto at = tokens->items().begin();
    const int64_t prompt = *(*at).integer();
    ++at;
    out.key("usage").begin_object().member("prompt_tokens", prompt);
    out.member("completion_tokens", *(*at).integer()).end_object();
  }
  return out.end_object().take();
}

class Story {
 public:
  Story(const config::Config& config, const Value& row) : config_(config), row_(row) { begin({}); }

  void play(const Value& event) {
    if (const auto calls = event.find("calls")) {
      std::vector<std::string> wanted;
      for (const Value& each : calls->items()) wanted.emplace_back(each.text());
      EXPECT_EQ(std::exchange(started_, {}), wanted) << event.raw();
    } else if (const auto given_up = event.find("gives_up")) {
      std::vector<size_t> wanted;
      for (const Value& each : given_up->items())
        wanted.push_back(static_cast<size_t>(*each.integer()));
      EXPECT_EQ(std::exchange(cancelled_, {}), wanted) << event.raw();
    } else if (const auto waiting = event.find("waits")) {
      go_on(event, *waiting);
    } else if (event.find("diverges")) {
      EXPECT_TRUE(run_->has_diverged());
    } else if (event.find("prompt")) {
      check_prompt(event);
    } else if (event.find("call")) {
      check_call(event);
    } else if (const auto at = event.find("at")) {
      now_ = milliseconds(*at->integer());
      advance();
    } else {
      take(event);
    }
  }

  void end(const Value& row) {
    EXPECT_EQ(started_, std::vector<std::string>{}) << "calls that no event mentions";
    EXPECT_EQ(cancelled_, std::vector<size_t>{}) << "calls given up that no event mentions";
    EXPECT_EQ(run_->used_up(), text_at(row, "used_up"));
    ASSERT_TRUE(run_->answer()) << "the run has not ended";
    const Result<RunAnswer>& answer = *run_->answer();
    if (row.find("error")) {
      ASSERT_FALSE(answer);
      EXPECT_NE(answer.error().message.find(text_at(row, "error")), std::string::npos)
          << answer.error().message;
      return;
    }
    ASSERT_TRUE(answer) << answer.error().message;
    const Value wanted = *row.find("answer");
    const Turn& turn = run_->turns()[answer->turn];
    EXPECT_EQ(turn.call.model, text_at(wanted, "model"));
    EXPECT_EQ(answer->waiting, std::vector<size_t>{});
    EXPECT_EQ(answer->label, text_at(wanted, "stage"));
    if (wanted.find("text")) {
      EXPECT_EQ(answer->body, "");
      EXPECT_EQ(turn.reply()->text, text_at(wanted, "text"));
    }
    if (const auto body = wanted.find("body")) {
      EXPECT_EQ(answer->body, body->raw());
    }
  }

 private:
  void begin(std::vector<PastTurn> past) {
    const config::Decision& decision = routing_of(config_).decisions.front();
    const std::string request =
        fmt::format(R"({{"messages": {}, "tools": {}}})",
                    raw(row_, "messages", R"([{"role": "user", "content": "the question"}])"),
                    raw(row_, "tools", "[]"));
    const auto document = json::Document::parse(request);
    const std::vector<Voice> voices = voices_of(config_, row_);
    Conversation conversation = read_conversation(document->root());
    conversation.task = raw(row_, "task", "");
    run_.emplace(row_.find("draws") ? text_and_image(voices)
                                    : make_algorithm(decision, voices, std::move(conversation),
                                                     routing_of(config_).model_cards),
                 bounds_of(decision.algorithm, config_.looper), std::move(past));
    advance();
  }

  void go_on(const Value& event, const Value& waiting) {
    std::vector<size_t> wanted;
    for (const Value& each : waiting.items())
      wanted.push_back(static_cast<size_t>(*each.integer()));
    ASSERT_TRUE(run_->answer()) << "the run has not ended";
    ASSERT_TRUE(*run_->answer()) << run_->answer()->error().message;
    EXPECT_EQ((*run_->answer())->waiting, wanted);
    const std::string text = write_flow({.turns = past_turns(run_->turns(), wanted)});
    Result<FlowState> state = read_flow(text);
    ASSERT_TRUE(state) << state.error().message;
    if (const auto renamed = event.find("renames"))
      state->turns[static_cast<size_t>(*renamed->integer())].model = "other";
    begin(std::move(state->turns));
  }

  void advance() {
    const Run::Orders orders = run_->advance(now_);
    for (const size_t turn : orders.start) {
      const Call& call = run_->turns()[turn].call;
      started_.push_back(fmt::format("{} {}", call.model, name_of(call.purpose)));
    }
    cancelled_.insert(cancelled_.end(), orders.cancel.begin(), orders.cancel.end());
  }

  const Call& call_at(const Value& event, std::string_view key) const {
    const auto turn = static_cast<size_t>(*event.find(key)->integer());
    SIGNALBOX_CHECK(turn < run_->turns().size());
    return run_->turns()[turn].call;
  }

  void check_prompt(const Value& event) const {
    const Call& call = call_at(event, "prompt");
    const std::string prompt = call.prompt.value_or(call.body.empty() ? "none" : call.body);
    if (event.find("is")) {
      EXPECT_EQ(prompt, text_at(event, "is"));
    }
    if (event.find("has")) {
      EXPECT_NE(prompt.find(text_at(event, "has")), std::string::npos) << prompt;
    }
    if (event.find("lacks")) {
      EXPECT_EQ(prompt.find(text_at(event, "lacks")), std::string::npos) << prompt;
    }
  }

  void check_call(const Value& event) const {
    const Call& call = call_at(event, "call");
    for (const json::Member& member : event.members()) {
      if (member.key == "temperature") {
        EXPECT_EQ(call.temperature.value_or(-1), *member.value.number()) << event.raw();
      } else if (member.key == "max_tokens") {
        EXPECT_EQ(call.max_tokens, *member.value.integer()) << event.raw();
      } else if (member.key == "tools") {
        EXPECT_EQ(call.offers_tools, member.value.boolean()) << event.raw();
      } else if (member.key == "logprobs") {
        EXPECT_EQ(call.needs_logprobs, member.value.boolean()) << event.raw();
      } else if (member.key == "last") {
        EXPECT_EQ(call.is_last, member.value.boolean()) << event.raw();
      } else if (member.key == "results") {
        EXPECT_EQ(call.has_results, member.value.boolean()) << event.raw();
      } else {
        EXPECT_EQ(member.key, "call");
      }
    }
  }

  void take(const Value& event) {
    const bool fails = event.find("fails").has_value();
    const auto turn = static_cast<size_t>(*event.find(fails ? "fails" : "reply")->integer());
    if (fails) {
      run_->take(turn, fail(Code::kUpstream, "{}", text_at(event, "why", "it is down")),
                 raw(event, "elsewhere", "true") == "true");
    } else {
      Result<Reply> reply = event.find("body") ? read_task_reply(raw(event, "body", ""))
                                               : read_reply(completion(event), true);
      ASSERT_TRUE(reply) << reply.error().message;
      if (const auto cost = event.find("cost")) reply->cost = *cost->number();
      run_->take(turn, std::move(reply));
    }
    if (!event.find("with_next")) advance();
  }

  const config::Config& config_;
  const Value row_;
  std::optional<Run> run_;
  milliseconds now_{0};
  std::vector<std::string> started_;
  std::vector<size_t> cancelled_;
};

void check_outline(const config::Config& config, const Value& row) {
  const auto wanted = row.find("outline");
  if (!wanted) return;
  std::vector<std::string> calls, found;
  for (const Value& each : wanted->items()) calls.emplace_back(each.text());
  const config::Decision& decision = routing_of(config).decisions.front();
  for (const OutlinedCall& call : outline(decision, voices_of(config, row), config.looper))
    found.push_back(fmt::format("{} {} {}", call.step, call.model, name_of(call.purpose)));
  EXPECT_EQ(found, calls);
}

void run_story(const Value& row) {
  const auto config = configuration(row);
  Result<void> checked;
  if (config) checked = check(routing_of(*config).decisions.front());
  if (row.find("invalid")) {
    const std::string message = !config    ? config.error().message
                                : !checked ? checked.error().message
                                           : "nothing";
    EXPECT_NE(message.find(text_at(row, "invalid")), std::string::npos) << message;
    return;
  }
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(checked) << checked.error().message;
  check_outline(*config, row);
  Story story(*config, row);
  for (const Value& event : row.find("story")->items()) story.play(event);
  story.end(row);
}

TEST(Looper, runs_follow_the_listed_calls) {
  size_t stories = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/looper/stories")) {
    std::ifstream file(entry.path());
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty()) continue;
      const auto row = json::Document::parse(line);
      const std::string where = fmt::format("{}:{}", entry.path().filename().string(), number);
      ASSERT_TRUE(row) << where << ": " << row.error().message;
      SCOPED_TRACE(fmt::format("{}: {}", where, text_at(row->root(), "name")));
      run_story(row->root());
      ++stories;
    }
  }
  EXPECT_GT(stories, 10U);
}

// Makes two calls, and ends as soon as it may make no more.
class TwoCalls final : public Algorithm {
 public:
  Step next(std::span<const Turn> turns, bool may_call) const override {
    if (!may_call) return {.answer = Result<RunAnswer>(fail(Code::kUpstream, "no call was made"))};
    if (!turns.empty()) return {};
    Step out;
    for (const char* model : {"a", "b"}) {
      Call call;
      call.model = model;
      out.calls.push_back(std::move(call));
    }
    return out;
  }
};

TEST(Looper, a_call_that_is_dropped_before_its_start_is_not_made) {
  looper::Run run(std::make_unique<TwoCalls>(), {.calls = 1});
  const Run::Orders orders = run.advance(milliseconds(0));
  EXPECT_TRUE(run.answer());
  EXPECT_EQ(orders.start, std::vector<size_t>{});
  EXPECT_EQ(orders.cancel, std::vector<size_t>{});
  EXPECT_EQ(run.calls(), 0U);
}

}  // namespace
}  // namespace signalbox::looper
