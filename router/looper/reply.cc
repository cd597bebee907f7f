// A completion may come with megabytes of log probabilities, so they are reduced to two means here.

#include "router/looper/reply.h"

#include <algorithm>

#include "base/ascii.h"
#include "router/splice/object_editor.h"

namespace signalbox::looper {
namespace {

std::string text_at(const json::Value& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->is_string() ? std::string(found->text()) : std::string();
}

uint64_t count_at(const std::optional<json::Value>& object, std::string_view key) {
  const auto found = object ? object->find(key) : std::nullopt;
  const auto value = found ? found->integer() : Result<int64_t>(0);
  return value && *value > 0 ? static_cast<uint64_t>(*value) : 0;
}

/// A message's content: a string, or parts with texts.
std::string content_of(const json::Value& message) {
  const auto content = message.find("content");
  if (!content) return {};
  if (content->is_string()) return std::string(content->text());
  std::string out;
  for (const json::Value& part : content->items()) out += text_at(part, "text");
  return out;
}

/// The distance between the best and the second-best alternative.
std::optional<double> margin_of(const json::Value& token) {
  const auto alternatives = token.find("top_logprobs");
  if (!alternatives) return std::nullopt;
  std::optional<double> best, second;
  for (const json::Value& each : alternatives->items()) {
    const auto found = each.find("logprob");
    const auto value = found ? found->number() : Result<double>(tl::unexpected<Error>(Error{}));
    if (!value) continue;
    if (!best || *value > *best) {
      second = best;
      best = *value;
    } else if (!second || *value > *second) {
      second = *value;
    }
  }
  if (!second) return std::nullopt;
  return *best - *second;
}

class Mean {
 public:
  void add(double logprob, std::optional<double> margin) {
    ++count_;
    logprobs_ += logprob;
    whole_ = whole_ && margin;
    if (margin) margins_ += *margin;
  }
  std::optional<Certainty> certainty() const {
    if (count_ == 0) return std::nullopt;
    const auto count = static_cast<double>(count_);
    Certainty out{logprobs_ / count, std::nullopt};
    if (whole_) out.margin = margins_ / count;
    return out;
  }

 private:
  size_t count_ = 0;
  double logprobs_ = 0, margins_ = 0;
  bool whole_ = true;
};

bool has_word(std::string_view token) {
  return std::any_of(token.begin(), token.end(), ascii::is_word_byte);
}

void read_logprobs(const json::Value& choice, Reply& out) {
  const auto logprobs = choice.find("logprobs");
  const auto tokens = logprobs ? logprobs->find("content") : std::nullopt;
  if (!tokens) return;
  Mean all, words;
  for (const json::Value& token : tokens->items()) {
    const auto found = token.find("logprob");
    const auto value = found ? found->number() : Result<double>(tl::unexpected<Error>(Error{}));
    if (!value) continue;
    const auto margin = margin_of(token);
    all.add(*value, margin);
    if (has_word(text_at(token, "token"))) words.add(*value, margin);
  }
  out.certainty = all.certainty();
  out.word_certainty = words.certainty();
}

std::string without_logprobs(const json::Document& document, const json::Value& choices) {
  std::vector<splice::Edit> edits;
  for (const json::Value& choice : choices.items()) {
    if (!choice.is_object()) continue;
    splice::ObjectEditor editor(choice);
    if (choice.find("logprobs")) editor.set("logprobs", "null");
    editor.finish(edits);
  }
  return splice::apply(document.source(), std::move(edits));
}

}  // namespace

bool Reply::is_empty() const {
  const auto blank = [](const std::string& part) {
    return std::all_of(part.begin(), part.end(), ascii::is_space);
  };
  return !calls_tools && blank(text) && blank(reasoning);
}

Result<Reply> read_reply(std::string body, bool drops_logprobs) {
  const auto document = json::Document::parse(std::move(body));
  if (!document) return fail(Code::kUpstream, "the reply is not JSON");
  const json::Value root = document->root();
  const auto choices = root.find("choices");
  if (!choices || !choices->is_array() || !(choices->items().begin() != choices->items().end()))
    return fail(Code::kUpstream, "the reply is not a chat completion: it has no choices");
  for (const json::Value& choice : choices->items()) {
    const auto message = choice.find("message");
    if (!message || !message->is_object())
      return fail(Code::kUpstream, "the reply is not a chat completion: a choice has no message");
  }
  const json::Value first = *choices->items().begin();
  const auto message = first.find("message");
  Reply out;
  out.text = content_of(*message);
  out.reasoning = text_at(*message, "reasoning_content");
  if (out.reasoning.empty()) out.reasoning = text_at(*message, "reasoning");
  const auto calls = message->find("tool_calls");
  out.calls_tools = calls && calls->is_array() && calls->items().begin() != calls->items().end();
  read_logprobs(first, out);
  const auto usage = root.find("usage");
  out.prompt_tokens = count_at(usage, "prompt_tokens");
  out.completion_tokens = count_at(usage, "completion_tokens");
  out.cached_tokens =
      count_at(usage ? usage->find("prompt_tokens_details") : std::nullopt, "cached_tokens");
  out.body =
      drops_logprobs ? without_logprobs(*document, *choices) : std::string(document->source());
  return out;
}

}  // namespace signalbox::looper
