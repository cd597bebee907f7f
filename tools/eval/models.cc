// Opens both models and checks their labels before running either.

#include "tools/eval/models.h"

#include <algorithm>

#include "base/json_writer.h"
#include "engine/model_path.h"
#include "router/safety/grounding/grounding.h"
#include "tokenizer/tokenizer.h"
#include "tools/eval/compare.h"
#include "tools/eval/report.h"
#include "tools/grounding_model.h"
#include "tools/pii_with_rules.h"
#include "tools/unreachable_spans.h"

namespace signalbox::tools {
namespace {

std::string_view dtype_name(engine::Precision precision) {
  return precision == engine::Precision::kF32    ? "f32"
         : precision == engine::Precision::kBF16 ? "bf16"
                                                 : "int8";
}

Result<Subject> subject_of(const ModelChoice& choice, const engine::TextModel& model,
                           RowKind kind) {
  Subject out{.model = &model,
              .name = choice.model,
              .dtype = std::string(dtype_name(choice.options.precision))};
  for (const auto& head : choice.options.heads) out.name += fmt::format(" + {}", head.string());
  if (!choice.options.adapter.empty())
    out.name += fmt::format(" + {}", choice.options.adapter.string());
  if (kind == RowKind::kScore) return out;
  const auto wanted =
      kind == RowKind::kSpans ? engine::HeadKind::kTokens : engine::HeadKind::kSequence;
  SIGNALBOX_TRY(out.head, chosen_head(choice, model, wanted));
  return out;
}

// Selects the task's own positive label if the model has it and the request names none.
void choose_positive(const Subject& subject, const EvalTask& task, EvalOptions& options) {
  if (!options.positive.empty() || task.positive.empty()) return;
  const auto& labels = subject.model->heads()[subject.head].labels;
  for (const std::string_view each : task.positive) {
    if (std::ranges::find(labels, each) == labels.end()) continue;
    options.positive = {std::string(each)};
    return;
  }
}

std::vector<engine::Entity> joined_with_rules(std::string_view text,
                                              const std::vector<engine::Entity>& marked) {
  std::vector<engine::Entity> out;
  for (const pii::PiiEntity& each : with_rules(text, marked)) {
    out.push_back({each.type, static_cast<uint32_t>(each.begin), static_cast<uint32_t>(each.end),
                   static_cast<float>(each.score)});
  }
  return out;
}

// Does what `signalbox check-answer` does, with the models of the request.
Result<Evaluated> evaluate_grounding(const EvalRequest& request, const LabelledRows& rows) {
  grounding::Models models;
  SIGNALBOX_TRY(models.hallucination,
                open_grounding_model(request.hallucination, engine::HeadKind::kTokens));
  SIGNALBOX_TRY(models.inference,
                open_grounding_model(request.inference, engine::HeadKind::kSequence));
  SIGNALBOX_TRY(const auto checker, grounding::Checker::create({}, models));
  const CheckAnswer check = [&](const std::string& context, const std::string& question,
                                const std::string& answer) -> Result<CheckedAnswer> {
    SIGNALBOX_TRY(const auto found, checker.check(context, question, answer));
    CheckedAnswer out{.supported = found.supported};
    for (const grounding::Span& span : found.spans) {
      if (span.verdict != grounding::SpanVerdict::kUnchecked)
        out.spans.push_back({.type = {}, .begin = span.begin, .end = span.end});
    }
    return out;
  };
  std::string name = "rules";
  for (const ModelChoice* choice : {&request.hallucination, &request.inference})
    name += choice->model.empty() ? "" : " + " + choice->model;
  return evaluate_answers(name, check, rows, request.options);
}

// Called without rules only: spans that rules find need not match token boundaries.
Result<int64_t> count_unreachable_spans(const ModelChoice& choice, const LabelledRows& rows) {
  SIGNALBOX_TRY(const auto path, engine::find_model(model_directory(choice.model)));
  SIGNALBOX_TRY(const auto tokenizer, tokenizer::Tokenizer::open_directory(path.trunk));
  constexpr int32_t kEveryToken = 0;  // windows cover the whole text
  int64_t out = 0;
  for (const LabelledRow& row : rows.rows)
    out += count_unreachable_spans(*tokenizer, kEveryToken, row.text, row.spans);
  return out;
}

}  // namespace

Result<EvalOutcome> evaluate_models(EvalRequest request) {
  EvalOutcome out;
  if (request.rules) request.options.amend = joined_with_rules;
  SIGNALBOX_TRY(out.rows, read_labelled(request.rows));
  const RowKind kind = request.task->rows;
  if (kind == RowKind::kAnswer) {
    SIGNALBOX_TRY(Evaluated evaluated, evaluate_grounding(request, out.rows));
    out.evaluated.push_back(std::move(evaluated));
    out.request = std::move(request);
    return out;
  }
  std::vector<std::unique_ptr<const engine::TextModel>> opened;
  std::vector<Subject> subjects;
  for (const ModelChoice& choice : request.models) {
    SIGNALBOX_TRY(auto model, open_model(choice));
    opened.push_back(std::move(model));
    SIGNALBOX_TRY(const Subject subject, subject_of(choice, *opened.back(), kind));
    if (subjects.empty()) choose_positive(subject, *request.task, request.options);
    SIGNALBOX_TRY_VOID(check(subject, out.rows, kind, request.options));
    subjects.push_back(subject);
  }
  for (size_t i = 0; i < subjects.size(); ++i) {
    SIGNALBOX_TRY(Evaluated evaluated, evaluate(subjects[i], out.rows, kind, request.options));
    if (kind == RowKind::kSpans && !request.rules) {
      SIGNALBOX_TRY(evaluated.unreachable_spans,
                    count_unreachable_spans(request.models[i], out.rows));
    }
    out.evaluated.push_back(std::move(evaluated));
  }
  out.request = std::move(request);
  return out;
}

std::string to_json(const EvalOutcome& outcome) {
  json::Writer out;
  out.begin_object().member("task", outcome.request.task->name);
  out.member("seed", static_cast<int64_t>(outcome.request.options.seed));
  if (outcome.request.options.threshold)
    out.member("threshold", *outcome.request.options.threshold);
  write_json(outcome.evaluated[0], outcome.rows, out);
  if (outcome.evaluated.size() > 1) {
    out.key("compared").begin_object();
    write_json(outcome.evaluated[1], outcome.rows, out);
    out.end_object().key("difference").begin_object();
    write_json(compare(outcome.evaluated[0], outcome.evaluated[1]), outcome.rows, out);
    out.end_object();
  }
  return out.end_object().take() + "\n";
}

std::string to_tables(const EvalOutcome& outcome) {
  std::string out;
  for (const Evaluated& each : outcome.evaluated) {
    out += to_tables(each, outcome.rows);
    if (each.unreachable_spans > 0) out += unreachable_spans_note(each.unreachable_spans) + "\n";
    out += "\n";
  }
  if (outcome.evaluated.size() > 1)
    out += to_tables(compare(outcome.evaluated[0], outcome.evaluated[1]), outcome.rows);
  return out;
}

}  // namespace signalbox::tools
