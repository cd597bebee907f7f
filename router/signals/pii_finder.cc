// Labels may carry a tag for the position in a span (B-PERSON); the type is the part after the tag.
// Labels in words, which are not tagged, become a type in the form of those of the rules
// (PHONE_NUMBER).

#include "router/signals/pii_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "router/safety/pii/find.h"
#include "router/safety/pii/merge.h"
#include "router/text/hidden.h"
#include "router/text/windows.h"

namespace signalbox::signals {
namespace {

// A head that gives each label its own probability marks labels in words, such as "E-mail".
std::string type_of(std::string_view label, engine::Scores scores) {
  const bool tagged = scores != engine::Scores::kSigmoid && label.size() > 2 && label[1] == '-' &&
                      std::string_view("BIESLU").find(label[0]) != std::string_view::npos;
  std::string type = ascii::upper_case(label.substr(tagged ? 2 : 0));
  std::ranges::replace(type, ' ', '_');
  return type;
}

// Returns an entity for each encoded run that holds personal data, in text order. It covers the
// whole run, because no part of it can be masked.
std::vector<pii::PiiEntity> encoded_entities(std::string_view text) {
  std::vector<pii::PiiEntity> out;
  for (const text::HiddenText& hidden : text::encoded_texts(text)) {
    const auto inside = pii::find_pii_by_rules(hidden.text);
    if (inside.empty()) continue;
    pii::PiiEntity entity =
        *std::ranges::max_element(inside, {}, [](const auto& each) { return each.score; });
    entity.begin = hidden.begin;
    entity.end = hidden.end;
    out.push_back(std::move(entity));
  }
  std::ranges::stable_sort(out, {}, &pii::PiiEntity::begin);
  return out;
}

}  // namespace

std::vector<pii::PiiEntity> split_entities(std::string_view first, std::string_view second) {
  constexpr size_t kBytes = 256;
  constexpr std::string_view kSentenceEnds = ".!?";
  std::vector<pii::PiiEntity> out;
  if (first.empty() || kSentenceEnds.find(first.back()) != std::string_view::npos) return out;
  const size_t kept = std::min(first.size(), kBytes);
  for (const std::string_view between : {"\n", ""}) {
    const std::string joined =
        fmt::format("{}{}{}", first.substr(first.size() - kept), between, second.substr(0, kBytes));
    const size_t second_begin = kept + between.size();
    for (pii::PiiEntity& each : pii::find_pii_by_rules(joined)) {
      if (!pii::is_checked_pii(each.type) || each.type == "DOMAIN_NAME" || each.begin >= kept ||
          each.end <= second_begin)
        continue;
      each.begin += first.size() - kept;
      each.end -= second_begin;
      out.push_back(std::move(each));
    }
    if (!out.empty()) break;
  }
  return out;
}

PiiFinder::PiiFinder(ModelChoice classifier) : classifier_(std::move(classifier)) {
  for (const std::string_view type : pii::pii_rule_types()) types_.emplace_back(type);
  if (!has_model()) return;
  const engine::HeadInfo& head = classifier_.model->heads()[classifier_.head];
  for (size_t i = 0; i < classifier_.labels.size(); ++i) {
    const std::string type = type_of(classifier_.labels[i], head.scores);
    const auto known = std::find(types_.begin(), types_.end(), type);
    type_index_.emplace(type_of(head.labels[i], head.scores),
                        static_cast<size_t>(known - types_.begin()));
    if (known == types_.end()) types_.push_back(type);
  }
}

Result<std::vector<pii::PiiEntity>> PiiFinder::to_pii_entities(
    std::string_view text, std::string_view window, std::vector<engine::Entity> spans) const {
  const auto from = static_cast<size_t>(window.data() - text.data());
  const engine::Scores scores = classifier_.model->heads()[classifier_.head].scores;
  std::vector<pii::PiiEntity> out;
  for (const engine::Entity& entity : spans) {
    const auto type = type_index_.find(type_of(entity.type, scores));
    if (type == type_index_.end()) {
      return fail(Code::kCorrupt, "the model returned the label \"{}\", which it does not declare",
                  entity.type);
    }
    out.push_back({types_[type->second], from + entity.begin, from + entity.end,
                   static_cast<double>(entity.score), pii::PiiSource::kModel});
  }
  return out;
}

Result<PiiFound> PiiFinder::entities(const std::vector<std::string_view>& texts,
                                     const SpanFinder& find_spans) const {
  PiiFound found;
  std::vector<std::vector<pii::PiiEntity>> by_model(texts.size());
  if (has_model()) {
    SIGNALBOX_TRY(const text::Windows windows, text::windows_of(texts, *classifier_.model));
    found.whole = windows.whole;
    for (size_t w = 0; w < windows.pieces.size(); ++w) {
      const size_t in = windows.of[w];
      SIGNALBOX_TRY(auto spans, find_spans(windows.pieces[w]));
      SIGNALBOX_TRY(auto entities, to_pii_entities(texts[in], windows.pieces[w], std::move(spans)));
      std::move(entities.begin(), entities.end(), std::back_inserter(by_model[in]));
    }
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    found.in.push_back(pii::with_covering(pii::find_pii(texts[i], std::move(by_model[i])),
                                          encoded_entities(texts[i])));
  }
  return found;
}

Result<PiiFound> PiiFinder::entities(const std::vector<std::string_view>& texts,
                                     Inputs& inputs) const {
  return entities(texts, [&](std::string_view window) -> Result<std::vector<engine::Entity>> {
    SIGNALBOX_TRY(const auto answers, inputs.answers(*classifier_.model, window));
    return answers[classifier_.head].entities;
  });
}

Result<bool> PiiFinder::find(const std::vector<std::string_view>& texts, Inputs& inputs,
                             std::vector<double>& scores) const {
  SIGNALBOX_TRY(const PiiFound found, entities(texts, inputs));
  for (const std::vector<pii::PiiEntity>& in : found.in) raise(in, scores);
  for (size_t i = 1; i < texts.size(); ++i) raise(split_entities(texts[i], texts[i - 1]), scores);
  return found.whole;
}

void PiiFinder::find_by_rules(std::string_view text, std::vector<double>& scores) const {
  raise(pii::find_pii_by_rules(text), scores);
}

void PiiFinder::raise(const std::vector<pii::PiiEntity>& found, std::vector<double>& scores) const {
  for (const pii::PiiEntity& entity : found) {
    const auto type = std::find(types_.begin(), types_.end(), entity.type);
    double& score = scores[static_cast<size_t>(type - types_.begin())];
    score = std::max(score, entity.score);
  }
}

}  // namespace signalbox::signals
