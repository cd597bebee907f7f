// A reply that is not of its form is an error, never a verdict: the signal's on_error decides then.

#include "router/models/remote_replies.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/ascii.h"
#include "base/json.h"
#include "router/config/signals.h"
#include "router/models/stand_ins.h"

namespace signalbox::models {
namespace {

constexpr size_t kVerdictBytesMax = 1 << 20;
constexpr size_t kScoresMax = 4096;
constexpr std::string_view kBlanks = " \t\r\n\"'`.*";

std::string_view trim(std::string_view text, std::string_view around) {
  const size_t begin = text.find_first_not_of(around);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(around) - begin + 1);
}

}  // namespace

std::string_view trimmed_label(std::string_view text) {
  return trim(text, kBlanks);
}

namespace {

Result<json::Document> parse_reply(std::string body) {
  auto document = json::Document::parse(std::move(body), {.bytes = kVerdictBytesMax});
  if (!document) return fail(Code::kUpstream, "the reply is not JSON");
  return document;
}

/// The member of that name if there is exactly one. Two contradict each other.
std::optional<json::Value> sole(const json::Value& of, std::string_view key) {
  return of.count(key) == 1 ? of.find(key) : std::nullopt;
}

/// The member "score".
Result<float> read_score(const json::Value& of) {
  const auto score = sole(of, "score");
  const auto number = score ? score->number() : Result<double>(fail(Code::kUpstream, ""));
  if (!number || !(*number >= 0 && *number <= 1))
    return fail(Code::kUpstream, "score: expected a number from 0 to 1");
  return static_cast<float>(*number);
}

/// Servers that take several texts put the list into another.
json::Value inner_list(json::Value list) {
  if (!list.is_array()) return list;
  for (const json::Value& inner : list.items()) return inner.is_array() ? inner : list;
  return list;
}

std::vector<float> with_rest(std::vector<float> scores) {
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0F);
  scores.push_back(std::max(0.0F, 1 - sum));
  return scores;
}

struct Content {
  std::string text;
  bool is_cut = false;  // it reached the greatest number of tokens
};

Result<Content> read_content(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  const auto choices = sole(document.root(), "choices");
  if (choices && choices->is_array()) {
    for (const json::Value& choice : choices->items()) {
      const auto message = sole(choice, "message");
      const auto content = message ? sole(*message, "content") : std::nullopt;
      const auto reason = choice.find("finish_reason");
      const bool is_cut = reason && reason->is_string() && reason->text() == "length";
      if (content && content->is_string()) return Content{std::string(content->text()), is_cut};
      break;
    }
  }
  return fail(Code::kUpstream, "choices[0].message.content: expected a text");
}

/// The part behind the thoughts. Only a beginning can be thoughts: the rest may quote the user.
std::string_view without_thoughts(std::string_view text) {
  constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const size_t end = text.starts_with(kBegin) ? text.find(kEnd) : std::string_view::npos;
  return end == std::string_view::npos ? text : text.substr(end + kEnd.size());
}

/// Returns the text behind a colon of the line, if its beginning ends in `name` without its case.
std::optional<std::string_view> behind(std::string_view line, std::string_view name) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view before = trimmed_label(line.substr(0, colon));
  if (before.size() < name.size() ||
      !ascii::iequals(before.substr(before.size() - name.size()), name))
    return std::nullopt;
  return trimmed_label(line.substr(colon + 1));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = trimmed_label(text.substr(0, end)); !line.empty())
      out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// nullopt: the word is not a verdict.
std::optional<bool> is_safe(std::string_view word) {
  if (ascii::iequals(word, "safe")) return true;
  if (ascii::iequals(word, "unsafe") || ascii::iequals(word, "controversial")) return false;
  return std::nullopt;
}

/// The lines that name categories, without those that name none.
std::vector<std::string_view> categories_of(std::span<const std::string_view> lines) {
  std::vector<std::string_view> out;
  for (std::string_view line : lines) {
    if (is_safe(line) || behind(line, "safety") || behind(line, "refusal")) continue;
    for (const std::string_view name : {"categories", "category"})
      if (const auto named = behind(line, name)) line = *named;
    const bool is_none = ascii::iequals(line, "none") || ascii::iequals(line, "n/a") ||
                         std::ranges::none_of(line, ascii::is_word_byte);
    if (!is_none) out.push_back(line);
  }
  return out;
}

/// Returns false for prose and markup, whose meaning nobody knows.
bool is_readable(std::string_view categories) {
  constexpr size_t kCategoryBytesMax = 40;
  if (categories.find('<') != std::string_view::npos) return false;
  while (!categories.empty()) {
    const size_t end = std::min(categories.find_first_of(",;"), categories.size());
    if (end > kCategoryBytesMax) return false;
    categories.remove_prefix(std::min(end + 1, categories.size()));
  }
  return true;
}

/// Returns whether the line contains the label as whole words: "S1" is not in "S14".
bool names(std::string_view line, std::string_view label) {
  const auto is_word = [](char c) { return ascii::is_word_byte(c) || c == '-' || c == '_'; };
  const std::string in = ascii::lower_case(line), word = ascii::lower_case(label);
  for (size_t at = in.find(word); at != std::string::npos; at = in.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(in[at - 1])) && (end == in.size() || !is_word(in[end]))) return true;
  }
  return false;
}

/// The bytes at which characters begin, and the end of the text.
std::vector<uint32_t> character_places(std::string_view text) {
  std::vector<uint32_t> out;
  for (size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80)
      out.push_back(static_cast<uint32_t>(at));
  }
  out.push_back(static_cast<uint32_t>(text.size()));
  return out;
}

/// Returns a type that the configuration knows; "" for none of personal data; nullopt for another.
std::optional<std::string> personal_type(std::string_view tag) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"PER", "PERSON"}, {"ORG", "ORGANIZATION"}, {"LOC", "GPE"}, {"MISC", ""}, {"O", ""}};
  std::string type = ascii::upper_case(tag);
  if (type.size() > 2 && type[1] == '-' &&
      std::string_view("BIESLU").find(type[0]) != std::string_view::npos)
    type.erase(0, 2);
  for (const auto& [other, known] : kOthers)
    if (type == other) return std::string(known);
  const auto known = config::known_pii_types();
  if (std::ranges::find(known, type) == known.end()) return std::nullopt;
  return type;
}

Result<std::string> type_of_span(const json::Value& span) {
  for (const std::string_view key : {"entity_group", "entity", "label"}) {
    const auto found = sole(span, key);
    if (!found || !found->is_string()) continue;
    // The reply may contain the user's text, so the error does not.
    if (auto type = personal_type(found->text())) return *std::move(type);
    return fail(Code::kUpstream, "the reply has a type of personal data that is not known");
  }
  return fail(Code::kUpstream, "the reply is not a list of types and offsets");
}

Result<engine::Entity> read_span(const json::Value& span, std::span<const uint32_t> places) {
  SIGNALBOX_TRY(std::string type, type_of_span(span));
  SIGNALBOX_TRY(const float score, read_score(span));
  const auto place = [&](std::string_view key) -> std::optional<size_t> {
    const auto value = sole(span, key);
    const auto number = value ? value->integer() : Result<int64_t>(fail(Code::kUpstream, ""));
    if (!number || *number < 0 || static_cast<size_t>(*number) >= places.size())
      return std::nullopt;
    return static_cast<size_t>(*number);
  };
  const auto begin = place("start"), end = place("end");
  if (!begin || !end || *begin >= *end)
    return fail(Code::kUpstream, "start, end: expected a part of the text");
  return engine::Entity{std::move(type), places[*begin], places[*end], score};
}

}  // namespace

Result<std::string> read_chat_content(std::string body) {
  SIGNALBOX_TRY(Content content, read_content(std::move(body)));
  return std::move(content.text);
}

std::string_view bare_answer(std::string_view text) {
  constexpr std::string_view kThoughtsEnd = "</think>", kFence = "```", kLanguage = "json";
  if (const size_t end = text.rfind(kThoughtsEnd); end != std::string_view::npos)
    text.remove_prefix(end + kThoughtsEnd.size());
  text = trim(text, " \t\r\n");
  if (text.size() < 2 * kFence.size() || !text.starts_with(kFence) || !text.ends_with(kFence))
    return text;
  text = text.substr(kFence.size(), text.size() - 2 * kFence.size());
  if (text.starts_with(kLanguage) && text.find_first_of("\r\n") == kLanguage.size())
    text.remove_prefix(kLanguage.size());
  return text;
}

Result<std::vector<engine::Entity>> read_spans(std::string body, std::string_view text) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  const json::Value list = inner_list(document.root());
  if (!list.is_array())
    return fail(Code::kUpstream, "the reply is not a list of types and offsets");
  const std::vector<uint32_t> places = character_places(text);
  std::vector<engine::Entity> out;
  for (const json::Value& span : list.items()) {
    if (out.size() == kScoresMax) return fail(Code::kUpstream, "the reply has too many spans");
    SIGNALBOX_TRY(engine::Entity entity, read_span(span, places));
    if (!entity.type.empty()) out.push_back(std::move(entity));
  }
  return out;
}

namespace {

struct LabelScore {
  std::string label;
  float score = 0;
};

Result<std::vector<LabelScore>> read_list(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  const json::Value list = inner_list(document.root());
  if (!list.is_array())
    return fail(Code::kUpstream, "the reply is not a list of labels and scores");
  std::vector<LabelScore> out;
  for (const json::Value& each : list.items()) {
    const auto label = sole(each, "label");
    if (!label || !label->is_string() || out.size() == kScoresMax)
      return fail(Code::kUpstream, "the reply is not a list of labels and scores");
    SIGNALBOX_TRY(const float score, read_score(each));
    out.push_back({std::string(label->text()), score});
  }
  return out;
}

/// The name of a label without one: that of its number in LABEL_3.
std::string_view name_of(std::string_view label, std::span<const std::string> names) {
  constexpr std::string_view kNumbered = "LABEL_";
  size_t number = names.size();
  if (label.starts_with(kNumbered)) {
    const std::string_view digits = label.substr(kNumbered.size());
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (end.ec != std::errc{} || end.ptr != digits.data() + digits.size()) number = names.size();
  }
  return number < names.size() ? std::string_view(names[number]) : label;
}

/// The class that a label stands for; classes.size() if there is none.
size_t class_of(std::string_view label, std::span<const std::string> classes) {
  const auto find = [&](const auto& form_of) {
    const std::string form = form_of(label);
    const auto at = std::ranges::find_if(
        classes, [&](const std::string& each) { return form_of(each) == form; });
    return static_cast<size_t>(at - classes.begin());
  };
  const size_t exact = find([](std::string_view name) { return ascii::snake_case(name); });
  return exact < classes.size() ? exact : find(plain_label);
}

}  // namespace

Result<std::vector<float>> read_label_scores(std::string body,
                                             std::span<const std::string> labels) {
  SIGNALBOX_TRY(const std::vector<LabelScore> list, read_list(std::move(body)));
  std::vector<std::optional<float>> found(labels.size());
  for (const LabelScore& each : list) {
    const auto is_it = [&](const std::string& name) { return ascii::iequals(name, each.label); };
    const auto at = std::ranges::find_if(labels, is_it);
    if (at == labels.end()) continue;
    auto& of = found[static_cast<size_t>(at - labels.begin())];
    if (of) return fail(Code::kUpstream, "the reply has two scores for \"{}\"", *at);
    of = each.score;
  }
  std::vector<float> scores;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!found[i]) return fail(Code::kUpstream, "the reply has no score for \"{}\"", labels[i]);
    scores.push_back(*found[i]);
  }
  return with_rest(std::move(scores));
}

Result<std::vector<float>> read_class_scores(std::string body, std::span<const std::string> classes,
                                             std::span<const std::string> names) {
  SIGNALBOX_TRY(const std::vector<LabelScore> list, read_list(std::move(body)));
  std::vector<float> out(classes.size() + 1, 0);
  std::vector<bool> is_found(classes.size(), false);
  float sum = 0;
  for (const LabelScore& each : list) {
    const size_t at = class_of(name_of(each.label, names), classes);
    if (at < classes.size() && is_found[at])
      return fail(Code::kUpstream, "the reply has two scores for \"{}\"", classes[at]);
    if (at < classes.size()) is_found[at] = true;
    out[at] = std::max(out[at], each.score);
    sum += each.score;
  }
  if (std::ranges::find(is_found, true) == is_found.end())
    return fail(Code::kUpstream, "no label of the reply is one of the {} classes (such as {})",
                classes.size(), classes.empty() ? "" : classes.front());
  constexpr float kTolerance = 0.02F;
  if (std::abs(sum - 1) > kTolerance)
    return fail(Code::kUpstream, "the scores add up to {:.2f}, expected 1 for all labels", sum);
  return out;
}

Result<std::vector<float>> read_verdict(std::string body, std::span<const std::string> labels,
                                        bool by_category) {
  SIGNALBOX_TRY(const Content content, read_content(std::move(body)));
  const std::vector<std::string_view> lines = lines_of(without_thoughts(content.text));
  if (lines.empty()) return fail(Code::kUpstream, "the verdict is empty");
  const std::string_view word = behind(lines.front(), "safety").value_or(lines.front());
  const auto safe = is_safe(word);
  if (!safe) return fail(Code::kUpstream, "the verdict is neither safe nor unsafe");
  const auto below = std::span(lines).subspan(1);
  const auto categories = categories_of(below);
  std::vector<float> scores(labels.size(), 0);
  if (*safe) {
    const bool is_denied = std::ranges::any_of(below, [](std::string_view line) {
      return !is_safe(behind(line, "safety").value_or(line)).value_or(true);
    });
    if (is_denied || !categories.empty())
      return fail(Code::kUpstream, "the verdict is safe, but another or a category follows");
    if (content.is_cut) return fail(Code::kUpstream, "the verdict is cut off at max_tokens");
    return with_rest(std::move(scores));
  }
  const bool is_known = !content.is_cut && std::ranges::all_of(categories, is_readable);
  if (!by_category || categories.empty() || !is_known) {
    scores.front() = 1;
    return with_rest(std::move(scores));
  }
  const auto counts = std::ranges::find_if(labels, [&](std::string_view label) {
    return ascii::iequals(label, word) ||
           std::ranges::any_of(categories,
                               [&](std::string_view line) { return names(line, label); });
  });
  if (counts != labels.end()) scores[static_cast<size_t>(counts - labels.begin())] = 1;
  return with_rest(std::move(scores));
}

Result<std::vector<float>> read_unbounded_score(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  const json::Value list = inner_list(document.root());
  size_t count = 0;
  std::optional<json::Value> score;
  const auto read = [&](const json::Value& each) {
    score = each.find("score");
    ++count;
  };
  if (list.is_array()) {
    for (const json::Value& each : list.items()) read(each);
  } else {
    read(list);
  }
  const auto number =
      count == 1 && score ? score->number() : Result<double>(fail(Code::kUpstream, ""));
  if (!number || !std::isfinite(static_cast<float>(*number)))
    return fail(Code::kUpstream, "the reply is not one score");
  return std::vector<float>{static_cast<float>(*number)};
}

Result<std::vector<float>> read_hook_score(std::string body, size_t labels) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  std::vector<float> scores(labels, 0);
  SIGNALBOX_TRY(scores.front(), read_score(document.root()));
  return with_rest(std::move(scores));
}

}  // namespace signalbox::models
