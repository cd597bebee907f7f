// Intent, fact-check, feedback, inference between two texts, and the routes of all classifications.

#include "router/admin/classify.h"

#include "base/ascii.h"
#include "router/request/chat_request.h"

namespace signalbox::admin {
namespace {

using serving::ServingState;

std::string chat_of(const serving::ServingState& state, std::string_view text,
                    std::string_view messages) {
  json::Writer out;
  begin_chat(out, state, "", text, messages);
  return out.end_object().take();
}

/// The result of routing a request.
struct Routed {
  std::string decision;
  std::string category;
  double confidence = 0;
  std::string model;
  std::vector<routing::Plan::Matched> matched;
  std::string error;  // of a signal or of the plan; the other members stay valid
};

OrFailure<Routed> route(const serving::ServingState& state, std::string_view text,
                        std::string_view messages, bool every_signal) {
  auto chat = request::ChatRequest::parse(chat_of(state, text, messages));
  if (!chat) return tl::unexpected<access::Failure>(access::failure_of(chat.error()));
  routing::Evaluation evaluation = state.router->evaluate(*chat);
  Routed routed;
  const bool fixed = evaluation.run_cheap();
  if (every_signal || !fixed) {
    const auto done = every_signal ? evaluation.run_all() : evaluation.run_needed();
    if (!done) routed.error = done.error().message;
  }
  if (const config::Decision* decision = evaluation.decision()) routed.decision = decision->name;
  routed.matched = evaluation.matched();
  if (auto plan = evaluation.plan()) {
    routed.category = plan->category;
    routed.confidence = plan->confidence;
    if (plan->model != nullptr) routed.model = plan->model->name;
  } else {
    routed.error = plan.error().message;
  }
  if (routed.category.empty()) routed.category = routed.decision;
  return routed;
}

void write_routed(json::Writer& out, const Routed& routed) {
  if (!routed.model.empty()) out.member("recommended_model", routed.model);
  if (!routed.decision.empty()) out.member("routing_decision", routed.decision);
  out.key("matched_signals").begin_object();
  for (const routing::Plan::Matched& type : routed.matched) {
    out.key(plural(type.type)).begin_array();
    for (const std::string& name : type.names) out.string(name);
    out.end_array();
  }
  out.end_object();
  if (!routed.decision.empty()) {
    out.key("decision_result").begin_object().member("decision_name", routed.decision);
    out.member("confidence", routed.confidence).key("matched_rules").begin_array();
    for (const routing::Plan::Matched& type : routed.matched) {
      for (const std::string& name : type.names) out.string(fmt::format("{}:{}", type.type, name));
    }
    out.end_array().end_object();
  }
  if (!routed.error.empty())
    out.key("signal_errors").begin_array().string(routed.error).end_array();
}

OrFailure<std::string> intent(const http::Request& request, const serving::ServingState& state) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const json::Value options, options_of(root));
  IntentOptions wanted;
  SIGNALBOX_OR_FAIL(wanted.probabilities, flag_member(options, "return_probabilities"));
  SIGNALBOX_OR_FAIL(wanted.every_signal, flag_member(options, "evaluate_all_signals"));
  SIGNALBOX_OR_FAIL(wanted.threshold, share_member(options, "confidence_threshold", 0));
  if (const auto messages = root.find("messages"); messages && !messages->is_null()) {
    if (!messages->is_array()) return invalid("messages: expected an array");
    return intent_of(state, "", messages->raw(), wanted);
  }
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(root, "text"));
  return intent_of(state, text, "", wanted);
}

/// The class of one text by one sequence classifier.
struct TextClass {
  Classifier classifier;
  Classes classes;
  std::string_view label() const { return classifier.head.labels[classes.best]; }
  float score() const { return classes.scores[classes.best]; }
};

OrFailure<TextClass> classify_one(const http::Request& request, const serving::ServingState& state,
                                  std::string_view type) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(document.root(), "text"));
  TextClass one;
  SIGNALBOX_OR_FAIL(one.classifier, find_classifier(state, type));
  SIGNALBOX_OR_FAIL(auto all, classify_texts(state, one.classifier, {&text, 1}));
  one.classes = std::move(all.front());
  return one;
}

OrFailure<std::string> fact_check(const http::Request& request,
                                  const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const TextClass one, classify_one(request, state, "fact_check"));
  const std::string label = ascii::snake_case(one.label());
  const bool needed = label == "fact_check_needed" || label == "needs_fact_check";
  json::Writer out;
  out.begin_object().member("needs_fact_check", needed && one.score() >= one.classifier.threshold);
  out.member("label", one.label()).member("confidence", one.score());
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

OrFailure<std::string> feedback(const http::Request& request, const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const TextClass one, classify_one(request, state, "user_feedback"));
  const std::string label = ascii::snake_case(one.label());
  json::Writer out;
  out.begin_object().member("feedback_type", label == "sat" ? "satisfied" : label);
  out.member("label", one.label()).member("confidence", one.score());
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

OrFailure<std::string> nli(const http::Request& request, const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  SIGNALBOX_OR_FAIL(const std::string_view premise, text_member(document.root(), "premise"));
  SIGNALBOX_OR_FAIL(const std::string_view hypothesis, text_member(document.root(), "hypothesis"));
  SIGNALBOX_OR_FAIL(const Classifier classifier, find_classifier(state, "nli"));
  const engine::Input input{.text = premise, .pair = hypothesis};
  SIGNALBOX_OR_FAIL(const auto all, classify(classifier, {&input, 1}));
  const Classes& classes = all.front();
  json::Writer out;
  out.begin_object().member("label", ascii::snake_case(classifier.head.labels[classes.best]));
  out.member("confidence", classes.scores[classes.best]);
  constexpr std::pair<std::string_view, const char*> kMembers[] = {
      {"entail", "entailment_prob"},
      {"neutral", "neutral_prob"},
      {"contradict", "contradiction_prob"},
  };
  for (const auto& [stem, name] : kMembers) {
    for (size_t i = 0; i < classes.scores.size(); ++i) {
      const std::string label = ascii::snake_case(classifier.head.labels[i]);
      if (label.starts_with(stem)) out.member(name, classes.scores[i]);
    }
  }
  // The two texts belong together, so they are not split into windows.
  out.member("truncated", classifier.model->is_cut(input).value_or(false));
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

AdminHandler classify_handler(OrFailure<std::string> (*handler)(const http::Request&,
                                                                const serving::ServingState&)) {
  return [handler](const http::Request& request, const serving::ServingState& state) {
    return answer_of(handler(request, state));
  };
}

}  // namespace

void begin_chat(json::Writer& out, const serving::ServingState& state, std::string_view model,
                std::string_view text, std::string_view messages) {
  const auto& names = state.config().auto_model_names;
  if (model.empty()) model = names.empty() ? std::string_view("auto") : names.front();
  out.begin_object().member("model", model).key("messages");
  if (!messages.empty()) {
    out.raw(messages);
  } else {
    out.begin_array().begin_object().member("role", "user").member("content", text);
    out.end_object().end_array();
  }
}

AdminReply answer_of(const OrFailure<std::string>& outcome) {
  return outcome ? AdminReply{200, *outcome} : AdminReply::of(outcome.error());
}

OrFailure<std::string> intent_of(const serving::ServingState& state, std::string_view text,
                                 std::string_view messages, const IntentOptions& options) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const Routed routed, route(state, text, messages, options.every_signal));
  std::string user_text(text);
  if (user_text.empty()) {
    const auto chat = request::ChatRequest::parse(chat_of(state, text, messages));
    user_text = std::string(chat->user_text());
    if (user_text.empty()) return invalid("messages: expected a user message with text");
  }
  json::Writer out;
  out.begin_object().key("classification").begin_object();
  const auto classifier = find_classifier(state, "domain");
  if (classifier) {
    const std::string_view whole_text = user_text;
    SIGNALBOX_OR_FAIL(const auto all, classify_texts(state, *classifier, {&whole_text, 1}));
    const Classes& classes = all.front();
    const float best = classes.scores[classes.best];
    const double threshold = options.threshold > 0 ? options.threshold : classifier->threshold;
    const std::string& fallback = state.config().modules.classifier.domain.fallback_category;
    const bool sure = best >= threshold;
    out.member("category", sure               ? classifier->head.labels[classes.best]
                           : fallback.empty() ? std::string("other")
                                              : fallback);
    out.member("confidence", best).member("source", "classifier");
    out.member("processing_time_ms", watch.ms()).end_object();
    if (options.probabilities) write_probabilities(out, *classifier, classes);
  } else if (state.config().routing.decisions.empty()) {
    return tl::unexpected<access::Failure>(classifier.error());
  } else {
    out.member("category", routed.category.empty() ? "other" : routed.category);
    out.member("confidence", routed.confidence);
    out.member("source", "routing").member("processing_time_ms", watch.ms()).end_object();
  }
  write_routed(out, routed);
  return out.end_object().take();
}

std::vector<http::Route> classify_routes(const serving::CurrentState& current,
                                         http::ThreadPool& pool) {
  std::vector<http::Route> routes;
  const auto add = [&](std::string_view path, AdminHandler run) {
    routes.push_back(management_route("POST", fmt::format("/api/v1/{}", path), access::kClassify,
                                      current, pool, std::move(run)));
  };
  add("classify/intent", classify_handler(intent));
  add("classify/fact-check", classify_handler(fact_check));
  add("classify/user-feedback", classify_handler(feedback));
  add("classify/pii", answer_pii);
  add("classify/security", answer_security);
  add("classify/combined", answer_combined);
  add("classify/batch", answer_batch);
  add("nli", classify_handler(nli));
  return routes;
}

}  // namespace signalbox::admin
