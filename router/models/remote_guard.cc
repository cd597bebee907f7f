// A reply that is not of its form is an error, never a verdict: the signal's on_error decides then.

#include "router/models/remote_guard.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/models/remote_classifier.h"

namespace signalbox::models {
namespace {

using config::ClassifierModel;

constexpr std::string_view kPrefix = "external:";
constexpr std::string_view kRest = "(none of them)";
constexpr size_t kVerdictBytesMax = 1 << 20;
constexpr size_t kScoresMax = 4096;
// A classifier may cut its input at 512 tokens, and an attack behind that would not be read.
constexpr size_t kClassifierWindowBytes = 1 << 10;
constexpr size_t kChatWindowBytes = 32 << 10;
constexpr uint32_t kVerdictTokens = 64;
constexpr std::string_view kBlanks = " \t\r\n\"'`.*";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<json::Document> parse_reply(std::string body) {
  auto document = json::Document::parse(std::move(body), {.bytes = kVerdictBytesMax});
  if (!document) return fail(Code::kUpstream, "the reply is not JSON");
  return document;
}

Result<float> read_score(const std::optional<json::Value>& score) {
  const auto number = score ? score->number() : Result<double>(fail(Code::kUpstream, ""));
  if (!number || !(*number >= 0 && *number <= 1))
    return fail(Code::kUpstream, "score: expected a number from 0 to 1");
  return static_cast<float>(*number);
}

std::vector<float> with_rest(std::vector<float> scores) {
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0F);
  scores.push_back(std::max(0.0F, 1 - sum));
  return scores;
}

Result<std::string> read_content(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  const auto choices = document.root().find("choices");
  if (choices && choices->is_array()) {
    for (const json::Value& choice : choices->items()) {
      const auto message = choice.find("message");
      const auto content = message ? message->find("content") : std::nullopt;
      if (content && content->is_string()) return std::string(content->text());
      break;
    }
  }
  return fail(Code::kUpstream, "choices[0].message.content: expected a text");
}

/// Returns the text behind a colon of the line, if its beginning ends in `name` without its case.
std::optional<std::string_view> behind(std::string_view line, std::string_view name) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view before = trim(line.substr(0, colon));
  if (before.size() < name.size() ||
      !ascii::iequals(before.substr(before.size() - name.size()), name))
    return std::nullopt;
  return trim(line.substr(colon + 1));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = trim(text.substr(0, end)); !line.empty()) out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string_view> categories_of(std::span<const std::string_view> lines) {
  std::vector<std::string_view> out;
  for (std::string_view line : lines) {
    if (const auto named = behind(line, "categories")) line = *named;
    while (!line.empty()) {
      const size_t end = std::min(line.find(','), line.size());
      if (const std::string_view one = trim(line.substr(0, end)); !one.empty()) out.push_back(one);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }
  return out;
}

std::vector<std::string> positive_labels(const ClassifierModel& guard) {
  if (guard.positive_labels.empty()) return {"jailbreak"};
  return guard.positive_labels;
}

std::string inputs_body(std::string_view text) {
  return json::Writer().begin_object().member("inputs", text).end_object().take();
}

std::string hook_body(std::string_view text) {
  json::Writer out;
  out.begin_object().member("task", "jailbreak").member("text", text);
  return out.end_object().take();
}

std::string chat_body(const config::ExternalModel& server, std::string_view text) {
  json::Writer out;
  out.begin_object().member("model", server.llm_model_name).key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object().end_array();
  out.member("temperature", server.temperature);
  const uint32_t tokens = server.max_tokens > 0 ? server.max_tokens : kVerdictTokens;
  out.member("max_tokens", static_cast<int64_t>(tokens));
  return out.end_object().take();
}

/// A protocol whose replies are read to scores.
template <class Read>
void read_by(RemoteProtocol& protocol, Read read) {
  protocol.read = [read = std::move(read)](std::string body,
                                           std::string_view) -> Result<engine::Answer> {
    SIGNALBOX_TRY(std::vector<float> scores, read(std::move(body)));
    return engine::Answer{.scores = std::move(scores), .entities = {}};
  };
}

RemoteProtocol classify_protocol(std::vector<std::string> labels) {
  RemoteProtocol out;
  out.target = "/classify";
  out.labels = labels;
  out.labels.emplace_back(kRest);
  out.window_bytes = kClassifierWindowBytes;
  out.ask = inputs_body;
  read_by(out, [labels = std::move(labels)](std::string body) {
    return read_label_scores(std::move(body), labels);
  });
  return out;
}

Result<std::shared_ptr<const engine::TextModel>> open_at(const config::ExternalModel& server,
                                                         RemoteProtocol protocol) {
  if (!server.llm_endpoint.path.empty()) protocol.target = server.llm_endpoint.path;
  return open_remote(server, std::move(protocol));
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

std::optional<std::string_view> type_of_span(const json::Value& span) {
  for (const std::string_view key : {"entity_group", "entity", "label"}) {
    const auto found = span.find(key);
    if (!found || !found->is_string()) continue;
    std::string_view type = found->text();
    const bool is_tagged = type.size() > 2 && (type.starts_with("B-") || type.starts_with("I-"));
    return is_tagged ? type.substr(2) : type;
  }
  return std::nullopt;
}

Result<engine::Entity> read_span(const json::Value& span, std::span<const uint32_t> places) {
  const auto type = type_of_span(span);
  if (!type || type->empty())
    return fail(Code::kUpstream, "the reply is no list of types and offsets");
  SIGNALBOX_TRY(const float score, read_score(span.find("score")));
  const auto place = [&](std::string_view key) -> std::optional<size_t> {
    const auto value = span.find(key);
    const auto number = value ? value->integer() : Result<int64_t>(fail(Code::kUpstream, ""));
    if (!number || *number < 0 || static_cast<size_t>(*number) >= places.size())
      return std::nullopt;
    return static_cast<size_t>(*number);
  };
  const auto begin = place("start"), end = place("end");
  if (!begin || !end || *begin >= *end)
    return fail(Code::kUpstream, "start, end: expected a part of the text");
  return engine::Entity{std::string(*type), places[*begin], places[*end], score};
}

}  // namespace

Result<std::vector<engine::Entity>> read_spans(std::string body, std::string_view text) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  if (!document.root().is_array())
    return fail(Code::kUpstream, "the reply is no list of types and offsets");
  const std::vector<uint32_t> places = character_places(text);
  std::vector<engine::Entity> out;
  for (const json::Value& span : document.root().items()) {
    if (out.size() == kScoresMax) return fail(Code::kUpstream, "the reply has too many spans");
    SIGNALBOX_TRY(engine::Entity entity, read_span(span, places));
    if (entity.type != "O") out.push_back(std::move(entity));
  }
  return out;
}

std::string remote_guard_name(const config::ExternalModel& server) {
  return fmt::format("{}{}", kPrefix, server.name);
}

bool is_remote_guard(std::string_view directory) {
  return directory.starts_with(kPrefix);
}

Result<std::vector<float>> read_label_scores(std::string body,
                                             std::span<const std::string> labels) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  json::Value list = document.root();
  if (list.is_array()) {
    for (const json::Value& inner : list.items()) {
      if (inner.is_array()) list = inner;
      break;
    }
  }
  if (!list.is_array()) return fail(Code::kUpstream, "the reply is no list of labels and scores");
  std::vector<std::optional<float>> found(labels.size());
  size_t count = 0;
  for (const json::Value& each : list.items()) {
    const auto label = each.find("label");
    if (!label || !label->is_string() || ++count > kScoresMax)
      return fail(Code::kUpstream, "the reply is no list of labels and scores");
    SIGNALBOX_TRY(const float score, read_score(each.find("score")));
    const auto is_it = [&](const std::string& name) { return ascii::iequals(name, label->text()); };
    const auto at = std::ranges::find_if(labels, is_it);
    if (at == labels.end()) continue;
    auto& of = found[static_cast<size_t>(at - labels.begin())];
    if (of) return fail(Code::kUpstream, "the reply has two scores for \"{}\"", *at);
    of = score;
  }
  std::vector<float> scores;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!found[i]) return fail(Code::kUpstream, "the reply has no score for \"{}\"", labels[i]);
    scores.push_back(*found[i]);
  }
  return with_rest(std::move(scores));
}

Result<std::vector<float>> read_verdict(std::string body, std::span<const std::string> labels,
                                        bool by_category) {
  constexpr std::string_view kThoughtsEnd = "</think>";
  SIGNALBOX_TRY(const std::string content, read_content(std::move(body)));
  std::string_view text = content;
  if (const size_t end = text.rfind(kThoughtsEnd); end != std::string_view::npos)
    text.remove_prefix(end + kThoughtsEnd.size());
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) return fail(Code::kUpstream, "the verdict is empty");
  const std::string_view word = behind(lines.front(), "safety").value_or(lines.front());
  std::vector<float> scores(labels.size(), 0);
  if (ascii::iequals(word, "safe")) return with_rest(std::move(scores));
  if (!ascii::iequals(word, "unsafe") && !ascii::iequals(word, "controversial"))
    return fail(Code::kUpstream, "the verdict is neither safe nor unsafe");
  const auto categories = categories_of(std::span(lines).subspan(1));
  if (!by_category || categories.empty()) {
    scores.front() = 1;
    return with_rest(std::move(scores));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool is_named = ascii::iequals(labels[i], word) ||
                          std::ranges::any_of(categories, [&](std::string_view each) {
                            return ascii::iequals(labels[i], each);
                          });
    if (!is_named) continue;
    scores[i] = 1;
    break;
  }
  return with_rest(std::move(scores));
}

Result<std::vector<float>> read_hook_score(std::string body, size_t labels) {
  SIGNALBOX_TRY(const json::Document document, parse_reply(std::move(body)));
  std::vector<float> scores(labels, 0);
  SIGNALBOX_TRY(scores.front(), read_score(document.root().find("score")));
  return with_rest(std::move(scores));
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_guard(
    const config::ExternalModel& server, const ClassifierModel& guard) {
  const std::vector<std::string> positive = positive_labels(guard);
  RemoteProtocol protocol = classify_protocol(positive);
  if (guard.variant == config::kHttpClassify) return open_at(server, std::move(protocol));
  protocol.window_bytes = kChatWindowBytes;
  if (guard.variant == config::kHttpChat) {
    protocol.target = "/v1/chat/completions";
    protocol.ask = [server](std::string_view text) { return chat_body(server, text); };
    const bool by_category = !guard.positive_labels.empty();
    read_by(protocol, [positive, by_category](std::string body) {
      return read_verdict(std::move(body), positive, by_category);
    });
  } else {
    protocol.target = "/";
    protocol.ask = hook_body;
    read_by(protocol, [count = positive.size()](std::string body) {
      return read_hook_score(std::move(body), count);
    });
  }
  return open_at(server, std::move(protocol));
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_labels(
    const config::ExternalModel& server, std::vector<std::string> labels) {
  return open_at(server, classify_protocol(std::move(labels)));
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_spans(
    const config::ExternalModel& server) {
  RemoteProtocol protocol = classify_protocol({});
  protocol.kind = engine::HeadKind::kTokens;
  protocol.labels.clear();
  for (const std::string_view type : config::known_pii_types()) protocol.labels.emplace_back(type);
  protocol.read = [](std::string body, std::string_view text) -> Result<engine::Answer> {
    SIGNALBOX_TRY(auto spans, read_spans(std::move(body), text));
    return engine::Answer{.scores = {}, .entities = std::move(spans)};
  };
  return open_at(server, std::move(protocol));
}

}  // namespace signalbox::models
