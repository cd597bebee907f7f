// Feeds arbitrary bytes as the reply of a model's server: a completion, whose text is then read as
// a grade and as the plan of a workflow. A grade or a plan must be within its limits, and an edited
// completion must still be a completion.

#include <array>
#include <cstdint>
#include <string>

#include "router/looper/compose.h"
#include "router/looper/prompts.h"
#include "router/looper/workflow_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using namespace signalbox::looper;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const double grade = read_grade(text);
  SIGNALBOX_CHECK(grade == -1 || (grade >= 0 && grade <= 1));
  const std::array<std::string, 2> allowed{"a", "b"};
  const auto plan = read_plan(text, allowed, {.steps = 3, .models = 2});
  if (plan) {
    SIGNALBOX_CHECK(!plan->steps.empty() && plan->steps.size() <= 3);
    for (const WorkflowStep& step : plan->steps)
      SIGNALBOX_CHECK(!step.models.empty() && step.models.size() <= 2);
  }
  auto reply = read_reply(text, true);
  if (!reply) return 0;
  SIGNALBOX_CHECK(read_reply(with_usage(reply->body, 1, 2), true));
  std::array<Turn, 1> turns;
  turns[0].state = Turn::State::kDone;
  turns[0].outcome = *std::move(reply);
  SIGNALBOX_CHECK(read_reply(compose_choices(turns, {0}), true));
  return 0;
}
