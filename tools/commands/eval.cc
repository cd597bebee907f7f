// `signalbox eval`: measures how well a configuration routes probes, or how well a model predicts
// labels.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cxxopts.hpp>
#include <span>

#include "base/file.h"
#include "router/config/load.h"
#include "tools/command.h"
#include "tools/eval/models.h"
#include "tools/eval/reliability.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/route_probes.h"

namespace signalbox::tools {
namespace {

using cxxopts::ParseResult;

int usage_error(const std::string& message) {
  print_line(fmt::format("signalbox eval: {}; see `signalbox eval --help`", message));
  return kExitUsage;
}

std::string text_option(const ParseResult& parsed, const char* name) {
  return parsed.count(name) != 0 ? parsed[name].as<std::string>() : std::string();
}

std::vector<std::string> list_option(const ParseResult& parsed, const char* name) {
  return parsed.count(name) != 0 ? parsed[name].as<std::vector<std::string>>()
                                 : std::vector<std::string>();
}

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns whether an option applies to the task (null: route).
bool applies(std::string_view option, const EvalTask* task) {
  constexpr std::string_view kEvery[] = {"task", "json"};
  constexpr std::string_view kRoute[] = {"config", "probes", "embedder", "missing-models"};
  constexpr std::string_view kLabels[] = {"positive", "false-positives", "label-field", "svg"};
  constexpr std::string_view kAnswers[] = {"map", "threshold"};
  if (is_in(kEvery, option)) return true;
  if (task == nullptr || is_in(kRoute, option)) return task == nullptr && is_in(kRoute, option);
  if (is_in(kLabels, option))
    return task->rows == RowKind::kLabel || task->rows == RowKind::kPairLabel;
  if (option == "rules") return task->rows == RowKind::kSpans;
  constexpr std::string_view kChecks[] = {"data",    "hallucination-model", "nli-model", "dtype",
                                          "threads", "threshold",           "seed"};
  if (task->rows == RowKind::kAnswer) return is_in(kChecks, option);
  if (option == "hallucination-model" || option == "nli-model") return false;
  return task->rows != RowKind::kScore || !is_in(kAnswers, option);
}

// Refuse unused options; ignoring them would give other figures than the user requested.
Result<void> check_options(const ParseResult& parsed, const EvalTask* task) {
  for (const auto& argument : parsed.arguments()) {
    if (argument.value().empty())
      return fail(Code::kInvalid, "--{}: expected a value, found none", argument.key());
    if (applies(argument.key(), task)) continue;
    return fail(Code::kInvalid, "--{}: cannot be used with --task {}", argument.key(),
                task != nullptr ? task->name : "route");
  }
  return {};
}

// --- a configuration ---

Result<ProbeReport> run_probes(const ParseResult& parsed,
                               std::optional<config::MissingModels> missing) {
  SIGNALBOX_TRY(config::Loaded loaded, config::load(text_option(parsed, "config")));
  if (const std::string embedder = text_option(parsed, "embedder"); !embedder.empty())
    loaded.config.embedding_model.path = model_directory(embedder).string();
  SIGNALBOX_TRY(models::Models models,
                models::open_models(loaded.config,
                                    models::MissingModels::of(
                                        missing.value_or(loaded.config.missing_models), false),
                                    models::open_directly(loaded.config.http)));
  const std::vector<std::string>& names = loaded.config.auto_model_names;
  const std::string model = names.empty() ? "auto" : names.front();
  SIGNALBOX_TRY(const auto router,
                routing::Router::create(std::move(loaded.config), std::move(models)));
  for (const std::string& notice : router->notices()) std::fprintf(stderr, "%s\n", notice.c_str());
  SIGNALBOX_TRY(const std::vector<Probe> probes, load_probes(text_option(parsed, "probes"), model));
  return run_probes(*router, probes);
}

int eval_route(const ParseResult& parsed) {
  if (const auto fit = check_options(parsed, nullptr); !fit)
    return usage_error(fit.error().message);
  for (const char* name : {"config", "probes"}) {
    if (parsed.count(name) == 0) return usage_error(fmt::format("--{} is missing", name));
  }
  const auto missing = missing_models(parsed);
  if (!missing) return usage_error(missing.error().message);
  const auto done = run_probes(parsed, *missing);
  if (!done) return report(done.error());
  const std::string text =
      parsed.count("json") != 0 ? probe_report_json(*done) + "\n" : probe_report_text(*done);
  std::fputs(text.c_str(), stdout);
  return done->failures.empty() ? kExitOk : kExitFailure;
}

// --- a model ---

Result<double> share_option(const ParseResult& parsed, const char* name) {
  const auto value = parsed[name].as<Number>().value;
  if (value >= 0 && value <= 1) return value;
  return fail(Code::kInvalid, "--{}: expected 0 to 1, found {}", name, value);
}

Result<RowOptions> row_options(const ParseResult& parsed, RowKind kind) {
  RowOptions out{.kind = kind,
                 .data = list_option(parsed, "data"),
                 .text_field = text_option(parsed, "text-field"),
                 .pair_field = text_option(parsed, "pair-field"),
                 .label_field = text_option(parsed, "label-field")};
  if (out.data.empty()) return fail(Code::kInvalid, "--data is missing");
  for (const std::string& rule : list_option(parsed, "map")) {
    const size_t equals = rule.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::kInvalid, "--map: expected OLD=NEW, found \"{}\"", rule);
    if (equals + 1 == rule.size() && kind == RowKind::kSpans)
      return fail(Code::kInvalid, "--map: NEW must not be empty for spans, found \"{}\"", rule);
    out.labels[rule.substr(0, equals)] = rule.substr(equals + 1);
  }
  return out;
}

Result<EvalOptions> eval_options(const ParseResult& parsed, const EvalTask& task) {
  EvalOptions out;
  out.positive = list_option(parsed, "positive");
  SIGNALBOX_TRY(out.false_positives, share_option(parsed, "false-positives"));
  if (task.threshold != 0) out.threshold = task.threshold;
  if (parsed.count("threshold") != 0) {
    SIGNALBOX_TRY(out.threshold, share_option(parsed, "threshold"));
  }
  out.seed = parsed["seed"].as<uint32_t>();
  if (::isatty(STDERR_FILENO) == 0) return out;
  out.progress = [](size_t done, size_t of) {
    if (done % 16 == 0 || done == of)
      std::fprintf(stderr, "\r%zu of %zu rows%s", done, of, done == of ? "\n" : "");
  };
  return out;
}

// Returns the model and, if requested, a second model to compare it with: another model, or the
// same one with other options.
Result<std::vector<ModelChoice>> models(const ParseResult& parsed, const EvalTask& task) {
  SIGNALBOX_TRY(ModelChoice first, model_choice(parsed));
  if (first.model.empty()) first.model = task.model;
  if (first.model.empty()) return fail(Code::kInvalid, "--model is missing");
  ModelChoice second = first;
  const std::string model = text_option(parsed, "compare");
  if (!model.empty()) {
    second.model = model;
    second.option = "--compare";
    second.options.heads.clear();
    second.options.adapter.clear();
  }
  const std::string dtype = text_option(parsed, "compare-dtype");
  if (!dtype.empty()) {
    SIGNALBOX_TRY(second.options.precision, parse_dtype(dtype, "--compare-dtype"));
  }
  const std::string head = text_option(parsed, "compare-head");
  if (!head.empty()) second.options.heads = {head};
  const std::string adapter = text_option(parsed, "compare-adapter");
  if (!adapter.empty()) second.options.adapter = adapter;
  if (model.empty() && dtype.empty() && head.empty() && adapter.empty())
    return std::vector<ModelChoice>{first};
  return std::vector<ModelChoice>{first, second};
}

Result<EvalRequest> read_request(const ParseResult& parsed) {
  EvalRequest out;
  const auto& task = parsed["task"].as<std::string>();
  out.task = eval_task(task);
  if (out.task == nullptr) {
    std::string known = "route";
    for (const EvalTask& each : eval_tasks()) known += fmt::format(", {}", each.name);
    return fail(Code::kInvalid, "--task: expected one of {}, found \"{}\"", known, task);
  }
  SIGNALBOX_TRY_VOID(check_options(parsed, out.task));
  SIGNALBOX_TRY(out.rows, row_options(parsed, out.task->rows));
  SIGNALBOX_TRY(out.options, eval_options(parsed, *out.task));
  if (out.task->rows == RowKind::kAnswer) {
    SIGNALBOX_TRY(out.hallucination, model_choice(parsed));
    out.inference = out.hallucination;
    out.hallucination.model = text_option(parsed, "hallucination-model");
    out.hallucination.option = "--hallucination-model";
    out.inference.model = text_option(parsed, "nli-model");
    out.inference.option = "--nli-model";
    return out;
  }
  SIGNALBOX_TRY(out.models, models(parsed, *out.task));
  out.rules = parsed.count("rules") != 0 ? parsed["rules"].as<bool>() : task == "pii";
  return out;
}

int eval_model(const ParseResult& parsed) {
  auto request = read_request(parsed);
  if (!request) return usage_error(request.error().message);
  const std::string svg = text_option(parsed, "svg");
  const auto outcome = evaluate_models(*std::move(request));
  if (!outcome) return report(outcome.error());
  if (parsed.count("json") != 0) {
    std::fputs(to_json(*outcome).c_str(), stdout);
  } else {
    print_tables(to_tables(*outcome));
  }
  if (svg.empty()) return kExitOk;
  const auto written = write_file(svg, reliability_svg(outcome->evaluated));
  return written ? kExitOk : report(written.error());
}

int eval_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox eval",
      "With --task route, evaluates every probe of a file, reports which pass and which conditions "
      "make the others fail, and exits with 1 if one fails. With any other task, measures a model "
      "on "
      "labelled lines: {\"text\", \"label\"} (classify, domain, jailbreak, fact-check, feedback, "
      "modality), {\"text\", \"pair\", \"label\"} (nli), {\"text\", \"entities\": [{\"type\", "
      "\"start\", \"end\"}]} (tag, pii), {\"text\", \"pair\", \"score\"} (embedding), "
      "{\"context\", "
      "\"question\", \"answer\", \"spans\": [{\"start\", \"end\"}]} (hallucination).");
  add_model_options(options);
  const auto text = cxxopts::value<std::string>();
  const auto list = cxxopts::value<std::vector<std::string>>();
  auto add = options.add_options();
  add("task", "the task to evaluate", cxxopts::value<std::string>()->default_value("route"),
      "TASK");
  add("config", "configuration file (route)", text, "FILE");
  add("probes", "YAML file of probes (route)", text, "FILE");
  add("embedder", "embedding model that replaces the configuration's (route)", text, "DIR");
  add_missing_models(options);
  add("data", "labelled lines; LABEL=FILE gives all lines that label; repeatable", list, "FILE");
  add("text-field", "name of the member with the text", text, "NAME");
  add("pair-field", "name of the member with the second text", text, "NAME");
  add("label-field", "name of the member with the label", text, "NAME");
  add("map",
      "map a label of the file to one of the model's; *: all other labels; empty NEW: leave rows "
      "out; repeatable",
      list, "OLD=NEW");
  add("positive", "label of the positive class, for two-class figures; repeatable", list, "LABEL");
  add("false-positives", "false positive rate at which recall is reported",
      cxxopts::value<Number>()->default_value("0.01"), "X");
  add("threshold", "lowest score at which an answer counts; default: the router's for the task",
      cxxopts::value<Number>(), "X");
  add("rules",
      "join a tagger's spans with personal data found by rules (default for pii; --rules=false "
      "turns it off)",
      cxxopts::value<bool>());
  add("seed", "seed of the resampling for intervals",
      cxxopts::value<uint32_t>()->default_value("1"), "N");
  add("compare", "compare with another model on the same lines", text, "DIR");
  add("compare-dtype", "compare with another number format", text, "TYPE");
  add("compare-head", "compare with another head", text, "DIR");
  add("compare-adapter", "compare with another adapter", text, "DIR");
  add("hallucination-model", "model that marks unsupported tokens of an answer (hallucination)",
      text, "DIR");
  add("nli-model", "inference (NLI) model (hallucination)", text, "DIR");
  add("svg", "write a reliability diagram (classifiers)", text, "FILE");
  add("json", "write JSON instead of tables");
  return with_options(options, argc, argv, {}, [](const ParseResult& parsed) {
    return parsed["task"].as<std::string>() == "route" ? eval_route(parsed) : eval_model(parsed);
  });
}

}  // namespace

const Command kEvalCommand = {
    "eval", "measures how well a configuration routes or a model predicts", eval_command};

}  // namespace signalbox::tools
