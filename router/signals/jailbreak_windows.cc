// Labels are compared without case and with one separator between words, because models for the
// same task differ in both. If the model has none of them, their meaning is compared.

#include "router/signals/jailbreak_windows.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/ascii.h"
#include "base/utf8.h"
#include "router/models/stand_ins.h"
#include "router/signals/language.h"
#include "router/text/hidden.h"
#include "router/text/normalize.h"

namespace signalbox::signals {
namespace {

constexpr std::string_view kInjection = "injection";  // the head, and its label

// Returns false for an emoji, "======" and "sudo". They hold no instruction, but a model that was
// trained on sentences takes them for attacks. A letter of another script has more bytes, and often
// more meaning.
bool has_words(std::string_view window) {
  constexpr size_t kLetterBytesMin = 8;
  size_t letters = 0;
  for (size_t at = 0; at < window.size() && letters < kLetterBytesMin;) {
    const utf8::Decoded here = utf8::decode(window, at);
    if (text::is_letter(here.code_point)) letters += here.bytes;
    at += here.bytes;
  }
  return letters >= kLetterBytesMin;
}

// Returns a head's probability for a window, which is lowered if the head is likely not to support
// its language.
double weighed(double probability, std::string_view window, std::span<const std::string> supported,
               double unsupported_odds) {
  if (unsupported_odds == 1 || !is_likely_unsupported(window, supported)) return probability;
  const double odds = probability * unsupported_odds;
  return odds / (odds + (1 - probability));
}

}  // namespace

std::vector<size_t> find_jailbreak_labels(const config::ClassifierModel& guard,
                                          std::span<const std::string> labels) {
  const auto find = [&](const auto& name_of) {
    std::vector<std::string> positive{"jailbreak"};
    if (!guard.positive_labels.empty()) positive.clear();
    for (const std::string& label : guard.positive_labels) positive.push_back(name_of(label));
    std::vector<size_t> out;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (std::ranges::find(positive, name_of(labels[i])) != positive.end()) out.push_back(i);
    }
    return out;
  };
  std::vector<size_t> exact =
      find([](const std::string& label) { return ascii::snake_case(label); });
  return exact.empty() ? find([](const std::string& label) { return models::plain_label(label); })
                       : exact;
}

std::vector<size_t> find_unsafe_labels(std::span<const std::string> labels) {
  const auto found = std::ranges::find_if(
      labels, [](const std::string& label) { return ascii::iequals(label, "unsafe"); });
  if (found == labels.end()) return {};
  return {static_cast<size_t>(found - labels.begin())};
}

Guard make_guard(const engine::TextModel& model, size_t head, std::vector<size_t> positive) {
  Guard out{.head = head, .positive = std::move(positive)};
  const auto& heads = model.heads();
  out.languages = out.document_languages = heads[head].languages;
  out.unsupported_odds = std::exp(heads[head].unsupported_shift);
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].adapter != heads[head].adapter) continue;
    if (heads[i].clears_below > 0) out.screen = i;
    if (heads[i].name != kInjection) continue;
    const auto label = std::ranges::find(heads[i].labels, kInjection);
    if (label == heads[i].labels.end()) continue;
    out.document_head = i;
    out.document_languages = heads[i].languages;
    out.document_unsupported_odds = std::exp(heads[i].unsupported_shift);
    out.injection = static_cast<size_t>(label - heads[i].labels.begin());
  }
  if (!out.screen) return out;
  const engine::HeadInfo& screen = heads[*out.screen];
  const auto comes_after = [&](size_t other) { return heads[other].layers > screen.layers; };
  if (comes_after(head) && comes_after(out.document_head.value_or(head))) {
    out.clears_below = screen.clears_below;
  } else {
    out.screen.reset();
  }
  return out;
}

bool uses_screen(const Guard& guard, size_t windows, double threshold) {
  return guard.screen && windows > kReadInFull && guard.clears_below <= threshold;
}

bool is_cleared(const Guard& guard, std::span<const engine::Answer> heads) {
  return guard.screen && heads[guard.head].scores.empty();
}

Attack find_attack(const Guard& guard, std::span<const engine::Answer> heads,
                   std::string_view window, TextKind kind) {
  if (is_cleared(guard, heads)) return {heads[*guard.screen].scores[1]};
  if (!has_words(window)) return {};
  const std::vector<float>& scores = heads[guard.head].scores;
  Attack out;
  float best = -1;
  for (const size_t label : guard.positive) {
    out.probability += scores[label];
    if (scores[label] <= best) continue;
    best = scores[label];
    if (!guard.labels.empty()) out.label = guard.labels[label];
  }
  out.probability = weighed(out.probability, window, guard.languages, guard.unsupported_odds);
  if (kind == TextKind::kPrompt || !guard.document_head) return out;
  const double injection = weighed(heads[*guard.document_head].scores[guard.injection], window,
                                   guard.document_languages, guard.document_unsupported_odds);
  return injection > out.probability ? Attack{injection, kInjection} : out;
}

double attack_probability(const Guard& guard, std::span<const engine::Answer> heads,
                          std::string_view window, TextKind kind) {
  return find_attack(guard, heads, window, kind).probability;
}

std::string_view unsupported_language(const Guard& guard, std::string_view window, TextKind kind) {
  const auto supported = kind == TextKind::kDocument ? guard.document_languages : guard.languages;
  return supported.empty() ? std::string_view{} : unsupported_language(window, supported);
}

std::string_view GuardedTexts::without_encoded(std::string_view text,
                                               std::span<const text::HiddenText> hidden) {
  std::vector<std::pair<size_t, size_t>> encoded;  // begin and end
  for (const text::HiddenText& each : hidden) {
    if (each.is_complete) encoded.emplace_back(each.begin, each.end);
  }
  if (encoded.empty()) return text;
  std::ranges::sort(encoded);
  std::string left;
  size_t at = 0;
  for (const auto& [begin, end] : encoded) {
    if (begin > at) left += text.substr(at, begin - at);
    at = std::max(at, end);
  }
  left += text.substr(at);
  return hidden_.emplace_back(std::move(left));
}

GuardedTexts::GuardedTexts(std::span<const std::string_view> texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<text::HiddenText> found = text::hidden_texts(texts[i]);
    all_.push_back(without_encoded(texts[i], found));
    source_.push_back(i);
    for (text::HiddenText& hidden : found) {
      all_.emplace_back(hidden_.emplace_back(std::move(hidden.text)));
      source_.push_back(i);
    }
  }
}

}  // namespace signalbox::signals
