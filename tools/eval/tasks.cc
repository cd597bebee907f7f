// The thresholds are those of the router's signals. Span tasks have no threshold, so every span
// counts.

#include "tools/eval/tasks.h"

#include <algorithm>

namespace signalbox::tools {
namespace {

constexpr std::string_view kJailbreak[] = {"jailbreak", "INJECTION"};
constexpr std::string_view kFactCheck[] = {"needs_fact_check", "FACT_CHECK_NEEDED"};

constexpr EvalTask kTasks[] = {
    {"classify", RowKind::kLabel, ""},
    {"domain", RowKind::kLabel, "domain", 0.6},
    {"jailbreak", RowKind::kLabel, "jailbreak", 0.7, kJailbreak},
    {"fact-check", RowKind::kLabel, "fact-check", 0.6, kFactCheck},
    {"feedback", RowKind::kLabel, "feedback", 0.7},
    {"modality", RowKind::kLabel, "modality"},
    {"nli", RowKind::kPairLabel, "nli"},
    {"tag", RowKind::kSpans, ""},
    {"pii", RowKind::kSpans, "pii"},
    {"embedding", RowKind::kScore, "minilm"},
    {"hallucination", RowKind::kAnswer, ""},
};

}  // namespace

std::span<const EvalTask> eval_tasks() {
  return kTasks;
}

const EvalTask* eval_task(std::string_view name) {
  const auto at = std::ranges::find(kTasks, name, &EvalTask::name);
  return at == std::end(kTasks) ? nullptr : at;
}

}  // namespace signalbox::tools
