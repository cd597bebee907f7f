// The names are those of the conventions' list. A model's backends serve the same model, so the
// first one speaks for all.

#include "router/upstream/provider.h"

#include <string_view>

#include "base/ascii.h"

namespace signalbox::upstream {
namespace {

struct Domain {
  std::string_view end;  // of the host
  std::string_view provider;
};

constexpr Domain kDomains[] = {
    {".openai.com", "openai"},
    {".anthropic.com", "anthropic"},
    {".openai.azure.com", "azure.ai.openai"},
    {".cognitiveservices.azure.com", "azure.ai.openai"},
    {".ai.azure.com", "azure.ai.inference"},
    {".amazonaws.com", "aws.bedrock"},
    {".cohere.com", "cohere"},
    {".cohere.ai", "cohere"},
    {".deepseek.com", "deepseek"},
    {".generativelanguage.googleapis.com", "gcp.gemini"},
    {"aiplatform.googleapis.com", "gcp.vertex_ai"},
    {".groq.com", "groq"},
    {".ml.cloud.ibm.com", "ibm.watsonx.ai"},
    {".mistral.ai", "mistral_ai"},
    {".perplexity.ai", "perplexity"},
    {".x.ai", "x_ai"},
};

bool is_bedrock(std::string_view host) {
  return host.starts_with(".bedrock");
}

}  // namespace

std::string provider_of(const config::Model& model) {
  const bool is_anthropic = model.api_format == config::Model::ApiFormat::kAnthropic;
  const std::string_view by_api = is_anthropic ? "anthropic" : "openai";
  if (model.backend_refs.empty()) return std::string(by_api);
  const config::BackendRef& backend = model.backend_refs.front();
  if (backend.type == "echo") return "signalbox";
  const std::string host = ascii::lower_case("." + backend.host);
  for (const Domain& domain : kDomains) {
    // Amazon rents out machines under the same domain.
    if (domain.provider == "aws.bedrock" && !is_bedrock(host)) continue;
    if (host.ends_with(domain.end)) return std::string(domain.provider);
  }
  const bool is_named = !backend.type.empty() && backend.type != "chat";
  return is_named ? backend.type : std::string(by_api);
}

}  // namespace signalbox::upstream
