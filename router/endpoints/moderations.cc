// OpenAI's own categories are left out: no guard here looks for them, and false would claim that
// one did.

#include "router/endpoints/moderations.h"

#include <algorithm>

#include "router/access/owner.h"
#include "router/admin/classify.h"
#include "router/signals/pii_finder.h"

namespace signalbox::endpoints {
namespace {

using admin::OrFailure;
using serving::ServingState;

constexpr std::string_view kOwnModel = "guards";
constexpr size_t kInputsMax = 256;

struct Category {
  std::string_view name;
  double score = 0;
  bool flagged = false;
};

OrFailure<void> check_model(const json::Value& root) {
  const auto model = root.find("model");
  if (!model || model->is_null()) return {};
  if (!model->is_string()) return admin::invalid("model: expected a string");
  const std::string_view name = model->text();
  if (name.empty() || name == "auto" || name == kOwnModel) return {};
  return tl::unexpected<access::Failure>(access::Failure{
      404, "MODEL_NOT_FOUND",
      fmt::format("the model {} does not exist (known: auto, {}, and the configured "
                  "models)",
                  json::quote_briefly(name), kOwnModel)});
}

/// Each input is judged alone. An array of parts is one input.
OrFailure<std::vector<std::string>> inputs_of(const json::Value& root) {
  const auto input = root.find("input");
  if (!input || !(input->is_string() || input->is_array()))
    return admin::invalid("input: expected a string or an array");
  std::vector<std::string> out;
  if (input->is_string()) out.emplace_back(input->text());
  std::string parts;
  bool has_parts = false;
  for (const json::Value item : input->items()) {
    if (out.size() == kInputsMax)
      return admin::invalid(fmt::format("input: at most {} texts are allowed", kInputsMax));
    if (item.is_string()) {
      out.emplace_back(item.text());
      continue;
    }
    const auto text = item.find("text");
    if (!text || !text->is_string())
      return admin::invalid("input: expected texts; no guard here reads images");
    parts.append(text->text()).append("\n");
    has_parts = true;
  }
  if (has_parts && !out.empty())
    return admin::invalid("input: expected strings or parts, found both");
  if (has_parts) out.push_back(std::move(parts));
  if (out.empty()) return admin::invalid("input: must not be empty");
  return out;
}

bool has_no_model(const access::Failure& failure) {
  return failure.code == "CLASSIFIER_NOT_CONFIGURED";
}

OrFailure<Category> jailbreak(const ServingState& state, std::string_view text) {
  SIGNALBOX_OR_FAIL(const admin::Risk risk,
                    admin::find_risk(state, text, signals::TextKind::kPrompt));
  return Category{"jailbreak", risk.score, risk.is_jailbreak};
}

/// Without a model the rules search alone.
OrFailure<Category> personal_data(const ServingState& state, std::string_view text) {
  auto found = admin::find_pii(state, text, {});
  if (!found && has_no_model(found.error())) {
    found = pii::find_pii_by_rules(text);
    std::erase_if(*found, [](const pii::PiiEntity& entity) {
      return entity.score < signals::PiiFinder::kDefaultThreshold;
    });
  }
  if (!found) return tl::unexpected<access::Failure>(std::move(found).error());
  Category out{.name = "pii", .flagged = !found->empty()};
  for (const pii::PiiEntity& entity : *found) out.score = std::max(out.score, entity.score);
  return out;
}

OrFailure<std::vector<Category>> judge_text(const ServingState& state, std::string_view text) {
  std::vector<Category> out;
  auto risk = jailbreak(state, text);
  if (risk) {
    out.push_back(*risk);
  } else if (!has_no_model(risk.error())) {
    return tl::unexpected<access::Failure>(std::move(risk).error());
  }
  SIGNALBOX_OR_FAIL(out.emplace_back(), personal_data(state, text));
  return out;
}

void write_result(json::Writer& out, const std::vector<Category>& categories) {
  out.begin_object();
  out.member("flagged", std::ranges::any_of(categories, &Category::flagged));
  out.key("categories").begin_object();
  for (const Category& each : categories) out.member(each.name, each.flagged);
  out.end_object().key("category_scores").begin_object();
  for (const Category& each : categories) out.member(each.name, static_cast<float>(each.score));
  out.end_object().key("category_applied_input_types").begin_object();
  for (const Category& each : categories)
    out.key(each.name).begin_array().string("text").end_array();
  out.end_object().end_object();
}

}  // namespace

OrFailure<std::string> moderate(const http::Request& request, const ServingState& state,
                                const engine::Patience& patience) {
  SIGNALBOX_OR_FAIL(const json::Document document, admin::read_body(request));
  const json::Value root = document.root();
  if (auto known = check_model(root); !known)
    return tl::unexpected<access::Failure>(std::move(known).error());
  SIGNALBOX_OR_FAIL(const std::vector<std::string> inputs, inputs_of(root));
  json::Writer out;
  out.begin_object().member("id", fmt::format("modr-{}", access::new_token()));
  out.member("model", kOwnModel).key("results").begin_array();
  for (const std::string& text : inputs) {
    if (patience.stop.stop_requested()) break;  // the client has gone
    SIGNALBOX_OR_FAIL(const auto categories, judge_text(state, text));
    write_result(out, categories);
  }
  return out.end_array().end_object().take();
}

}  // namespace signalbox::endpoints
