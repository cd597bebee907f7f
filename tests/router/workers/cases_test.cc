// Tests a balancer with scenarios from data: which worker is chosen, in which order, after which
// events. Each line of cases.jsonl has a name, settings, workers and events:
//   {"ask": {"prompt", "blocks", "messages", "session", "tried"}, "gets": "a b", "as": "r"}
//     sends one request per expected word: a worker, "room" or "other". "as" names a request, which
//     then stays in flight; otherwise it is answered at once. "blocks" is [[letter, count], ...], a
//     prompt of that many blocks of each letter.
//   {"end": "r", "ended": "answered|failed|dropped", "ejects": bool}
//   {"check": "a", "passed": bool, "changes": bool}
//   {"load": "a", "metrics": TEXT or null}
//   {"status": "a", "MEMBER": value}
//   {"pass": ms}

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/json.h"
#include "router/workers/balancer.h"

namespace signalbox::workers {
namespace {

using Policy = config::Reliability::Policy;

std::string text_of(const json::Value& of, std::string_view key, std::string_view otherwise = "") {
  const auto found = of.find(key);
  return std::string(found ? found->text() : otherwise);
}

bool flag_of(const json::Value& of, std::string_view key) {
  const auto found = of.find(key);
  return found && found->boolean();
}

double number_in(const json::Value& value) {
  return std::stod(std::string(value.raw()));
}

config::Reliability settings_of(const json::Value& of) {
  config::Reliability out;
  out.prefix_block_bytes = 4;
  for (const json::Member& each : of.members()) {
    const auto is = [&](std::string_view key) { return each.key == key; };
    if (is("policy")) {
      const std::string_view policy = each.value.text();
      out.lb_policy = policy == "least_request"  ? Policy::kLeastRequest
                      : policy == "session"      ? Policy::kSession
                      : policy == "prefix_aware" ? Policy::kPrefix
                                                 : Policy::kWeighted;
      continue;
    }
    const auto value = static_cast<uint32_t>(number_in(each.value));
    if (is("consecutive_5xx")) out.consecutive_5xx = value;
    if (is("base_ejection_ms")) out.base_ejection_time = std::chrono::milliseconds(value);
    if (is("max_ejection_percent")) out.max_ejection_percent = value;
    if (is("max_in_flight")) out.max_in_flight = value;
    if (is("shared_prefix_bytes")) out.shared_prefix_bytes = value;
    if (is("prefix_blocks_max")) out.prefix_blocks_max = value;
    if (is("unhealthy_threshold")) out.unhealthy_threshold = value;
    if (is("healthy_threshold")) out.healthy_threshold = value;
    if (is("prefill_weight")) out.prefill_weight = number_in(each.value);
    if (is("active_weight")) out.active_weight = number_in(each.value);
  }
  return out;
}

std::vector<Balancer::Named> workers_of(const json::Value& of) {
  std::vector<Balancer::Named> out;
  for (const json::Value& each : of.items()) {
    if (each.is_string()) {
      out.push_back({std::string(each.text())});
    } else {
      out.push_back(
          {text_of(each, "name"), static_cast<uint32_t>(number_in(*each.find("weight")))});
    }
  }
  return out;
}

class Story {
 public:
  explicit Story(const json::Value& row)
      : named_(workers_of(*row.find("workers"))),
        balancer_(settings_of(*row.find("settings")), named_) {}

  void happen(const json::Value& event) {
    if (event.find("ask")) return ask(event);
    if (event.find("end")) return end(event);
    if (event.find("check")) return check(event);
    if (event.find("load")) return load(event);
    if (event.find("status")) return status(event);
    if (const auto pass = event.find("pass")) {
      now_ += std::chrono::milliseconds(static_cast<int>(number_in(*pass)));
      return;
    }
    FAIL() << "unknown event " << event.raw();
  }

 private:
  struct Going {
    size_t worker, blocks;
  };

  size_t index(std::string_view name) const {
    for (size_t i = 0; i < named_.size(); ++i) {
      if (named_[i].name == name) return i;
    }
    ADD_FAILURE() << "no worker " << name;
    return 0;
  }

  std::string prompt_of(const json::Value& ask) const {
    std::string out = text_of(ask, "prompt");
    const auto blocks = ask.find("blocks");
    if (!blocks) return out;
    for (const json::Value& run : blocks->items()) {
      std::vector<json::Value> both;
      for (const json::Value& each : run.items()) both.push_back(each);
      const auto count = static_cast<size_t>(number_in(both[1]));
      out.append(count * balancer_.settings().prefix_block_bytes, both[0].text()[0]);
    }
    return out;
  }

  void ask(const json::Value& event) {
    const json::Value what = *event.find("ask");
    const std::string prompt = prompt_of(what);
    const std::string session = text_of(what, "session");
    const std::string_view parts[] = {prompt};
    const auto blocks = prefix_blocks(parts, balancer_.settings().prefix_block_bytes);
    std::vector<std::string_view> messages;
    if (const auto texts = what.find("messages")) {
      for (const json::Value& each : texts->items()) messages.push_back(each.text());
    }
    const auto ends = prefix_ends(messages, balancer_.settings().shared_prefix_bytes);
    std::vector<size_t> tried;
    if (const auto names = what.find("tried")) {
      for (const json::Value& name : names->items()) tried.push_back(index(name.text()));
    }
    std::string expected = text_of(event, "gets");
    std::string got;
    const auto asks = 1 + std::count(expected.begin(), expected.end(), ' ');
    for (int i = 0; i < asks; ++i) {
      const auto worker = balancer_.begin({blocks, session, ends}, tried, now_);
      got += i > 0 ? " " : "";
      got += worker ? named_[*worker].name : worker.error() == Missing::kRoom ? "room" : "other";
      if (!worker) continue;
      if (event.find("as")) {
        going_[text_of(event, "as")] = {*worker, blocks.size()};
      } else {
        balancer_.end(*worker, blocks.size(), Ended::kAnswered, now_);
      }
    }
    EXPECT_EQ(got, expected) << event.raw();
  }

  void end(const json::Value& event) {
    const Going going = going_.at(text_of(event, "end"));
    const std::string ended = text_of(event, "ended", "answered");
    const Ended how = ended == "failed"    ? Ended::kFailed
                      : ended == "dropped" ? Ended::kDropped
                                           : Ended::kAnswered;
    EXPECT_EQ(balancer_.end(going.worker, going.blocks, how, now_), flag_of(event, "ejects"))
        << event.raw();
  }

  void check(const json::Value& event) {
    EXPECT_EQ(balancer_.checked(index(text_of(event, "check")), flag_of(event, "passed"), now_),
              flag_of(event, "changes"))
        << event.raw();
  }

  void load(const json::Value& event) {
    const json::Value metrics = *event.find("metrics");
    std::optional<Load> load;
    if (metrics.is_string()) load = parse_load(metrics.text()).value();
    balancer_.loaded(index(text_of(event, "load")), load);
  }

  void status(const json::Value& event) {
    const Balancer::Status is = balancer_.status(now_)[index(text_of(event, "status"))];
    const auto expect = [&](std::string_view key, double value) {
      const auto wanted = event.find(key);
      if (!wanted) return;
      EXPECT_EQ(value, wanted->is_bool() ? wanted->boolean() : number_in(*wanted)) << event.raw();
    };
    expect("healthy", is.healthy);
    expect("ejected", is.ejected);
    expect("in_flight", is.in_flight);
    expect("others", is.others);
    expect("known_blocks", static_cast<double>(is.known_blocks));
  }

  std::vector<Balancer::Named> named_;
  Balancer balancer_;
  TimePoint now_{std::chrono::hours(1)};
  std::map<std::string, Going> going_;
};

TEST(Balancer, follows_the_listed_events) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/router/workers/cases.jsonl");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << row.error().message << ": " << line;
    SCOPED_TRACE(text_of(row->root(), "name"));
    Story story(row->root());
    for (const json::Value& event : row->root().find("events")->items()) story.happen(event);
    ++count;
  }
  EXPECT_GT(count, 15);
}

}  // namespace
}  // namespace signalbox::workers
