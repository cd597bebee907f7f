// `signalbox check-answer`: reads contexts, questions and answers, and writes the parts of each
// answer that its context does not support.

#include <cmath>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "router/safety/grounding/grounding.h"
#include "tools/code_points.h"
#include "tools/command.h"
#include "tools/grounding_model.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

std::string to_json(std::string_view answer, const grounding::Report& report) {
  const auto before = code_points_before(answer);
  json::Writer out;
  out.begin_object().key("spans").begin_array();
  for (const grounding::Span& span : report.spans) {
    out.begin_object();
    out.key("start").integer(before[span.begin]).key("end").integer(before[span.end]);
    out.member("text", answer.substr(span.begin, span.end - span.begin));
    out.member("score", std::round(span.score * 1e6) / 1e6);
    out.member("verdict", grounding::verdict_name(span.verdict)).end_object();
  }
  // Rounded, so that 1 - 0.95 is written as 0.05.
  out.end_array().member("supported", std::round(report.supported * 1e6) / 1e6);
  out.key("layers").begin_array();
  if (report.facts) out.string("facts");
  if (report.tokens) out.string("hallucination");
  if (report.inference) out.string("nli");
  return out.end_array().end_object().take();
}

Result<std::string> check_row(const grounding::Checker& checker, const json::Value& row) {
  std::string_view context, question;
  if (row.find("context")) {
    SIGNALBOX_TRY(context, string_member(row, "context"));
  }
  if (const auto given = row.find("question"); given && !given->is_null()) {
    SIGNALBOX_TRY(question, string_member(row, "question"));
  }
  SIGNALBOX_TRY(const std::string_view answer, string_member(row, "answer"));
  SIGNALBOX_TRY(const auto report,
                checker.check(std::string(context), std::string(question), answer));
  return to_json(answer, report);
}

// Returns the model that an option ("--nli-model") names; empty if the option is absent.
ModelChoice choice_of(const cxxopts::ParseResult& parsed, const char* option,
                      const engine::OpenOptions& options) {
  ModelChoice out{.model = {}, .options = options, .option = option};
  const char* name = option + 2;
  if (parsed.count(name) > 0) out.model = parsed[name].as<std::string>();
  return out;
}

Result<void> check_answers(const cxxopts::ParseResult& parsed,
                           const engine::OpenOptions& open_options) {
  grounding::CheckOptions options;
  options.threshold = parsed["threshold"].as<Number>().value;
  grounding::Models models;
  SIGNALBOX_TRY(models.hallucination,
                open_grounding_model(choice_of(parsed, "--hallucination-model", open_options),
                                     engine::HeadKind::kTokens));
  SIGNALBOX_TRY(models.inference,
                open_grounding_model(choice_of(parsed, "--nli-model", open_options),
                                     engine::HeadKind::kSequence));
  SIGNALBOX_TRY(const auto checker, grounding::Checker::create(options, models));
  return for_each_row([&](const json::Value& row) { return check_row(checker, row); });
}

int check_answer_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox check-answer",
      "Reads lines {\"context\": ..., \"question\": ...?, \"answer\": ...}, and writes {\"spans\": "
      "[{\"start\", \"end\", \"text\", \"score\", \"verdict\"}], \"supported\": p, \"layers\": "
      "[...]}.\nOffsets count Unicode code points of the answer; the end is exclusive. Numbers, "
      "dates, units and names are checked without a model.");
  options.add_options()("hallucination-model",
                        "model that marks unsupported tokens of an answer: directory or name",
                        cxxopts::value<std::string>(), "DIR")(
      "nli-model", "inference (NLI) model that verifies the marked spans: directory or name",
      cxxopts::value<std::string>(), "DIR")("threshold", "omit spans with a lower score",
                                            cxxopts::value<Number>()->default_value("0.5"), "X");
  add_pass_options(options);
  return with_options(options, argc, argv, {}, [&](const cxxopts::ParseResult& parsed) {
    const auto open_options = pass_options(parsed);
    if (!open_options) {
      std::fprintf(stderr, "%s: %s\n", options.program().c_str(),
                   open_options.error().message.c_str());
      return kExitUsage;
    }
    const auto done = check_answers(parsed, *open_options);
    return done ? kExitOk : report(done.error());
  });
}

}  // namespace

const Command kCheckAnswerCommand = {
    "check-answer", "finds the parts of answers that their context does not support",
    check_answer_command};

}  // namespace signalbox::tools
