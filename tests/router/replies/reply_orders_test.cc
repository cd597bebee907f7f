// Explores every order in which a stream arrives, in which checks of it begin, finish, fail or come
// too late, and in which it is cut or its client leaves. The stream is the real GuardedStream. Its
// driver is an abstract model of gateway/guarded_reply, which has the sockets and the timers.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <set>

#include "router/replies/guarded_stream.h"
#include "tests/router/explore.h"
#include "tests/router/replies/native_streams.h"

namespace signalbox::replies {
namespace {

using signalbox::test::Event;
using namespace signalbox::replies::test;

std::string choice_json(int choice, std::string_view text, std::string_view reason) {
  return fmt::format(R"({{"index":{},"delta":{{"content":"{}"}},"finish_reason":{}}})", choice,
                     text, reason);
}
std::string chunk_of(const std::string& choices) {
  return fmt::format("data: {{\"id\":\"c\",\"choices\":[{}]}}\n\n", choices);
}
std::string text_of(int choice, std::string_view text) {
  return chunk_of(choice_json(choice, text, "null"));
}
std::string stop_of(int choice, std::string_view text = "") {
  return chunk_of(choice_json(choice, text, "\"stop\""));
}
const std::string kDone = "data: [DONE]\n\n";

/// Part 0 to 2 of an event that is too long. Part 0 already is.
std::string long_part(int choice, int part) {
  const std::string whole = text_of(choice, " Or bad" + std::string(kEventBytesMax, 'x'));
  const std::array<size_t, 4> ends{0, kEventBytesMax + 4, kEventBytesMax + 8, whole.size()};
  return whole.substr(ends[part], ends[part + 1] - ends[part]);
}

bool is_attack_unchecked(const json::Value& guard) {
  const auto unchecked = guard.find("unchecked");
  if (!unchecked) return false;
  for (const json::Value warning : unchecked->items()) {
    if (warning.text() == kResponseJailbreak) return true;
  }
  return false;
}

void read_chunk(const json::Value& chunk, Read& into) {
  const auto guard = chunk.find("vsr_guard");
  if (guard && is_attack_unchecked(*guard)) into.is_marked_unchecked = true;
  for (const json::Value choice : chunk.find("choices")->items()) {
    const int64_t index = choice.find("index")->integer().value_or(-1);
    if (into.stops.contains(index) || into.cuts.contains(index))
      into.fault = "a choice goes on after its end";
    const auto reason = choice.find("finish_reason");
    const auto content = choice.find("delta")->find("content");
    if (content && !guard) into.texts[index] += content->text();
    if (content && guard) ++into.warnings;
    if (!reason->is_string()) continue;
    if (into.is_marked_unchecked) into.marked_stops.insert(index);
    (reason->text() == "stop" ? into.stops : into.cuts).insert(index);
  }
}

void read_event(const json::Value& root, Api api, Read& into) {
  if (!api) return read_chunk(root, into);
  api == kMessages ? read_message_event(root, into) : read_response_event(root, into);
}

/// `unfinished`: the event that upstream has begun and not ended. It need not be JSON.
Read read_all(std::string_view stream, Api api, std::string_view unfinished = "") {
  Read out;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    if (end == std::string_view::npos) break;  // upstream was cut within an event
    if (out.dones > 0) out.fault = "something follows [DONE]";
    const std::string_view event = stream.substr(0, end);
    stream.remove_prefix(end + 2);
    if (event == unfinished) continue;
    const std::string_view data = event.substr(event.find("data: ") + 6);
    if (data == "[DONE]") {
      ++out.dones;
      continue;
    }
    const auto document = json::Document::parse(std::string(data));
    if (!document) {
      out.fault = "an event is not JSON";
      break;
    }
    read_event(document->root(), api, out);
  }
  return out;
}

class Driver {
 public:
  Driver(const ReplyRules& rules, const Script& script)
      : rules_(rules), script_(&script), stream_(rules, script.api, bytes_max(script.api)) {}

  std::vector<Event<Driver>> events() const {
    std::vector<Event<Driver>> out;
    if (is_over()) return out;
    const auto add = [&out](std::string_view name, void (Driver::*happen)()) {
      for (const bool is_full : {false, true}) {
        const std::string_view more = is_full ? "; the pool is full" : "";
        out.push_back({fmt::format("{}{}", name, more), [happen, is_full](Driver& of) {
                         of.pool_is_full_ = is_full;
                         (of.*happen)();
                       }});
      }
    };
    if (!upstream_over_) {
      if (next_ < script_->pieces.size()) add("a piece arrives", &Driver::arrive);
      add("upstream ends", &Driver::finish);
      out.push_back({"upstream breaks", [](Driver& of) { of.break_off(); }});
      if (pause_set_) add("upstream pauses", &Driver::pause);
    }
    if (running_) {
      add("the check finishes", &Driver::judge);
      add("the check fails", &Driver::judge_nothing);
    }
    if (stream_.is_busy() && (stream_.holds() || upstream_over_))
      out.push_back({"the wait is over", [](Driver& of) { of.give_up(); }});
    out.push_back({"the client leaves", [](Driver& of) { of.leave(); }});
    return out;
  }

  // The stream hides its state, so the key contains the results of its next steps.
  std::string key() const {
    std::string out =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}|{}|", has_found_claim_, next_,
                    upstream_over_, broken_, left_, running_.has_value(), is_late(), pause_set_,
                    stream_.is_busy(), stream_.holds(), stream_.pauses(), stream_.ended(), sent_);
    if (running_) {
      for (const ReplyWindow& window : *running_)
        out += fmt::format("{}:{}/", window.choice, window.text);
    }
    for (const auto& [choice, text] : judged_) out += fmt::format("{}:{}|", choice, text);
    GuardedStream checked = stream_, given_up = stream_;
    if (!checked.is_busy() || is_late() || !running_) checked.take_work();
    checked.done({}, out);
    for (const ReplyWindow& window : checked.take_work()) out += window.text + "/";
    for (GuardedStream* each : {&checked, &given_up}) {
      each->give_up(out);
      each->finish(out);
      for (const ReplyWindow& window : each->take_work()) out += window.text + "/";
      each->give_up(out);
      const ReplyOutcome outcome = each->outcome();
      out += fmt::format("{}{}{}", name_of(outcome.grounding), name_of(outcome.jailbreak),
                         outcome.ended);
    }
    return out;
  }

  std::string fault() const {
    const std::string said = said_bytes();
    const size_t end = said.rfind("\n\n");
    const Read read =
        read_all(sent_, script_->api, said.substr(end == std::string::npos ? 0 : end + 2));
    if (!read.fault.empty()) return read.fault;
    if (stream_.is_busy() && !is_over() && (!running_ || is_late()))
      return "text waits, and no check runs";
    for (const auto& [choice, text] : read.texts) {
      if (!said_.contains(choice) || !said_.at(choice).starts_with(text))
        return "the client has text that upstream did not send";
    }
    const ReplyOutcome outcome = stream_.outcome();
    const bool ends = rules_.jailbreak && rules_.on_jailbreak == ReplyAction::kEnd;
    if (ends && has_found_attack_ && !outcome.ended) return "an attack does not end the reply";
    for (const int64_t choice : read.stops) {
      if (!rules_.jailbreak) continue;
      const bool is_judged = judged_of(choice) == said_.at(choice);
      if (!is_judged && rules_.fails_closed) return "a choice that is not judged ends regularly";
      if (!is_judged && has_marks() && !read.marked_stops.contains(choice))
        return "an unjudged end has no mark before it";
    }
    return is_over() ? fault_at_end(read, outcome) : "";
  }

 private:
  static size_t bytes_max(Api api) { return api == kResponses ? 4096 : kEventBytesMax; }
  bool has_marks() const { return !script_->api; }
  bool is_over() const {
    return left_ || broken_ || stream_.ended() || (upstream_over_ && !stream_.is_busy());
  }
  std::string said_bytes() const {
    std::string out;
    for (size_t i = 0; i < next_; ++i) out += script_->pieces[i];
    return out;
  }
  bool is_late() const { return number_ != running_number_; }
  std::string judged_of(int64_t choice) const {
    const auto found = judged_.find(choice);
    return found == judged_.end() ? "" : found->second;
  }

  std::string fault_at_end(const Read& read, const ReplyOutcome& outcome) const {
    if (left_) return "";
    if (!outcome.ended && (stream_.is_busy() || (stream_.holds() && !broken_)))
      return "something is still held";
    // Nothing can follow a part of an event.
    const bool is_cut = broken_ && !sent_.empty() && !sent_.ends_with("\n\n");
    bool is_all_judged = true;
    for (const auto& [choice, text] : said_) {
      is_all_judged = is_all_judged && judged_of(choice) == text;
      if (outcome.ended && !is_cut && read.stops.contains(choice) + read.cuts.contains(choice) != 1)
        return "a choice that the router ends has not exactly one end";
      if (!outcome.ended && (!read.texts.contains(choice) || read.texts.at(choice) != text))
        return "text of upstream is lost";
    }
    if (rules_.jailbreak && outcome.jailbreak == ReplyState::kClean && !is_all_judged)
      return "an unjudged reply counts as clean";
    if (rules_.jailbreak && upstream_over_ && !is_all_judged && !outcome.ended && has_marks() &&
        !read.is_marked_unchecked)
      return "an unjudged reply has no mark";
    if (rules_.grounding && outcome.grounding == ReplyState::kClean && !is_all_judged)
      return "an unjudged reply counts as checked";
    if (is_cut) return "";
    const bool warns = rules_.on_hallucination == ReplyAction::kWarn && upstream_over_;
    if (warns && has_found_claim_ && !outcome.ended && read.warnings == 0)
      return "a warning is lost";
    if (outcome.ended) return read.dones == 1 ? "" : "a reply that the router ends has no [DONE]";
    const Read whole = read_all(said_bytes(), script_->api);
    if (whole.dones != read.dones || whole.stops != read.stops) return "an end of upstream is lost";
    return "";
  }

  // These follow gateway/guarded_reply.
  void arrive() {
    const std::string& piece = script_->pieces[next_++];
    said_ = read_all(said_bytes(), script_->api).texts;
    stream_.push(piece, sent_);
    start_check();
    pause_set_ = stream_.pauses();
  }
  void finish() {
    upstream_over_ = true;
    pause_set_ = false;
    stream_.finish(sent_);
    start_check();
  }
  void break_off() {
    give_up();
    broken_ = true;
  }
  void pause() {
    pause_set_ = false;
    stream_.pause();
    start_check();
  }
  void leave() {
    std::string nobody;
    stream_.give_up(nobody);
    left_ = true;
  }
  void give_up() {
    ++number_;
    stream_.give_up(sent_);
  }
  void start_check() {
    std::vector<ReplyWindow> work = stream_.take_work();
    if (work.empty()) return;
    if (running_) return stream_.failed(sent_);
    ++number_;
    if (pool_is_full_) return stream_.failed(sent_);
    running_ = std::move(work);
    running_number_ = number_;
  }
  void take(const ReplyVerdict& verdict) {
    const std::vector<ReplyWindow> work = *std::exchange(running_, std::nullopt);
    if (is_late()) return;
    if (!verdict.jailbreak_failed) {
      for (const ReplyWindow& window : work) judged_[window.choice] += window.text;
    }
    if (!verdict.findings.empty() && verdict.findings[0].jailbreak > 0) has_found_attack_ = true;
    for (const ReplyFinding& finding : verdict.findings)
      has_found_claim_ = has_found_claim_ || !finding.spans.empty();
    stream_.done(verdict, sent_);
    start_check();
  }
  void judge() {
    ReplyVerdict verdict;
    for (const ReplyWindow& window : *running_) {
      ReplyFinding finding;
      finding.choice = window.choice;
      if (rules_.jailbreak && window.text.find("bad") != std::string::npos) finding.jailbreak = 0.9;
      if (rules_.grounding && window.text.find("wrong") != std::string::npos)
        finding.spans.push_back({window.begin, window.begin + 1, "x", "unsupported", 0.9});
      if (finding.jailbreak > 0)
        verdict.findings.insert(verdict.findings.begin(), finding);
      else if (!finding.spans.empty())
        verdict.findings.push_back(finding);
    }
    take(verdict);
  }
  void judge_nothing() {
    ReplyVerdict verdict;
    verdict.jailbreak_failed = verdict.grounding_failed = true;
    take(verdict);
  }

  ReplyRules rules_;
  const Script* script_;
  GuardedStream stream_;
  size_t next_ = 0;
  bool upstream_over_ = false, broken_ = false, left_ = false;
  bool pause_set_ = false;  // the timer, which the end of a check does not cancel
  bool pool_is_full_ = false;
  uint64_t number_ = 0, running_number_ = 0;
  std::optional<std::vector<ReplyWindow>> running_;  // the text of the check that runs
  std::string sent_;                                 // to the client

  // The properties that must hold, counted apart from the code under test.
  std::map<int64_t, std::string> said_, judged_;  // by choice
  bool has_found_attack_ = false, has_found_claim_ = false;
};

const std::vector<Script>& scripts() {
  static const std::vector<Script> kOut{
      {"sentences",
       {text_of(0, "One is fine. "), text_of(0, "Two is bad. So "), text_of(0, "it is wrong."),
        stop_of(0), kDone}},
      {"two choices",
       {text_of(0, "This is bad."), text_of(1, "That is fine. And"), stop_of(0), text_of(1, " on."),
        stop_of(1, "Bye"), kDone}},
      {"pieces of events",
       {text_of(0, "Fine. It").substr(0, 30),
        text_of(0, "Fine. It").substr(30) + text_of(0, " is wrong. Ok").substr(0, 50),
        text_of(0, " is wrong. Ok").substr(50), stop_of(0) + "data: {\"choices\":[]}\n\n" + kDone}},
      {"everything at once",
       {text_of(0, "Bad is bad. Wrong is wrong. ") + stop_of(0, "End") + kDone}},
      {"a long event",
       {text_of(0, "This is bad. So.") + text_of(1, "That is bad and wrong. Bye"), long_part(0, 0),
        long_part(0, 1), long_part(0, 2), stop_of(0) + stop_of(1) + kDone}},
      {"a long event behind an end",
       {text_of(0, "One is wrong. Bad is bad"), text_of(1, "Fine"), stop_of(0), long_part(1, 0),
        long_part(1, 1), long_part(1, 2) + text_of(1, " on."), stop_of(1) + kDone}},
      {"no regular end", {text_of(0, "One. Two"), text_of(0, " is bad. Three."), stop_of(0)}},
  };
  return kOut;
}

size_t explore(std::string_view name, const ReplyRules& rules) {
  size_t out = 0;
  std::vector<Script> all = scripts();
  for (Script& script : message_scripts()) all.push_back(std::move(script));
  for (Script& script : response_scripts()) all.push_back(std::move(script));
  for (const Script& script : all) {
    out += signalbox::test::explore_all(fmt::format("{}, {}", name, script.name),
                                        Driver(rules, script));
  }
  return out;
}

TEST(ReplyOrders, no_unjudged_reply_ends_normally_if_attacks_must_not_pass) {
  ReplyRules rules;
  rules.jailbreak = rules.fails_closed = true;
  rules.on_jailbreak = ReplyAction::kEnd;
  EXPECT_GT(explore("block", rules), 3000U);
}

TEST(ReplyOrders, an_attack_ends_the_reply_and_an_unjudged_end_is_marked) {
  ReplyRules rules;
  rules.jailbreak = true;
  rules.on_jailbreak = ReplyAction::kEnd;
  EXPECT_GT(explore("block what is found", rules), 4700U);
}

TEST(ReplyOrders, marks_and_warnings_change_no_text) {
  ReplyRules rules;
  rules.jailbreak = rules.grounding = rules.details = true;
  rules.on_hallucination = ReplyAction::kWarn;
  EXPECT_GT(explore("mark and warn", rules), 8700U);
}

TEST(ReplyOrders, a_false_claim_ends_the_reply_once) {
  ReplyRules rules;
  rules.grounding = true;
  rules.on_hallucination = ReplyAction::kEnd;
  EXPECT_GT(explore("end at false claims", rules), 5700U);
}

}  // namespace
}  // namespace signalbox::replies
