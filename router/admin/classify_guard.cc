// Personal data and attempts to override instructions. Long texts are read in windows, like in
// signals. A text that the windows cannot cover is refused, because a part of it would not be
// checked.

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "router/admin/classify.h"
#include "router/signals/jailbreak_windows.h"
#include "router/signals/long_text.h"
#include "router/signals/pii_finder.h"
#include "router/text/windows.h"

namespace signalbox::admin {
namespace {

using pii::PiiEntity;
using serving::ServingState;

// The first text is the request's; the others are hidden in it.
OrFailure<std::vector<std::string_view>> windows_of(const Classifier& classifier,
                                                    const std::vector<std::string_view>& texts) {
  const std::string_view text = texts.front();
  auto made = text::windows_of(texts, *classifier.model);
  if (!made) return tl::unexpected<access::Failure>(model_failure(made.error()));
  text::Windows windows = *std::move(made);
  if (!windows.whole) {
    return tl::unexpected<access::Failure>(
        access::Failure{413, "INPUT_TOO_LARGE",
                        fmt::format("text: {} bytes are more than {} windows of the model cover",
                                    text.size(), text::kWindowsMax)});
  }
  if (windows.pieces.empty()) windows.pieces.emplace_back(text);
  return std::move(windows.pieces);
}

bool is_wanted(const PiiOptions& options, std::string_view type) {
  return options.types.empty() ||
         std::any_of(options.types.begin(), options.types.end(),
                     [&](std::string_view each) { return ascii::upper_case(each) == type; });
}

// True if rules can check all requested types, so that no model is needed.
bool needs_no_model(const PiiOptions& options) {
  return !options.types.empty() &&
         std::all_of(options.types.begin(), options.types.end(), [](std::string_view each) {
           return pii::is_checked_pii(ascii::upper_case(each));
         });
}

/// Returns placeholders such as "[PERSON_0]": one per type and text, numbered within the type.
std::vector<std::string> placeholders(std::string_view text, const std::vector<PiiEntity>& all) {
  std::map<std::string_view, std::map<std::string_view, size_t>> seen;  // number by type and text
  std::vector<std::string> out;
  for (const PiiEntity& finding : all) {
    auto& numbers = seen[finding.type];
    const std::string_view value = text.substr(finding.begin, finding.end - finding.begin);
    const size_t number = numbers.try_emplace(value, numbers.size()).first->second;
    out.push_back(fmt::format("[{}_{}]", finding.type, number));
  }
  return out;
}

std::string masked(std::string_view text, const std::vector<PiiEntity>& all,
                   const std::vector<std::string>& names) {
  std::string out;
  size_t at = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    out.append(text.substr(at, all[i].begin - at)).append(names[i]);
    at = all[i].end;
  }
  return out.append(text.substr(at));
}

OrFailure<std::string> pii(const http::Request& request, const serving::ServingState& state) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(root, "text"));
  SIGNALBOX_OR_FAIL(const json::Value given, options_of(root));
  PiiOptions options;
  if (const auto types = given.find("entity_types");
      types && !types->is_null() && types->items().begin() != types->items().end()) {
    constexpr size_t kTypesMax = 1000;
    SIGNALBOX_OR_FAIL(options.types, texts_member(given, "entity_types", kTypesMax));
  }
  SIGNALBOX_OR_FAIL(options.threshold, share_member(given, "confidence_threshold", 0));
  SIGNALBOX_OR_FAIL(options.positions, flag_member(given, "return_positions"));
  SIGNALBOX_OR_FAIL(options.masks, flag_member(given, "mask_entities"));
  SIGNALBOX_OR_FAIL(options.reveals, flag_member(given, "reveal_entity_text"));
  return pii_of(state, text, options);
}

OrFailure<std::string> security(const http::Request& request, const serving::ServingState& state) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(root, "text"));
  SIGNALBOX_OR_FAIL(const json::Value options, options_of(root));
  SIGNALBOX_OR_FAIL(const bool reasoning, flag_member(options, "include_reasoning"));
  SIGNALBOX_OR_FAIL(const bool is_document, flag_member(options, "document"));
  return security_of(state, text,
                     is_document ? signals::TextKind::kDocument : signals::TextKind::kPrompt,
                     reasoning);
}

}  // namespace

OrFailure<std::vector<PiiEntity>> find_pii(const serving::ServingState& state,
                                           std::string_view text, const PiiOptions& options) {
  Classifier classifier;  // stays empty if rules suffice
  if (!needs_no_model(options)) {
    SIGNALBOX_OR_FAIL(classifier, find_classifier(state, "pii"));
    SIGNALBOX_OR_FAIL([[maybe_unused]] const auto windows, windows_of(classifier, {text}));
  }
  const signals::PiiFinder finder(classifier.head);
  double threshold = options.threshold;
  if (threshold <= 0) threshold = state.config().modules.classifier.pii.threshold;
  if (threshold <= 0) threshold = signals::PiiFinder::kDefaultThreshold;
  auto found =
      finder.entities({text}, [&](std::string_view window) -> Result<std::vector<engine::Entity>> {
        const engine::Input input{.text = window};
        SIGNALBOX_TRY(auto answers, classifier.model->answer_within({}, {&input, 1}));
        return std::move(answers[classifier.head.head].entities);
      });
  if (!found) return tl::unexpected<access::Failure>(model_failure(found.error()));
  std::vector<PiiEntity> all = std::move(found->in.front());
  std::erase_if(all, [&](const PiiEntity& entity) {
    return entity.score < threshold || !is_wanted(options, entity.type);
  });
  return all;
}

OrFailure<std::string> pii_of(const serving::ServingState& state, std::string_view text,
                              const PiiOptions& options) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const std::vector<PiiEntity> all, find_pii(state, text, options));
  const auto names = options.masks ? placeholders(text, all) : std::vector<std::string>();
  utf8::Points points(text);
  json::Writer out;
  out.begin_object().member("has_pii", !all.empty()).key("entities").begin_array();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string_view value = text.substr(all[i].begin, all[i].end - all[i].begin);
    out.begin_object().member("type", all[i].type);
    out.member("value", options.reveals ? value : "[DETECTED]")
        .member("confidence", static_cast<float>(all[i].score));
    out.member("source", pii::pii_source_name(all[i].source));
    if (options.positions) {
      out.member("start_position", static_cast<int64_t>(points.up_to(all[i].begin)));
      out.member("end_position", static_cast<int64_t>(points.up_to(all[i].end)));
    }
    if (options.masks) out.member("masked_value", names[i]);
    out.end_object();
  }
  out.end_array();
  if (options.masks && !all.empty()) out.member("masked_text", masked(text, all, names));
  out.member("security_recommendation", all.empty() ? "allow" : "block");
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

OrFailure<Risk> find_risk(const serving::ServingState& state, std::string_view text,
                          signals::TextKind kind) {
  SIGNALBOX_OR_FAIL(const Classifier classifier, find_classifier(state, "jailbreak"));
  const std::vector<size_t> counted =
      signals::find_jailbreak_labels(state.config().modules.prompt_guard, classifier.head.labels);
  if (counted.empty()) {
    return tl::unexpected<access::Failure>(
        access::Failure{503, "MODEL_NOT_AVAILABLE",
                        "the jailbreak classifier has none of "
                        "global.model_catalog.modules.prompt_guard.positive_labels"});
  }
  const signals::GuardedTexts texts({&text, 1});
  SIGNALBOX_OR_FAIL(const auto windows, windows_of(classifier, texts.all()));
  const size_t heads = classifier.model->heads().size(), head = classifier.head.head;
  const signals::Guard of = signals::make_guard(*classifier.model, head, counted);
  const bool screened = state.config().modules.prompt_guard.screen &&
                        signals::uses_screen(of, windows.size(), classifier.threshold);
  std::vector<engine::Input> inputs;
  for (const std::string_view window : windows)
    inputs.push_back({.text = window, .screened = screened});
  const auto answers = classifier.model->answer_within({}, inputs);
  if (!answers) return tl::unexpected<access::Failure>(model_failure(answers.error()));
  const signals::GuardScore guard = signals::guard_score(windows, *answers, of, kind);
  const std::vector<float>& scores = (*answers)[guard.window * heads + head].scores;
  // A window that the screen has cleared has no scores.
  const size_t best = *std::ranges::max_element(
      counted, {}, [&](size_t label) { return scores.empty() ? 0 : scores[label]; });
  Risk risk{.score = guard.score,
            .is_jailbreak = guard.score >= classifier.threshold,
            .label = classifier.head.labels[best]};
  for (size_t w = 0; !risk.is_jailbreak && risk.unsupported_language.empty() && w < windows.size();
       ++w)
    risk.unsupported_language = signals::unsupported_language(of, windows[w], kind);
  return risk;
}

OrFailure<std::string> security_of(const serving::ServingState& state, std::string_view text,
                                   signals::TextKind kind, bool with_reasoning) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const Risk risk, find_risk(state, text, kind));
  json::Writer out;
  const auto score = static_cast<float>(risk.score);
  out.begin_object().member("is_jailbreak", risk.is_jailbreak).member("risk_score", score);
  const auto found = [&](std::string_view key) {
    out.key(key).begin_array();
    if (risk.is_jailbreak) out.string(risk.label);
    out.end_array();
  };
  found("detection_types");
  out.member("confidence", risk.is_jailbreak ? score : 1 - score);
  out.member("recommendation", risk.is_jailbreak ? "block" : "allow");
  if (!risk.unsupported_language.empty())
    out.member("unsupported_language", risk.unsupported_language);
  if (with_reasoning) {
    out.member("reasoning",
               fmt::format("the class \"{}\" has probability {:.3f} in the part of the text "
                           "where it is highest",
                           risk.label, risk.score));
  }
  found("patterns_detected");
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

AdminReply answer_pii(const http::Request& request, const serving::ServingState& state) {
  return answer_of(pii(request, state));
}
AdminReply answer_security(const http::Request& request, const serving::ServingState& state) {
  return answer_of(security(request, state));
}

}  // namespace signalbox::admin
