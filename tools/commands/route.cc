// `signalbox route`: shows how requests would be routed, without calling an upstream server.

#include <cstdio>
#include <cxxopts.hpp>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/decision_headers.h"
#include "router/routing/plan_calls.h"
#include "router/routing/router.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

struct Choices {
  bool all = false;      // compute every signal
  bool explain = false;  // text for people instead of JSON
};

Result<std::unique_ptr<const routing::Router>> open_router(
    const std::string& path, std::optional<config::MissingModels> missing) {
  SIGNALBOX_TRY(config::Loaded loaded, config::load(path));
  for (const std::string& notice : loaded.notices) std::fprintf(stderr, "%s\n", notice.c_str());
  SIGNALBOX_TRY(models::Models models,
                models::open_models(loaded.config,
                                    models::MissingModels::of(
                                        missing.value_or(loaded.config.missing_models), false),
                                    models::open_directly(loaded.config.http)));
  auto router = routing::Router::create(std::move(loaded.config), std::move(models));
  if (!router) return router;
  for (const std::string& notice : (*router)->notices())
    std::fprintf(stderr, "%s\n", notice.c_str());
  return router;
}

// A row is a chat request, or {"text"}, which stands for a request with this single message.
Result<request::ChatRequest> request_of(const json::Value& row) {
  if (row.find("messages")) return request::ChatRequest::parse(std::string(row.raw()));
  if (!row.find("text")) {
    return fail(Code::kInvalid,
                "expected an object with text, or with model and messages as in a chat request");
  }
  SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  return request::ChatRequest::parse(out.end_array().end_object().take());
}

// A row may contain the headers of its request: {"headers": {"x-authz-user-id": "ada"}}. Only rows
// of this command have this member; in a forwarded request it is passed on like any other member.
signals::HeaderLookup headers_of(const json::Value& row) {
  return [row](std::string_view name) -> std::optional<std::string_view> {
    const auto headers = row.find("headers");
    const auto value = headers ? headers->find(name) : std::nullopt;
    if (!value || !value->is_string()) return std::nullopt;
    return value->text();
  };
}

void write_plan(const routing::Plan& plan, const config::Looper& looper, json::Writer& out) {
  out.key("decision");
  plan.decision.empty() ? out.null() : out.string(plan.decision);
  if (!plan.recipe.empty()) out.member("recipe", plan.recipe);
  out.key("model");
  plan.model != nullptr ? out.string(plan.model->name) : out.null();
  out.key("reasoning");
  plan.reasoning ? out.boolean(*plan.reasoning) : out.null();
  if (!plan.reasoning_effort.empty()) out.member("reasoning_effort", plan.reasoning_effort);
  out.member("confidence", plan.confidence);
  if (!plan.algorithm.empty()) out.member("algorithm", plan.algorithm);
  if (!plan.selection_method.empty()) {
    out.key("selection").begin_object().member("method", plan.selection_method);
    out.member("reason", plan.selection_reason).end_object();
  }
  routing::write_left_out(plan, out);
  routing::write_calls(plan, looper, out);
  out.key("headers").begin_object();
  for (const routing::Header& header : routing::response_headers(plan, true)) {
    out.member(header.name, header.value);
  }
  out.end_object().key("body");
  plan.path == routing::Plan::Path::kUpstream ? out.raw(plan.body) : out.null();
  if (plan.path == routing::Plan::Path::kFastResponse) out.member("answer", plan.message);
  using Path = routing::Plan::Path;
  if (plan.path == Path::kBlocked || plan.path == Path::kUnable)
    out.member("refused", plan.message);
}

void write_error(const Error& error, json::Writer& out) {
  out.key("error").begin_object().member("code", code_name(error.code));
  out.member("message", error.message).end_object();
}

std::string explanation_text(const routing::Evaluation& evaluation,
                             const Result<routing::Plan>& plan, const config::Looper& looper) {
  const std::string words = plan ? routing::plan_words(*plan) + routing::calls_words(*plan, looper)
                                 : plan.error().message;
  return fmt::format("{}\n{}\n", evaluation.explain_words(), words);
}

std::string json_of(const routing::Evaluation& evaluation, const Result<routing::Plan>& plan,
                    const config::Looper& looper) {
  json::Writer out;
  out.begin_object();
  if (plan) {
    write_plan(*plan, looper, out);
  } else {
    write_error(plan.error(), out);
  }
  std::string row = out.end_object().take();
  row.back() = ',';
  return row.append(evaluation.explain_json(), 1);  // appends the members and the closing brace
}

Result<std::string> route(const routing::Router& router, const Choices& choices,
                          const json::Value& row) {
  SIGNALBOX_TRY(const request::ChatRequest request, request_of(row));
  routing::Evaluation evaluation = router.evaluate(request, headers_of(row));
  if (choices.all) {
    SIGNALBOX_TRY_VOID(evaluation.run_all());
  } else if (!evaluation.refuse_stranger() && !evaluation.run_cheap()) {
    SIGNALBOX_TRY_VOID(evaluation.run_needed());
  }
  const Result<routing::Plan> plan = evaluation.plan();
  const config::Looper& looper = router.config().looper;
  return choices.explain ? explanation_text(evaluation, plan, looper)
                         : json_of(evaluation, plan, looper);
}

int route_all(const std::string& path, std::optional<config::MissingModels> missing,
              const Choices& choices) {
  const auto router = open_router(path, missing);
  if (!router) return report(router.error());
  const auto done =
      for_each_row([&](const json::Value& row) { return route(**router, choices, row); });
  return done ? kExitOk : report(done.error());
}

int route_command(int argc, char** argv) {
  cxxopts::Options options("signalbox route",
                           "Reads lines {\"text\": ...} or whole chat requests from standard "
                           "input. For each, writes the decision, the model, the signals and the "
                           "body that would be sent.");
  options.add_options()("config", "configuration file", cxxopts::value<std::string>(), "FILE")(
      "all", "compute every signal, whether needed or not")(
      "explain", "write text for people instead of JSON");
  add_missing_models(options);
  return with_options(options, argc, argv, {"config"}, [](const cxxopts::ParseResult& parsed) {
    const auto missing = missing_models(parsed);
    if (!missing) {
      std::fprintf(stderr, "signalbox route: %s\n", missing.error().message.c_str());
      return kExitUsage;
    }
    return route_all(parsed["config"].as<std::string>(), *missing,
                     {.all = parsed.count("all") > 0, .explain = parsed.count("explain") > 0});
  });
}

}  // namespace

const Command kRouteCommand = {"route", "shows how requests would be routed, and why",
                               route_command};

}  // namespace signalbox::tools
