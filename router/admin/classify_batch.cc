// Several classifications of one text, and one classification of several texts.

#include <algorithm>

#include "router/admin/classify.h"

namespace signalbox::admin {
namespace {

using serving::ServingState;

/// Texts per pass: more would hold more results in memory and gain no speed.
constexpr size_t kClassifiedAPass = 16;
/// Below this a classification counts as uncertain.
constexpr double kLowConfidence = 0.7;

void write_part(json::Writer& out, std::string_view key, const OrFailure<std::string>& part) {
  out.key(key).raw(part ? *part : access::failure_body(part.error()));
}

OrFailure<std::string> combined(const http::Request& request, const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(document.root(), "text"));
  const auto intent = intent_of(state, text, "", {});
  const auto pii = pii_of(state, text, {});
  const auto security = security_of(state, text, signals::TextKind::kPrompt, false);
  if (!intent && !pii && !security) return tl::unexpected<access::Failure>(intent.error());
  json::Writer out;
  out.begin_object();
  write_part(out, "intent", intent);
  write_part(out, "pii", pii);
  write_part(out, "security", security);
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

/// The result for one text of a batch.
struct TextResult {
  std::string category;
  double confidence = 0;
  double ms = 0;
  std::string probabilities;  // JSON, or ""
};

OrFailure<std::vector<TextResult>> intents(const serving::ServingState& state,
                                           std::span<const std::string_view> texts,
                                           bool probabilities) {
  SIGNALBOX_OR_FAIL(const Classifier classifier, find_classifier(state, "domain"));
  std::vector<TextResult> all;
  for (size_t begin = 0; begin < texts.size(); begin += kClassifiedAPass) {
    const Stopwatch watch;
    const auto some = texts.subspan(begin, std::min(kClassifiedAPass, texts.size() - begin));
    SIGNALBOX_OR_FAIL(const auto classes, classify_texts(state, classifier, some));
    for (const Classes& each : classes) {
      TextResult result{classifier.head.labels[each.best], each.scores[each.best],
                        watch.ms() / static_cast<double>(some.size()), ""};
      if (probabilities) {
        json::Writer out;
        out.begin_object();
        for (size_t i = 0; i < each.scores.size(); ++i)
          out.member(classifier.head.labels[i], each.scores[i]);
        result.probabilities = out.end_object().take();
      }
      all.push_back(std::move(result));
    }
  }
  return all;
}

OrFailure<std::vector<TextResult>> each_pii(const serving::ServingState& state,
                                            std::span<const std::string_view> texts) {
  std::vector<TextResult> all;
  for (const std::string_view text : texts) {
    const Stopwatch watch;
    SIGNALBOX_OR_FAIL(const auto found, find_pii(state, text, {}));
    TextResult result{"no_pii", 0, 0, ""};
    for (const pii::PiiEntity& finding : found) {
      if (finding.score <= result.confidence) continue;
      result.category = finding.type;
      result.confidence = finding.score;
    }
    result.ms = watch.ms();
    all.push_back(std::move(result));
  }
  return all;
}

OrFailure<std::vector<TextResult>> each_risk(const serving::ServingState& state,
                                             std::span<const std::string_view> texts) {
  std::vector<TextResult> all;
  for (const std::string_view text : texts) {
    const Stopwatch watch;
    SIGNALBOX_OR_FAIL(const Risk risk, find_risk(state, text, signals::TextKind::kPrompt));
    all.push_back({risk.is_jailbreak ? "jailbreak" : "safe",
                   risk.is_jailbreak ? risk.score : 1 - risk.score, watch.ms(), ""});
  }
  return all;
}

void write_results(json::Writer& out, std::string_view key,
                   const std::vector<TextResult>& results) {
  out.key(key).begin_array();
  for (const TextResult& result : results) {
    out.begin_object().member("category", result.category).member("confidence", result.confidence);
    out.member("processing_time_ms", result.ms);
    if (!result.probabilities.empty()) out.key("probabilities").raw(result.probabilities);
    out.end_object();
  }
  out.end_array();
}

void write_statistics(json::Writer& out, const std::vector<TextResult>& results) {
  std::map<std::string, int64_t> count;
  double sum = 0;
  int64_t low = 0;
  for (const TextResult& result : results) {
    ++count[result.category];
    sum += result.confidence;
    low += result.confidence < kLowConfidence ? 1 : 0;
  }
  out.key("statistics").begin_object().key("category_distribution").begin_object();
  for (const auto& [category, texts] : count) out.member(category, texts);
  out.end_object().member("avg_confidence", sum / static_cast<double>(results.size()));
  out.member("low_confidence_count", low).end_object();
}

OrFailure<std::string> batch(const http::Request& request, const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  const size_t texts_max = state.config().api.batch_classification.max_batch_size;
  SIGNALBOX_OR_FAIL(const auto texts, texts_member(root, "texts", texts_max));
  SIGNALBOX_OR_FAIL(const json::Value options, options_of(root));
  SIGNALBOX_OR_FAIL(const bool probabilities, flag_member(options, "return_probabilities"));
  std::string_view task = "intent";
  if (const auto type = root.find("task_type"); type && !type->is_null())
    task = type->is_string() ? type->text() : "?";

  json::Writer out;
  out.begin_object();
  if (task == "all") {
    SIGNALBOX_OR_FAIL(const auto intent, intents(state, texts, probabilities));
    SIGNALBOX_OR_FAIL(const auto pii, each_pii(state, texts));
    SIGNALBOX_OR_FAIL(const auto security, each_risk(state, texts));
    write_results(out, "intent_results", intent);
    write_results(out, "pii_results", pii);
    write_results(out, "security_results", security);
    out.member("total_texts", static_cast<int64_t>(texts.size()));
    return out.member("processing_time_ms", watch.ms()).end_object().take();
  }
  OrFailure<std::vector<TextResult>> results = tl::unexpected<access::Failure>(access::Failure{
      400, "INVALID_TASK_TYPE", "task_type: expected intent, pii, security or all"});
  if (task == "intent") results = intents(state, texts, probabilities);
  if (task == "pii") results = each_pii(state, texts);
  if (task == "security") results = each_risk(state, texts);
  if (!results) return tl::unexpected<access::Failure>(std::move(results).error());
  write_results(out, "results", *results);
  out.member("total_count", static_cast<int64_t>(texts.size()));
  out.member("processing_time_ms", watch.ms());
  write_statistics(out, *results);
  return out.end_object().take();
}

}  // namespace

AdminReply answer_combined(const http::Request& request, const serving::ServingState& state) {
  return answer_of(combined(request, state));
}
AdminReply answer_batch(const http::Request& request, const serving::ServingState& state) {
  return answer_of(batch(request, state));
}

}  // namespace signalbox::admin
