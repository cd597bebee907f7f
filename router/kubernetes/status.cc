// Several routers write the same status, so the second one finds nothing to change.

#include "router/kubernetes/status.h"

#include "base/json_writer.h"

namespace signalbox::kubernetes {
namespace {

constexpr size_t kMessageMax = 8000;  // the definition allows 32,768
constexpr std::string_view kServes = "Configuration applied successfully";

int64_t count(const yaml::Node& spec, std::string_view key) {
  const yaml::Node* list = spec.find(key);
  return list == nullptr ? 0 : static_cast<int64_t>(list->items.size());
}

void write_statistics(json::Writer& out, const yaml::Node& spec) {
  const yaml::Node none;
  const yaml::Node* found = spec.find("signals");
  const yaml::Node& signals = found == nullptr ? none : *found;
  out.key("statistics").begin_object().member("decisions", count(spec, "decisions"));
  for (const char* family : {"keywords", "embeddings", "domains"})
    out.member(family, count(signals, family));
  out.end_object();
}

}  // namespace

std::string_view name_of(Kind kind) {
  return kind == Kind::kPool ? "IntelligentPool" : "IntelligentRoute";
}

std::string_view plural_of(Kind kind) {
  return kind == Kind::kPool ? "intelligentpools" : "intelligentroutes";
}

std::optional<std::string> status_patch(Kind kind, const Resource& resource,
                                        const Acceptance& acceptance, std::string_view now) {
  Condition wanted{
      true, acceptance.why.empty() ? "True" : "False", std::string(acceptance.reason),
      acceptance.why.empty() ? std::string(kServes) : acceptance.why.substr(0, kMessageMax),
      resource.generation};
  if (wanted == resource.ready) return std::nullopt;
  json::Writer out;
  out.begin_object().key("status").begin_object();
  out.member("observedGeneration", resource.generation);
  if (kind == Kind::kPool) {
    out.member("modelCount", count(resource.spec, "models"));
  } else {
    write_statistics(out, resource.spec);
  }
  out.key("conditions").begin_array().begin_object().member("type", "Ready");
  out.member("status", wanted.status).member("reason", wanted.reason);
  out.member("message", wanted.message).member("lastTransitionTime", now);
  out.member("observedGeneration", resource.generation);
  return out.end_object().end_array().end_object().end_object().take();
}

}  // namespace signalbox::kubernetes
