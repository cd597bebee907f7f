// Models wrap JSON in prose and fences, so that a grade is looked for rather than parsed strictly.

#include "router/looper/prompts.h"

#include <charconv>

#include "base/ascii.h"
#include "base/json.h"
#include "router/looper/flow.h"

namespace signalbox::looper {
namespace {

bool is_system(std::string_view role) {
  return role == "system" || role == "developer";
}

std::string text_of(const json::Value& message) {
  const auto content = message.find("content");
  if (!content) return {};
  if (content->is_string()) return std::string(content->text());
  std::string out;
  for (const json::Value& part : content->items()) {
    const auto text = part.find("text");
    if (!text || !text->is_string()) continue;
    if (!out.empty()) out.push_back('\n');
    out.append(text->text());
  }
  return out;
}

bool offers_tools(const json::Value& request) {
  const auto choice = request.find("tool_choice");
  if (choice && choice->is_string() && choice->text() == "none") return false;
  const auto tools = request.find("tools");
  return tools && tools->items().begin() != tools->items().end();
}

std::optional<double> number_in(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!ascii::is_digit(text[i])) continue;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    const bool negative = i > 0 && text[i - 1] == '-';
    return negative ? -value : value;
  }
  return std::nullopt;
}

}  // namespace

const std::string_view kGradePrompt =
    "Judge how likely it is that the answer below is correct and complete.\n\n"
    "Question:\n{{question}}\n\n"
    "Answer:\n{{answer}}\n\n"
    "Reply with one JSON object and nothing else: {\"confidence\": N}. N is a number from 0 "
    "(certainly wrong) to 1 (certainly right).";

std::string render(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  for (;;) {
    const size_t open = text.find("{{");
    out.append(text.substr(0, open));
    if (open == std::string_view::npos) return out;
    text.remove_prefix(open);
    const size_t close = text.find("}}");
    const std::string_view name =
        close == std::string_view::npos ? std::string_view() : text.substr(2, close - 2);
    size_t skip = 2;
    std::string_view value = text.substr(0, skip);
    for (const auto& [known, replacement] : values) {
      if (known != name) continue;
      value = replacement;
      skip = close + 2;
    }
    out.append(value);
    text.remove_prefix(skip);
  }
}

double read_grade(std::string_view text) {
  std::optional<double> found;
  const size_t open = text.find('{');
  const size_t close = text.rfind('}');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
    const auto document = json::Document::parse(std::string(text.substr(open, close + 1 - open)));
    const auto member = document ? document->root().find("confidence") : std::nullopt;
    const auto value = member ? member->number() : Result<double>(tl::unexpected<Error>(Error{}));
    if (value) found = *value;
  }
  if (!found) found = number_in(text);
  return found && *found >= 0 && *found <= 1 ? *found : -1;
}

Conversation read_conversation(const json::Value& request, std::string_view flow) {
  Conversation out;
  out.may_wait = offers_tools(request);
  const auto messages = request.find("messages");
  if (!messages) return out;
  size_t count = 0;
  for (const json::Value& message : messages->items()) {
    if (is_of_flow(message, flow)) continue;
    const auto found = message.find("role");
    const std::string role(found && found->is_string() ? found->text() : "user");
    const std::string text = text_of(message);
    if (is_system(role) || text.empty()) continue;
    if (role != "assistant" && role != "tool" && role != "function") out.question = text;
    ++count;
    if (!out.transcript.empty()) out.transcript += "\n\n";
    out.transcript.append(role).append(": ").append(text);
  }
  if (count < 2) out.transcript = out.question;
  return out;
}

}  // namespace signalbox::looper
