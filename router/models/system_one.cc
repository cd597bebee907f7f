// One question is sent with each text, so that each signal has its own time limit, cache and
// failures. Its name in the request is always the same, because servers only repeat it.

#include "router/models/system_one.h"

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::models {
namespace {

using Kind = RemoteQuestion::Kind;

constexpr std::string_view kQuestionName = "question";
constexpr size_t kTextWindowBytes = 32 << 10;

std::string_view type_of(Kind kind) {
  switch (kind) {
    case Kind::kChoice:
      return "choice";
    case Kind::kYesNo:
      return "noul";
    case Kind::kScore:
      return "score";
  }
  return "";
}

// An option without a description has null.
void write_options(const RemoteQuestion& question, json::Writer& out) {
  out.key("criteria").begin_object();
  for (size_t i = 0; i < question.labels.size(); ++i) {
    const bool described = i < question.meanings.size() && !question.meanings[i].empty();
    out.key(question.labels[i]);
    described ? out.string(question.meanings[i]) : out.null();
  }
  out.end_object();
}

void write_levels(const RemoteQuestion& question, json::Writer& out) {
  out.key("criteria").begin_array();
  for (const std::string& level : question.labels) out.string(level);
  out.end_array();
}

Result<float> probability(const std::optional<json::Value>& value) {
  const auto number = value ? value->number() : Result<double>(fail(Code::kUpstream, ""));
  if (!number || !(*number >= 0 && *number <= 1))
    return fail(Code::kUpstream, "the answer lacks a probability from 0 to 1");
  return static_cast<float>(*number);
}

}  // namespace

std::string system_one_body(const config::ExternalModel& server, const RemoteQuestion& question,
                            std::string_view text) {
  json::Writer out;
  out.begin_object().member("model", server.llm_model_name).member("state", text);
  out.key("questions").begin_object().key(kQuestionName).begin_object();
  out.member("type", type_of(question.kind)).member("instructions", question.instructions);
  if (question.kind == Kind::kChoice) write_options(question, out);
  if (question.kind == Kind::kScore) write_levels(question, out);
  return out.end_object().end_object().end_object().take();
}

Result<std::vector<float>> read_system_one(std::string body, const RemoteQuestion& question) {
  const auto document = json::Document::parse(std::move(body));
  const auto answers = document ? document->root().find("answers") : std::nullopt;
  const auto answer = answers ? answers->find(kQuestionName) : std::nullopt;
  if (!answer) return fail(Code::kUpstream, "the reply has no answer to the question");
  if (question.kind == Kind::kYesNo) {
    SIGNALBOX_TRY(const float yes, probability(answer->find("noul")));
    return std::vector<float>{yes, 1 - yes};
  }
  const auto probabilities = answer->find("probabilities");
  if (!probabilities) return fail(Code::kUpstream, "the answer has no probabilities");
  std::vector<float> out;
  for (size_t i = 0; i < question.labels.size(); ++i) {
    // Levels are numbered.
    const std::string name =
        question.kind == Kind::kScore ? fmt::format("{}", i) : question.labels[i];
    SIGNALBOX_TRY(const float score, probability(probabilities->find(name)));
    out.push_back(score);
  }
  return out;
}

Result<std::shared_ptr<const engine::TextModel>> open_system_one(
    const config::ExternalModel& server, RemoteQuestion question, std::chrono::milliseconds limit) {
  RemoteProtocol protocol;
  protocol.target = server.llm_endpoint.path.empty() ? "/v1/systemone" : server.llm_endpoint.path;
  protocol.labels = question.labels;
  protocol.window_bytes = kTextWindowBytes;
  protocol.limit = limit;
  protocol.read = [question](std::string body, const engine::Input&) -> Result<engine::Answer> {
    SIGNALBOX_TRY(auto scores, read_system_one(std::move(body), question));
    return engine::Answer{.scores = std::move(scores), .entities = {}};
  };
  protocol.write = [server, question = std::move(question)](const engine::Input& input) {
    return system_one_body(server, question, input.text);
  };
  return open_remote(server, std::move(protocol));
}

}  // namespace signalbox::models
