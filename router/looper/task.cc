// Servers read the last of two members with one name, or the first, so a request with two is
// refused, and a reply with two has no answer.

#include "router/looper/task.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/json_writer.h"

namespace signalbox::looper {
namespace {

using Type = Question::Type;
using json::Value;

constexpr size_t kChoicesMax = 255, kLevelsMax = 10;
constexpr double kSumTolerance = 1e-4;

std::optional<Value> member_of(const Value& object, std::string_view name) {
  return object.count(name) == 1 ? object.find(name) : std::nullopt;
}

std::optional<std::string> text_of(const Value& object, std::string_view name) {
  const auto found = member_of(object, name);
  if (!found || !found->is_string()) return std::nullopt;
  return std::string(found->text());
}

std::optional<double> share_of(const Value& object, std::string_view name) {
  const auto found = member_of(object, name);
  const auto number = found ? found->number() : fail(Code::kInvalid, "there is none");
  if (!number || *number < 0 || *number > 1) return std::nullopt;
  return *number;
}

std::string_view name_of_type(Type type) {
  return type == Type::kChoice ? "choice" : type == Type::kScore ? "score" : "noul";
}

size_t length_of(const std::optional<Value>& list) {
  size_t out = 0;
  if (!list) return out;
  for ([[maybe_unused]] const Value& each : list->items()) ++out;
  return out;
}

// --- questions ---

std::vector<std::string> read_choices(const Value& question) {
  std::vector<std::string> out;
  if (const auto choices = question.find("choices"); length_of(choices) > 0) {
    for (const Value& each : choices->items()) out.push_back(text_of(each, "key").value_or(""));
  } else if (const auto criteria = question.find("criteria")) {
    for (const json::Member& each : criteria->members()) out.emplace_back(each.key);
  }
  return out;
}

Result<Question> read_question(const std::string& where, const Value& value) {
  Question out;
  if (!value.is_object()) return fail(Code::kInvalid, "{}: expected an object", where);
  for (const std::string_view name :
       {"type", "criteria", "choices", "levels", "preset", "require_full_input"}) {
    if (value.count(name) > 1) return fail(Code::kInvalid, "{}.{}: there are two", where, name);
  }
  const auto preset = value.find("preset");
  if (preset && !preset->is_null() && text_of(value, "preset") != "")
    return fail(Code::kInvalid, "{}.preset: models differ in theirs; write the question", where);
  const std::string type = text_of(value, "type").value_or("");
  if (type == "choice") {
    out.type = Type::kChoice;
    out.choices = read_choices(value);
    const std::set<std::string_view> names(out.choices.begin(), out.choices.end());
    if (names.size() < 2 || names.size() < out.choices.size() || names.contains(""))
      return fail(Code::kInvalid, "{}.criteria: expected two choices with names at least", where);
    if (names.size() > kChoicesMax)
      return fail(Code::kTooLarge, "{}.criteria: expected at most {} choices, found {}", where,
                  kChoicesMax, names.size());
  } else if (type == "score") {
    out.type = Type::kScore;
    const auto levels = value.find("levels");
    out.levels = length_of(length_of(levels) > 0 ? levels : value.find("criteria"));
    if (out.levels < 2 || out.levels > kLevelsMax)
      return fail(Code::kInvalid, "{}.criteria: expected 2 to {} levels, found {}", where,
                  kLevelsMax, out.levels);
  } else if (type != "noul") {
    return fail(Code::kInvalid, "{}.type: expected choice, score or noul", where);
  }
  const auto full = value.find("require_full_input");
  if (full && !full->is_null() && !full->is_bool())
    return fail(Code::kInvalid, "{}.require_full_input: expected true or false", where);
  out.needs_full_input = full && full->is_bool() && full->boolean();
  return out;
}

Result<void> add_questions(const std::string& state, const std::string& where, const Value& value,
                           std::vector<Question>& out) {
  const auto text = member_of(value, "state");
  if (!text || !(text->is_string() || text->is_object() || text->is_array()))
    return fail(Code::kInvalid, "{}state: expected one text, object or list", where);
  const auto questions = member_of(value, "questions");
  if (!questions || !questions->is_object())
    return fail(Code::kInvalid, "{}questions: expected one object", where);
  std::set<std::string> names;
  for (const json::Member& each : questions->members()) {
    const std::string at = fmt::format("{}questions[{}]", where, json::quote_briefly(each.key));
    if (each.key.empty() || !names.emplace(each.key).second)
      return fail(Code::kInvalid, "{}: expected a name of its own", at);
    if (out.size() == kQuestionsMax)
      return fail(Code::kTooLarge, "{}: there are more than {} questions", at, kQuestionsMax);
    SIGNALBOX_TRY(Question question, read_question(at, each.value));
    question.state = state;
    question.name = each.key;
    out.push_back(std::move(question));
  }
  if (names.empty()) return fail(Code::kInvalid, "{}questions: expected one at least", where);
  return {};
}

// --- answers ---

// The greatest of the probabilities; nullopt unless there is one for each choice or level.
std::optional<double> top_of(const Value& answer, const Question& question) {
  const auto all = member_of(answer, "probabilities");
  if (!all) return std::nullopt;
  const size_t wanted = question.type == Type::kChoice ? question.choices.size() : question.levels;
  std::set<std::string> seen;
  double sum = 0, top = 0;
  for (const json::Member& each : all->members()) {
    const auto number = each.value.number();
    if (!number || *number < 0 || *number > 1) return std::nullopt;
    bool is_known = std::ranges::find(question.choices, each.key) != question.choices.end();
    for (size_t level = 0; level < question.levels; ++level)
      is_known |= each.key == std::to_string(level);
    if (!is_known || !seen.emplace(each.key).second) return std::nullopt;
    sum += *number;
    top = std::max(top, *number);
  }
  if (seen.size() != wanted || std::abs(sum - 1) > kSumTolerance) return std::nullopt;
  return top;
}

std::optional<AnswerFigures> read_answer(const Value& answer, const Question& question) {
  const std::string_view type = name_of_type(question.type);
  const bool is_cut = question.needs_full_input && text_of(answer, "input_coverage") != "complete";
  const auto error = answer.find("error");
  const bool has_failed =
      answer.count("error") > 1 || (error && !error->is_null() && text_of(answer, "error") != "");
  if (text_of(answer, "type") != type || has_failed || is_cut) return std::nullopt;
  AnswerFigures out;
  out.confidence = share_of(answer, "confidence");
  if (question.type == Type::kNoul) {
    const auto probability = share_of(answer, type);
    if (!probability) return std::nullopt;
    out.top_probability = std::max(*probability, 1 - *probability);
    out.margin = 2 * std::abs(*probability - 0.5);
    return out;
  }
  const auto given = member_of(answer, type);
  if (question.type == Type::kChoice) {
    const auto choice = text_of(answer, type);
    if (!choice || std::ranges::find(question.choices, *choice) == question.choices.end())
      return std::nullopt;
  } else {
    const auto score = given ? given->number() : fail(Code::kInvalid, "there is none");
    if (!score || *score < 0 || *score > static_cast<double>(question.levels - 1))
      return std::nullopt;
  }
  out.top_probability = top_of(answer, question);
  return out;
}

// --- rules ---

bool is_for(const config::AnswerRule& rule, const Question& question) {
  return (!rule.state || *rule.state == question.state) &&
         (rule.question.empty() || rule.question == question.name) &&
         (rule.question_type.empty() || rule.question_type == name_of_type(question.type));
}

bool is_within(const config::Predicate& bounds, const std::optional<double>& figure) {
  return figure && (!bounds.gt || *figure > *bounds.gt) &&
         (!bounds.gte || *figure >= *bounds.gte) && (!bounds.lt || *figure < *bounds.lt) &&
         (!bounds.lte || *figure <= *bounds.lte);
}

const std::optional<double>& figure_of(const AnswerFigures& figures, std::string_view field) {
  if (field == "confidence") return figures.confidence;
  return field == "probability_margin" ? figures.margin : figures.top_probability;
}

uint64_t tokens_at(const std::optional<Value>& usage, std::string_view name,
                   std::string_view other) {
  for (const std::string_view each : {name, other}) {
    const auto found = usage ? usage->find(each) : std::nullopt;
    const auto tokens = found ? found->integer() : fail(Code::kInvalid, "there is none");
    if (tokens && *tokens > 0) return static_cast<uint64_t>(*tokens);
  }
  return 0;
}

}  // namespace

Result<std::vector<Question>> read_questions(const Value& request) {
  std::vector<Question> out;
  SIGNALBOX_TRY_VOID(add_questions("", "", request, out));
  if (request.count("states") > 1) return fail(Code::kInvalid, "states: there are two");
  const auto states = request.find("states");
  if (!states) return out;
  if (!states->is_object()) return fail(Code::kInvalid, "states: expected an object");
  std::set<std::string> names;
  for (const json::Member& each : states->members()) {
    const std::string where = fmt::format("states[{}].", json::quote_briefly(each.key));
    if (each.key.empty() || !names.emplace(each.key).second)
      return fail(Code::kInvalid, "{}state: expected a name of its own", where);
    SIGNALBOX_TRY_VOID(add_questions(std::string(each.key), where, each.value, out));
  }
  return out;
}

std::vector<std::optional<AnswerFigures>> read_answers(const Value& reply,
                                                       std::span<const Question> questions) {
  std::vector<std::optional<AnswerFigures>> out;
  const auto states = member_of(reply, "states");
  for (const Question& question : questions) {
    std::optional<Value> holder = reply;
    if (!question.state.empty())
      holder = states ? member_of(*states, question.state) : std::nullopt;
    const auto answers = holder ? member_of(*holder, "answers") : std::nullopt;
    const auto answer = answers ? member_of(*answers, question.name) : std::nullopt;
    out.push_back(answer ? read_answer(*answer, question) : std::nullopt);
  }
  return out;
}

bool accepts(const config::Acceptance& acceptance, std::span<const Question> questions,
             std::span<const std::optional<AnswerFigures>> answers, bool covers_all) {
  if (!std::ranges::all_of(answers, [](const auto& each) { return each.has_value(); }))
    return false;
  std::vector<bool> is_covered(questions.size());
  for (const config::AnswerRule& rule : acceptance.rules) {
    bool is_used = false;
    for (size_t i = 0; i < questions.size(); ++i) {
      if (!is_for(rule, questions[i])) continue;
      is_used = is_covered[i] = true;
      if (!is_within(rule.predicate, figure_of(*answers[i], rule.field))) return false;
    }
    if (!is_used && (!rule.question.empty() || rule.state)) return false;
  }
  return !covers_all || std::ranges::find(is_covered, false) == is_covered.end();
}

Result<Reply> read_task_reply(std::string body) {
  auto document = json::Document::parse(std::move(body));
  if (!document || !document->root().is_object())
    return fail(Code::kUpstream, "the reply is no JSON object");
  Reply out;
  const auto usage = document->root().find("usage");
  out.prompt_tokens = tokens_at(usage, "input_tokens", "prompt_tokens");
  out.completion_tokens = tokens_at(usage, "output_tokens", "completion_tokens");
  out.body = std::move(*document).take_source();
  return out;
}

}  // namespace signalbox::looper
