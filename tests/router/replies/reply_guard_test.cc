// Tests checks of replies in transit, from lines of data: the pieces that are pushed, the moments
// at which checks finish, and what the client has received by then. See reply_streams.jsonl and
// reply_bodies.jsonl.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "router/replies/guarded_body.h"
#include "router/replies/guarded_stream.h"
#include "router/replies/reply_check.h"
#include "router/replies/reply_guards.h"
#include "tests/router/fake_classifier.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kFolder = SIGNALBOX_SOURCE_DIR "/tests/router/replies/";

std::string text_of(const json::Value& row, std::string_view key) {
  const auto value = row.find(key);
  return value && value->is_string() ? std::string(value->text()) : std::string();
}

bool flag_of(const json::Value& row, std::string_view key) {
  const auto value = row.find(key);
  return value && value->is_bool() && value->boolean();
}

ReplyAction action_of(const json::Value& row, std::string_view key) {
  const std::string name = text_of(row, key);
  if (name == "none") return ReplyAction::kNone;
  if (name == "warn") return ReplyAction::kWarn;
  return name == "end" ? ReplyAction::kEnd : ReplyAction::kAnnotate;
}

// "context": the text that replies are checked against; "attempts": replies are searched for the
// word "jailbreak".
ReplyRules rules_of(const json::Value& row) {
  ReplyRules rules;
  rules.grounding = row.find("context") || row.find("instructions");
  rules.on_hallucination = action_of(row, "on_hallucination");
  rules.details = flag_of(row, "details");
  rules.unverified = flag_of(row, "unverified");
  rules.on_unverified = action_of(row, "on_unverified");
  rules.jailbreak = row.find("attempts").has_value();
  rules.on_jailbreak = action_of(row, "attempts");
  rules.fails_closed = flag_of(row, "fails_closed");
  return rules;
}

ReplyCheck check_of(const json::Value& row, const ReplyRules& rules) {
  GroundTruth truth;
  truth.instructions = text_of(row, "instructions");
  truth.context = text_of(row, "context") + truth.instructions;
  truth.question = text_of(row, "question");
  auto checker = grounding::Checker::create({}, {});
  EXPECT_TRUE(checker);
  JailbreakJudge judge;
  judge.positive = {1};
  if (rules.jailbreak && !flag_of(row, "no_model")) {
    judge.model = std::make_shared<test::FakeClassifier>(
        std::vector<std::string>{"benign", "jailbreak"}, engine::HeadKind::kSequence, false);
  }
  return {rules,
          std::move(truth),
          std::make_shared<grounding::Checker>(std::move(*checker)),
          {},
          std::move(judge)};
}

std::string chunk(int64_t choice, std::string_view text) {
  return fmt::format(
      R"(data: {{"id":"c","choices":[{{"index":{},"delta":{{"content":{}}},"finish_reason":null}}]}})"
      "\n\n",
      choice, json::quote(text));
}

std::string last_chunk(int64_t choice) {
  return fmt::format(
      R"(data: {{"id":"c","choices":[{{"index":{},"delta":{{}},"finish_reason":"stop"}}]}})"
      "\n\n",
      choice);
}

// Renders one event as readable text: its text, or its meaning in angle brackets.
std::string event_words(std::string_view event) {
  if (!event.starts_with("data: ")) return fmt::format("<{}>", event);
  event.remove_prefix(6);
  if (event == "[DONE]") return "<done>";
  const auto document = json::Document::parse(std::string(event));
  if (!document) return fmt::format("<broken {}>", event);
  const auto choices = document->root().find("choices");
  if (!choices) return fmt::format("<{}>", event);
  std::string out;
  for (const json::Value choice : choices->items()) {
    const int64_t index = choice.find("index")->integer().value_or(-1);
    if (index != 0) out += fmt::format("<{}>", index);
    const auto delta = choice.find("delta");
    const auto text = delta ? delta->find("content") : choice.find("text");
    if (text && text->is_string()) out += text->text();
    const auto reason = choice.find("finish_reason");
    if (reason && reason->is_string()) out += fmt::format("<{}>", reason->text());
  }
  if (choices->raw() == "[]") out += "<usage>";
  if (const auto guard = document->root().find(kGuardMember)) out += guard->raw();
  return out;
}

std::string words_of(std::string_view stream) {
  std::string out;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    if (end == std::string_view::npos) return out + fmt::format("<rest {}>", stream);
    out += event_words(stream.substr(0, end));
    stream.remove_prefix(end + 2);
  }
  return out;
}

// A step is text of the first choice, or an object that describes an event. The output that the
// client receives follows each step.
void run_step(const json::Value& step, GuardedStream& stream, ReplyCheck& check, std::string& out) {
  if (step.is_string()) return stream.push(chunk(0, step.text()), out);
  if (const auto text = step.find("one")) return stream.push(chunk(1, text->text()), out);
  if (const auto bytes = step.find("bytes")) return stream.push(bytes->text(), out);
  if (const auto choice = step.find("stop"))
    return stream.push(last_chunk(choice->integer().value_or(0)), out);
  if (step.find("done")) return stream.push("data: [DONE]\n\n", out);
  if (step.find("pause")) return stream.pause();
  if (step.find("give_up")) return stream.give_up(out);
  if (step.find("finish")) return stream.finish(out);
  const auto work = stream.take_work();
  if (step.find("idle")) {
    EXPECT_TRUE(work.empty());
    return;
  }
  EXPECT_FALSE(work.empty());
  if (step.find("fail")) return stream.failed(out);
  ASSERT_TRUE(step.find("check"));
  stream.done(check.check(work, {}), out);
}

TEST(GuardedStream, inserts_findings_between_events_as_listed) {
  std::ifstream file(std::string(kFolder) + "reply_streams.jsonl");
  size_t rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << line << ": " << document.error().message;
    const json::Value row = document->root();
    SCOPED_TRACE(text_of(row, "name"));
    const ReplyRules rules = rules_of(row);
    GuardedStream stream(rules);
    ReplyCheck check = check_of(row, rules);
    const auto steps = row.find("steps");
    ASSERT_TRUE(steps);
    std::optional<std::string> got;
    for (const json::Value each : steps->items()) {
      if (got) {
        EXPECT_EQ(*got, each.text());
        got.reset();
        continue;
      }
      std::string out;
      run_step(each, stream, check, out);
      got = flag_of(row, "raw") ? out : words_of(out);
    }
    EXPECT_FALSE(got) << "a step without its outcome";
    const ReplyOutcome outcome = stream.outcome();
    EXPECT_EQ(fmt::format("{} {} {}{}", name_of(outcome.grounding), name_of(outcome.jailbreak),
                          outcome.spans, outcome.ended ? " ended" : ""),
              text_of(row, "outcome"));
  }
  EXPECT_GT(rows, 20U);
}

TEST(GuardedStream, reads_events_that_are_cut_anywhere) {
  const std::string whole = chunk(0, "It dates from 1935. ") + ": ping\r\n\r\n" +
                            "data: {\"choices\":[]}\r\rdata: x\n\n" + chunk(0, "So it is.") +
                            last_chunk(0) + "data: [DONE]\n\n";
  ReplyRules rules;
  rules.grounding = true;
  rules.on_hallucination = ReplyAction::kNone;
  for (size_t size = 1; size < 40; ++size) {
    GuardedStream stream(rules);
    std::string out;
    for (size_t at = 0; at < whole.size(); at += size) {
      stream.push(std::string_view(whole).substr(at, size), out);
      if (!stream.take_work().empty()) stream.done({}, out);
    }
    stream.finish(out);
    if (!stream.take_work().empty()) stream.done({}, out);
    EXPECT_EQ(out, whole) << size;
  }
}

TEST(GuardedStream, passes_an_event_that_is_too_long_and_marks_it_afterwards) {
  ReplyRules rules;
  rules.grounding = true;
  GuardedStream stream(rules);
  const std::string whole = chunk(0, std::string(GuardedStream::kEventBytesMax + 100'000, 'a'));
  std::string out;
  for (size_t at = 0; at < whole.size(); at += 65'536)
    stream.push(std::string_view(whole).substr(at, 65'536), out);
  EXPECT_EQ(out, whole);
  out.clear();
  stream.push(last_chunk(0), out);
  EXPECT_EQ(words_of(out), R"({"warnings":[],"unchecked":["hallucination"]}<stop>)");
  EXPECT_EQ(stream.outcome().grounding, ReplyState::kUnchecked);
}

/// A stream that ends at an attack or marks it, while a long event passes. The first of its three
/// parts is already longer than the limit.
struct LongEvent {
  LongEvent(ReplyAction on_jailbreak, std::string_view before)
      : stream([on_jailbreak] {
          ReplyRules out;
          out.jailbreak = true;
          out.on_jailbreak = on_jailbreak;
          return out;
        }()) {
    std::string passed;
    stream.push(chunk(0, "One. Two"), passed);
    EXPECT_EQ(stream.take_work().size(), 1U);
    stream.push(before, passed);
    push(0, kFirst);
  }
  void push(size_t from, size_t to) {
    stream.push(std::string_view(whole).substr(from, to - from), sent);
  }
  void find(int attacks) {
    ReplyVerdict verdict;
    for (int i = 0; i < attacks; ++i) verdict.findings.push_back({0, {}, 0.9});
    stream.done(verdict, sent);
  }

  static constexpr size_t kFirst = GuardedStream::kEventBytesMax + 10, kSecond = kFirst + 10;
  const std::string whole = chunk(0, std::string(GuardedStream::kEventBytesMax + 100, 'a'));
  GuardedStream stream;
  std::string sent;  // from the long event on
};

constexpr std::string_view kEndAtAttack =
    R"(<content_filter>{"warnings":["response_jailbreak"],"score":0.9,"ended":true}<done>)";

TEST(GuardedStream, ends_once_behind_an_event_that_is_too_long) {
  LongEvent of(ReplyAction::kEnd, chunk(0, "Three."));
  of.find(2);
  EXPECT_FALSE(of.stream.pauses());
  of.stream.pause();
  EXPECT_FALSE(of.stream.is_busy()) << "text waits that is not needed any more";
  of.push(LongEvent::kFirst, LongEvent::kSecond);
  EXPECT_EQ(of.sent, of.whole.substr(0, LongEvent::kSecond));
  of.push(LongEvent::kSecond, of.whole.size());
  EXPECT_EQ(words_of(of.sent.substr(of.whole.size())), kEndAtAttack);
  EXPECT_TRUE(of.stream.ended());
}

TEST(GuardedStream, ends_once_if_upstream_ends_within_an_event_that_is_too_long) {
  LongEvent of(ReplyAction::kEnd, "");
  of.find(1);
  of.stream.finish(of.sent);
  const std::string end = of.sent.substr(LongEvent::kFirst);
  EXPECT_TRUE(end.starts_with("\n\n")) << "the end would be a part of the long event";
  EXPECT_EQ(words_of(end.substr(std::min<size_t>(2, end.size()))), kEndAtAttack);
  EXPECT_TRUE(of.stream.ended());
  EXPECT_FALSE(of.stream.is_busy());
}

TEST(GuardedStream, marks_an_end_that_waits_while_a_long_event_passes) {
  LongEvent of(ReplyAction::kAnnotate, last_chunk(0));
  of.find(1);
  EXPECT_EQ(of.stream.take_work().size(), 1U);
  of.find(0);
  of.push(LongEvent::kFirst, of.whole.size());
  EXPECT_TRUE(of.sent.starts_with(of.whole));
  EXPECT_EQ(words_of(of.sent.substr(of.whole.size())),
            R"({"warnings":["response_jailbreak"],"score":0.9})"
            R"({"warnings":[],"unchecked":["response_jailbreak"]}<stop>)");
}

// The reply ends as soon as a limit leaves text unread: nothing that was not read is sent.
TEST(GuardedStream, ends_before_an_unreadable_event_if_attacks_must_not_pass) {
  ReplyRules rules;
  rules.jailbreak = rules.fails_closed = true;
  rules.on_jailbreak = ReplyAction::kEnd;
  for (const size_t bytes :
       {GuardedStream::kEventBytesMax + 100'000, GuardedStream::kWaitingBytesMax + 10'000}) {
    GuardedStream stream(rules);
    std::string out;
    stream.push(chunk(0, "Hello. "), out);
    EXPECT_EQ(words_of(out), "Hello. ");
    out.clear();
    const std::string long_event = chunk(0, std::string(bytes, 'a') + ". So");
    for (size_t at = 0; at < long_event.size(); at += 65'536)
      stream.push(std::string_view(long_event).substr(at, 65'536), out);
    stream.push(chunk(0, "more"), out);
    EXPECT_EQ(out.find("aaa"), std::string::npos);
    EXPECT_EQ(out.find("more"), std::string::npos);
    EXPECT_TRUE(words_of(out).ends_with("<done>")) << words_of(out);
    EXPECT_NE(out.find("content_filter"), std::string::npos) << out;
    EXPECT_TRUE(stream.ended());
    EXPECT_EQ(stream.outcome().jailbreak, ReplyState::kUnchecked);
    EXPECT_TRUE(stream.outcome().ended);
  }
}

TEST(GuardedStream, bounds_the_text_that_waits) {
  ReplyRules rules;
  rules.grounding = true;
  rules.on_hallucination = ReplyAction::kNone;
  GuardedStream stream(rules);
  std::string out;
  for (int i = 0; i < 1000; ++i) stream.push(chunk(0, std::string(200, 'a') + ". So. "), out);
  size_t bytes = 0;
  for (const ReplyWindow& window : stream.take_work())
    bytes += window.text.size() + window.before.size();
  EXPECT_LE(bytes, GuardedStream::kWaitingBytesMax);
  EXPECT_GT(bytes, GuardedStream::kWaitingBytesMax / 2);
  EXPECT_EQ(stream.outcome().grounding, ReplyState::kUnchecked);
}

TEST(ReplyText, cuts_endless_sentences_and_loses_nothing) {
  for (const std::string unit : {"word ", "\u4E2D", "a", "```\ncode\n"}) {
    std::string whole;
    while (whole.size() < 10'000) whole += unit;
    ReplyText text(0);
    std::string got;
    uint64_t points = 0;
    const auto take = [&](bool all) {
      while (const auto window = text.take(all)) {
        EXPECT_LE(window->text.size(), 2 * ReplyText::kWindowBytesMax);
        EXPECT_LE(window->before.size(), ReplyText::kBeforeBytesMax + 4);
        EXPECT_EQ(window->begin, points);
        points += utf8::count(window->text);
        got += window->text;
      }
    };
    for (size_t at = 0; at < whole.size(); at += 7) {
      text.push(std::string_view(whole).substr(at, 7));
      take(false);
    }
    take(true);
    EXPECT_EQ(got, whole);
  }
}

// A line contains rules as above, "body", and what the client receives: "gives", "warnings",
// "unchecked", "refusal".
TEST(GuardedBody, findings_in_whole_replies_match_the_listed_ones) {
  std::ifstream file(std::string(kFolder) + "reply_bodies.jsonl");
  size_t rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << line << ": " << document.error().message;
    const json::Value row = document->root();
    SCOPED_TRACE(text_of(row, "name"));
    const ReplyRules rules = rules_of(row);
    const std::string body = text_of(row, "body");
    const auto reply = WholeReply::read(body);
    GuardedBody got;
    if (reply) {
      const ReplyVerdict verdict = check_of(row, rules).check(reply->windows(), {});
      got = reply->judged(rules, flag_of(row, "late") ? nullptr : &verdict);
    } else {
      got = unread(rules, body);
    }
    EXPECT_EQ(got.body, row.find("gives") ? text_of(row, "gives") : body);
    EXPECT_EQ(got.warnings, text_of(row, "warnings"));
    EXPECT_EQ(got.unchecked, text_of(row, "unchecked"));
    EXPECT_EQ(got.refusal, text_of(row, "refusal"));
  }
  EXPECT_GT(rows, 8U);
}

// Marks nothing, and fails if nobody waits for it.
class PatientMarker : public test::FakeClassifier {
 public:
  PatientMarker()
      : FakeClassifier({"supported", "hallucinated"}, engine::HeadKind::kTokens, false) {}

  Result<std::vector<engine::Answer>> answer_within(
      const engine::Patience& patience, std::span<const engine::Input> inputs) const override {
    if (patience.stop.stop_requested()) return fail(Code::kCancelled, "nobody waits for it");
    return std::vector<engine::Answer>(inputs.size());
  }
};

TEST(ReplyCheck, a_model_that_marks_text_stops_if_nobody_waits) {
  const auto checker = std::make_shared<const grounding::Checker>(
      *grounding::Checker::create({}, {.hallucination = {std::make_shared<PatientMarker>()}}));
  ReplyRules rules;
  rules.grounding = true;
  GroundTruth truth;
  truth.context = "The bridge is red.";
  ReplyCheck check(rules, std::move(truth), checker, {}, {});
  ReplyWindow window;
  window.text = "The bridge is red.";
  std::stop_source stop;
  const engine::Patience patience{.stop = stop.get_token()};
  EXPECT_FALSE(check.check({window}, patience).grounding_failed);
  stop.request_stop();
  EXPECT_TRUE(check.check({window}, patience).grounding_failed);
}

// Returns the processor time for a reply with `spans` numbers that contradict the system message.
// `between` separates them: each is a sentence of its own, or all are in one sentence.
double seconds_for(int spans, std::string_view between) {
  std::string text = "Opening hours of the shop on market street are ";
  for (int i = 0; i < spans; ++i) text += fmt::format("{} minutes{}", 10'000 + i, between);
  ReplyRules rules;
  rules.grounding = true;
  GroundTruth truth;
  truth.context = truth.instructions =
      "You answer for the shop on market street, which has opening hours of 5 minutes.";
  const auto checker =
      std::make_shared<const grounding::Checker>(*grounding::Checker::create({}, {}));
  ReplyCheck check(rules, std::move(truth), checker, {}, {});
  ReplyWindow window;
  window.text = std::move(text);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t from = std::clock();
    const ReplyVerdict verdict = check.check({window}, {});
    best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
    EXPECT_EQ(verdict.findings.size(), 1U);
    for (const ReplyFinding& finding : verdict.findings)
      EXPECT_EQ(finding.spans.size(), static_cast<size_t>(spans));
  }
  return best;
}

// Twelve times as much text must take about twelve times as long; a quadratic algorithm would take
// 144 times as long.
TEST(ReplyCheck, the_cost_of_many_spans_is_linear) {
  constexpr int kSpans = 250;
  for (const std::string_view between :
       {". Opening hours of the shop on market street are ", " and "}) {
    const double some = seconds_for(kSpans, between);
    EXPECT_LT(seconds_for(12 * kSpans, between), 36 * some + 0.01) << between;
  }
}

GroundTruth truth_of(std::string_view messages) {
  auto request =
      request::ChatRequest::parse(fmt::format(R"({{"model":"m","messages":{}}})", messages));
  EXPECT_TRUE(request);
  return ground_truth_of(*request);
}

TEST(GroundTruth, has_the_texts_of_tools_and_system_messages) {
  const GroundTruth truth = truth_of(
      R"([{"role":"system","content":"S"},{"role":"user","content":"A"},)"
      R"({"role":"assistant","content":"B"},{"role":"tool","tool_call_id":"t","content":"T"},)"
      R"({"role":"user","content":"Q"}])");
  EXPECT_FALSE(truth.empty);
  EXPECT_EQ(truth.context, "T\n\nS\n\nA");
  EXPECT_EQ(truth.question, "Q");
  EXPECT_EQ(truth.instructions, "");
}

TEST(GroundTruth, system_messages_alone_may_be_instructions) {
  const GroundTruth truth =
      truth_of(R"([{"role":"developer","content":"S"},{"role":"user","content":"Q"}])");
  EXPECT_FALSE(truth.empty);
  EXPECT_EQ(truth.instructions, "S");
}

TEST(GroundTruth, does_not_have_the_texts_of_users_alone) {
  EXPECT_TRUE(
      truth_of(R"([{"role":"user","content":"Q"},{"role":"assistant","content":"A"}])").empty);
}

}  // namespace
}  // namespace signalbox::replies
