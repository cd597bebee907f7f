// Each protocol is a path, the body of a call and the reader of its reply.

#include "router/models/remote_guard.h"

#include "base/json_writer.h"
#include "router/models/class_names.h"
#include "router/models/remote_classifier.h"
#include "router/models/remote_replies.h"

namespace signalbox::models {
namespace {

using config::ClassifierModel;

constexpr std::string_view kPrefix = "external:";
constexpr std::string_view kRest = "(none of them)";
// A classifier may cut its input at 512 tokens, and an attack behind that would not be read. A
// token has at least one byte.
constexpr size_t kClassifierWindowBytes = 512;
// Classes are a mean over the windows, so a server that cuts one changes the result little. A usual
// question is one call: 512 tokens have about three bytes each.
constexpr size_t kClassWindowBytes = 1536;
constexpr size_t kChatWindowBytes = 32 << 10;
constexpr uint32_t kVerdictTokens = 64;

std::vector<std::string> positive_labels(const ClassifierModel& guard) {
  if (guard.positive_labels.empty()) return {"jailbreak"};
  return guard.positive_labels;
}

std::string inputs_body(const engine::Input& input) {
  return json::Writer().begin_object().member("inputs", input.text).end_object().take();
}

std::string hook_body(const engine::Input& input) {
  json::Writer out;
  out.begin_object().member("task", "jailbreak").member("text", input.text);
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
                                           const engine::Input&) -> Result<engine::Answer> {
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
  out.write = inputs_body;
  read_by(out, [labels = std::move(labels)](std::string body) {
    return read_label_scores(std::move(body), labels);
  });
  return out;
}

Result<std::shared_ptr<const engine::TextModel>> open_at(const config::ExternalModel& server,
                                                         RemoteProtocol protocol,
                                                         uint32_t deadline_ms = 0) {
  protocol.limit = std::chrono::milliseconds(deadline_ms);
  if (!server.llm_endpoint.path.empty()) protocol.target = server.llm_endpoint.path;
  return open_remote(server, std::move(protocol));
}

}  // namespace

const std::string& shown_name(const config::ExternalModel& server) {
  return server.name.empty() ? server.llm_endpoint.address : server.name;
}

std::string remote_guard_name(std::string_view task, const config::ExternalModel& server) {
  return fmt::format("{}{}:{}", kPrefix, task, shown_name(server));
}

bool is_remote_guard(std::string_view directory) {
  return directory.starts_with(kPrefix);
}

std::string_view server_in(std::string_view directory) {
  if (!is_remote_guard(directory)) return {};
  directory.remove_prefix(kPrefix.size());
  return directory.substr(directory.find(':') + 1);
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_guard(
    const config::ExternalModel& server, const ClassifierModel& guard) {
  const std::vector<std::string> positive = positive_labels(guard);
  RemoteProtocol protocol = classify_protocol(positive);
  if (guard.variant == config::kHttpClassify)
    return open_at(server, std::move(protocol), guard.deadline_ms);
  protocol.window_bytes = kChatWindowBytes;
  if (guard.variant == config::kHttpChat) {
    protocol.target = "/v1/chat/completions";
    protocol.write = [server](const engine::Input& input) { return chat_body(server, input.text); };
    const bool by_category = !guard.positive_labels.empty();
    read_by(protocol, [positive, by_category](std::string body) {
      return read_verdict(std::move(body), positive, by_category);
    });
  } else {
    protocol.target = "/";
    protocol.write = hook_body;
    read_by(protocol, [count = positive.size()](std::string body) {
      return read_hook_score(std::move(body), count);
    });
  }
  return open_at(server, std::move(protocol), guard.deadline_ms);
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_labels(
    const config::ExternalModel& server, std::vector<std::string> labels) {
  return open_at(server, classify_protocol(std::move(labels)));
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_spans(
    const config::ExternalModel& server, const ClassifierModel& module) {
  RemoteProtocol protocol = classify_protocol({});
  protocol.kind = engine::HeadKind::kTokens;
  protocol.labels.clear();
  for (const std::string_view type : config::known_pii_types()) protocol.labels.emplace_back(type);
  protocol.read = [](std::string body, const engine::Input& input) -> Result<engine::Answer> {
    SIGNALBOX_TRY(auto spans, read_spans(std::move(body), input.text));
    return engine::Answer{.scores = {}, .entities = std::move(spans)};
  };
  return open_at(server, std::move(protocol), module.deadline_ms);
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_classes(
    const config::ExternalModel& server, const ClassifierModel& module,
    std::vector<std::string> classes) {
  RemoteProtocol protocol = classify_protocol(classes);
  protocol.window_bytes = kClassWindowBytes;
  // Servers usually name their classes, and then the file need not exist.
  auto names = module.mapping_path.empty() ? Result<std::vector<std::string>>{}
                                           : read_class_names(module.mapping_path, 0);
  if (!names && names.error().code != Code::kNotFound)
    return tl::unexpected<Error>(std::move(names).error());
  read_by(
      protocol,
      [classes = std::move(classes), names = std::move(names).value_or(std::vector<std::string>{})](
          std::string body) { return read_class_scores(std::move(body), classes, names); });
  return open_at(server, std::move(protocol), module.deadline_ms);
}

Result<std::shared_ptr<const engine::TextModel>> open_remote_scorer(
    const config::ExternalModel& server, const config::ClassifierModel& module) {
  RemoteProtocol protocol = classify_protocol({});
  protocol.labels = {"score"};
  protocol.window_bytes = kClassWindowBytes;
  read_by(protocol, [](std::string body) { return read_unbounded_score(std::move(body)); });
  return open_at(server, std::move(protocol), module.deadline_ms);
}

}  // namespace signalbox::models
