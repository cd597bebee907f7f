// Facts that files leave out, because the Semantic Router has them: the addresses of well-known
// providers, the names that models of its catalogue have at servers, and the parameters by which
// families of models reason. Only public facts are here; a name that is missing is an error of the
// file, whose own keys set it.

#include <algorithm>
#include <iterator>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// The paths of chat completions do not begin with /v1 everywhere.
constexpr std::string_view kChat = "/chat/completions";

constexpr KnownProvider kKnownProviders[] = {
    {"anthropic", "https://api.anthropic.com", "", ""},
    {"dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "", "qwen"},
    {"deepseek", "https://api.deepseek.com/v1", "", "deepseek"},
    {"gemini", "https://generativelanguage.googleapis.com/v1beta/openai", kChat, "google"},
    {"groq", "https://api.groq.com/openai/v1", "", ""},
    {"mistral", "https://api.mistral.ai/v1", "", "mistral"},
    {"moonshot", "https://api.moonshot.ai/v1", "", "moonshot"},
    {"openai", "https://api.openai.com/v1", "", "openai"},
    {"openrouter", "https://openrouter.ai/api/v1", "", ""},
    {"together", "https://api.together.ai/v1", "", ""},
    {"xai", "https://api.x.ai/v1", "", "xai"},
    {"zai", "https://api.z.ai/api/paas/v4", kChat, "zai"},
};

/// The name of a model in the catalogue, and that of its repository at Hugging Face, under which a
/// server of one's own has it by default.
struct OpenModel {
  std::string_view catalog, repository;
};
constexpr OpenModel kOpenModels[] = {
    {"ai21/jamba-large-1.7", "ai21labs/AI21-Jamba-Large-1.7"},
    {"ai21/jamba-reasoning-3b", "ai21labs/AI21-Jamba-Reasoning-3B"},
    {"ai21/jamba2-mini", "ai21labs/AI21-Jamba2-Mini"},
    {"baidu/ernie-4.5-300b-a47b", "baidu/ERNIE-4.5-300B-A47B-PT"},
    {"bytedance/seed-oss-36b-instruct", "ByteDance-Seed/Seed-OSS-36B-Instruct"},
    {"cohere/command-a-plus-05-2026", "CohereLabs/command-a-plus-05-2026-w4a4"},
    {"cohere/north-mini-code-1.0", "CohereLabs/North-Mini-Code-1.0"},
    {"cohere/tiny-aya-global", "CohereLabs/tiny-aya-global"},
    {"deepseek/deepseek-r1", "deepseek-ai/DeepSeek-R1"},
    {"deepseek/deepseek-v3", "deepseek-ai/DeepSeek-V3"},
    {"deepseek/deepseek-v3-0324", "deepseek-ai/DeepSeek-V3-0324"},
    {"deepseek/deepseek-v3.1-terminus", "deepseek-ai/DeepSeek-V3.1-Terminus"},
    {"deepseek/deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2"},
    {"deepseek/deepseek-v4-flash", "deepseek-ai/DeepSeek-V4-Flash"},
    {"deepseek/deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro"},
    {"google/gemma-3-12b-it", "google/gemma-3-12b-it"},
    {"google/gemma-3-27b-it", "google/gemma-3-27b-it"},
    {"google/gemma-4-31b-it", "google/gemma-4-31b-it"},
    {"intern/intern-s1", "internlm/Intern-S1"},
    {"intern/intern-s2-preview-35b", "internlm/Intern-S2-Preview"},
    {"intern/intern-s2-preview-397b", "internlm/Intern-S2-Preview-397B"},
    {"meta/llama-4-maverick-17b-128e-instruct", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"},
    {"meta/llama-4-scout-17b-16e-instruct", "meta-llama/Llama-4-Scout-17B-16E-Instruct"},
    {"meta/muse-glimmer-30b", "meta-models/Muse-Glimmer-30B"},
    {"microsoft/phi-4-mini-flash-reasoning", "microsoft/Phi-4-mini-flash-reasoning"},
    {"microsoft/phi-4-reasoning-vision-15b", "microsoft/Phi-4-reasoning-vision-15B"},
    {"minimax/minimax-m2.5", "MiniMaxAI/MiniMax-M2.5"},
    {"minimax/minimax-m2.7", "MiniMaxAI/MiniMax-M2.7"},
    {"minimax/minimax-m3", "MiniMaxAI/MiniMax-M3"},
    {"mistral/mistral-large-3", "mistralai/Mistral-Large-3-675B-Instruct-2512"},
    {"mistral/mistral-small-3.2-24b-instruct", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"},
    {"mistral/mistral-small-4", "mistralai/Mistral-Small-4-119B-2603"},
    {"moonshot/kimi-k2.5", "moonshotai/Kimi-K2.5"},
    {"moonshot/kimi-k2.6", "moonshotai/Kimi-K2.6"},
    {"moonshot/kimi-k2.7-code", "moonshotai/Kimi-K2.7-Code"},
    {"moonshot/kimi-k3", "moonshotai/Kimi-K3"},
    {"nvidia/nemotron-3-nano-30b-a3b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"},
    {"nvidia/nemotron-3-super", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"},
    {"nvidia/nemotron-3.5-lightning", "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16"},
    {"nvidia/nemotron-cascade-2-30b-a3b", "nvidia/Nemotron-Cascade-2-30B-A3B"},
    {"openai/gpt-oss-120b", "openai/gpt-oss-120b"},
    {"openai/gpt-oss-20b", "openai/gpt-oss-20b"},
    {"qwen/qwen3-235b-a22b-thinking-2507", "Qwen/Qwen3-235B-A22B-Thinking-2507"},
    {"qwen/qwen3-30b-a3b-thinking-2507", "Qwen/Qwen3-30B-A3B-Thinking-2507"},
    {"qwen/qwen3.5-122b-a10b", "Qwen/Qwen3.5-122B-A10B"},
    {"qwen/qwen3.5-397b-a17b", "Qwen/Qwen3.5-397B-A17B"},
    {"qwen/qwen3.6-27b", "Qwen/Qwen3.6-27B"},
    {"qwen/qwen3.6-35b-a3b", "Qwen/Qwen3.6-35B-A3B"},
    {"qwen/qwen3.8-2.4t-a95b", "Qwen/Qwen3.8-2.4T-A95B"},
    {"qwen/qwen3.8-27b", "Qwen/Qwen3.8-27B"},
    {"qwen/qwen3.8-flash-next", "Qwen/Qwen3.8-Flash-Next"},
    {"stepfun/step-3.5-flash", "stepfun-ai/Step-3.5-Flash"},
    {"stepfun/step-3.7-flash", "stepfun-ai/Step-3.7-Flash"},
    {"stepfun/step3-vl-10b", "stepfun-ai/Step3-VL-10B"},
    {"tencent/hunyuan-7b-instruct", "tencent/Hunyuan-7B-Instruct"},
    {"tencent/hunyuan-a13b-instruct", "tencent/Hunyuan-A13B-Instruct"},
    {"tencent/hy3", "tencent/Hy3"},
    {"tencent/hy4-preview", "tencent/Hy4-preview"},
    {"thinking-machines/inkling", "thinkingmachines/Inkling"},
    {"thinking-machines/inkling-small", "thinkingmachines/Inkling-Small"},
    {"xiaomi/mimo-v2-flash", "XiaomiMiMo/MiMo-V2-Flash"},
    {"xiaomi/mimo-v2.5", "XiaomiMiMo/MiMo-V2.5"},
    {"xiaomi/mimo-v2.5-pro", "XiaomiMiMo/MiMo-V2.5-Pro"},
    {"zai/glm-5.1", "zai-org/GLM-5.1"},
    {"zai/glm-5.2", "zai-org/GLM-5.2"},
    {"zai/glm-5.3", "zai-org/GLM-5.3"},
    {"zai/glm-5.3-flash", "zai-org/GLM-5.3-Flash"},
};

/// A provider's own name of a model that does not follow from the catalogue's.
struct OtherName {
  std::string_view provider, catalog, name;
};
constexpr OtherName kOtherNames[] = {
    {"deepseek", "deepseek/deepseek-v4.1-flash", "deepseek-flash"},
    {"gemini", "google/gemini-3.1-pro", "gemini-3.1-pro-preview"},
    {"mistral", "mistral/ministral-3-14b-instruct", "ministral-14b-2512"},
    {"mistral", "mistral/mistral-large-3", "mistral-large-2512"},
    {"mistral", "mistral/mistral-medium-3.5", "mistral-medium-3-5"},
    {"mistral", "mistral/mistral-small-4", "mistral-small-2603"},
    {"openrouter", "amazon/nova-2-lite", "amazon/nova-2-lite-v1"},
    {"openrouter", "bytedance/seed-2.1-turbo", "bytedance-seed/seed-2-1-turbo"},
    {"openrouter", "deepseek/deepseek-v3", "deepseek/deepseek-chat"},
    {"openrouter", "deepseek/deepseek-v3-0324", "deepseek/deepseek-chat-v3-0324"},
    {"openrouter", "deepseek/deepseek-v4-flash", "deepseek/deepseek-v4-flash-0731"},
    {"openrouter", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-pro-0813"},
    {"openrouter", "google/gemini-3.1-pro", "google/gemini-3.1-pro-preview"},
    {"openrouter", "moonshot/kimi-k2.7-code", "moonshotai/kimi-k2.7-code"},
    {"openrouter", "qwen/qwen3.8-max", "qwen/qwen3.8-max-0902"},
    {"openrouter", "thinking-machines/inkling", "thinkingmachines/inkling"},
    {"openrouter", "thinking-machines/inkling-small", "thinkingmachines/inkling-small"},
};

/// The beginning of names that the catalogue and a provider of many publishers share. Other
/// publishers have other names there, such as x-ai and mistralai.
struct SharedNames {
  std::string_view provider, beginning;
};
constexpr SharedNames kSharedNames[] = {
    {"groq", "openai/gpt-oss-"}, {"groq", "qwen/"},         {"openrouter", "anthropic/"},
    {"openrouter", "deepseek/"}, {"openrouter", "google/"}, {"openrouter", "openai/"},
    {"openrouter", "qwen/"},
};

// The name at the provider's servers; "": unknown.
std::string_view name_at(std::string_view provider, std::string_view catalog) {
  for (const OtherName& other : kOtherNames) {
    if (other.provider == provider && other.catalog == catalog) return other.name;
  }
  const KnownProvider* known = find_provider(provider);
  const size_t slash = catalog.find('/');
  if (known != nullptr && !known->publisher.empty()) {
    const bool is_own = slash != catalog.npos && catalog.substr(0, slash) == known->publisher;
    return is_own ? catalog.substr(slash + 1) : std::string_view();
  }
  for (const SharedNames& shared : kSharedNames) {
    if (shared.provider == provider && catalog.starts_with(shared.beginning)) return catalog;
  }
  const bool has_repositories =
      provider.empty() || provider == "vllm" || provider == "sglang" || provider == "together";
  const auto open = std::ranges::find(kOpenModels, catalog, &OpenModel::catalog);
  return has_repositories && open != std::end(kOpenModels) ? open->repository : std::string_view();
}

// --- reasoning ---

constexpr Choice kReasoningTypes[] = {
    {"chat_template_kwargs", ReasoningFamily::Type::kChatTemplateKwargs},
    {"reasoning_effort", ReasoningFamily::Type::kReasoningEffort},
    {"top_level_reasoning_effort", ReasoningFamily::Type::kTopLevelReasoningEffort},
};

constexpr std::string_view kNoModes = "`use_reasoning` of the decision switches reasoning";

constexpr Key kModelReasoningKeys[] = {
    text(FIELD_AS("family", Model, reasoning_family), "The same as `reasoning_family`."),
    choice(FIELD_AS("type", Model, own_reasoning.type), kReasoningTypes,
           "Place of the parameter in a request, instead of a family."),
    text(FIELD_AS("parameter", Model, own_reasoning.parameter),
         "Name of the parameter, for `type`. It may be left out beside `effort_flags`."),
    text(FIELD_AS("activation_parameter", Model, own_reasoning.activation_parameter),
         "A further switch in `chat_template_kwargs`, for the type `reasoning_effort`: true with "
         "reasoning, else false."),
    text_map(FIELD_AS("effort_flags", Model, own_reasoning.effort_flags),
             "The switch in `chat_template_kwargs` for each effort, for the type "
             "`reasoning_effort` in place of `parameter`. An effort without one needs none."),
    texts(FIELD_AS("levels", Model, own_reasoning.levels),
          "Efforts that the model has. A decision with another one gets a notice."),
    text(FIELD_AS("default", Model, own_reasoning.default_effort),
         "Effort if a decision names none. Default: `default_reasoning_effort`."),
    text(FIELD_AS("disabled", Model, own_reasoning.disabled),
         "Effort that switches reasoning off. Default: that of the client, or `low`."),
    unread("modes", "Modes that the model has.", kNoModes),
    unread("default_mode", "Mode if a decision names none.", kNoModes),
};

constexpr Key kReasoningFamilyKeys[] = {
    choice(FIELD(ReasoningFamily, type), kReasoningTypes, "Place of the parameter in a request.")
        .required(),
    text(FIELD(ReasoningFamily, parameter), "Name of the parameter.").required(),
};

// Families that a file need not describe. The names are the Semantic Router's.
struct KnownFamily {
  std::string_view name;
  ReasoningFamily::Type type;
  std::string_view parameter;
};
constexpr KnownFamily kKnownFamilies[] = {
    {"deepseek", ReasoningFamily::Type::kChatTemplateKwargs, "thinking"},
    {"gpt", ReasoningFamily::Type::kReasoningEffort, "reasoning_effort"},
    {"gpt-oss", ReasoningFamily::Type::kReasoningEffort, "reasoning_effort"},
    {"qwen3", ReasoningFamily::Type::kChatTemplateKwargs, "enable_thinking"},
};

void find_family(Reader& reader, uint32_t line, const std::string& family) {
  auto& families = reader.config.providers.reasoning_families;
  if (families.contains(family)) return;
  std::vector<std::string_view> known;
  for (const auto& [name, described] : families) known.push_back(name);
  for (const KnownFamily& each : kKnownFamilies) {
    known.push_back(each.name);
    if (each.name != family) continue;
    families[family].type = each.type;
    families[family].parameter = each.parameter;
    return;
  }
  reader.error(line, fmt::format("unknown family \"{}\" (known: {})", family, join(known)));
}

constexpr std::string_view kEffort = "reasoning_effort";

using Type = ReasoningFamily::Type;

/// Gives a notice for each own switch that the family does not read. The reader is at `reasoning`.
void check_switches(Reader& reader, const yaml::Node& reasoning, const ReasoningFamily& family) {
  const auto check = [&](std::string_view key, bool has_effect, std::string_view why) {
    const yaml::Node* written = given(reasoning, key);
    if (written == nullptr || has_effect) return;
    reader.at_key(key,
                  [&] { reader.notice(written->line, fmt::format("has no effect: {}", why)); });
  };
  const bool has_switches = family.type == Type::kReasoningEffort;
  constexpr std::string_view kOtherType = "only the type reasoning_effort has further switches";
  check("activation_parameter", has_switches, kOtherType);
  check("effort_flags", has_switches, kOtherType);
  if (family.type == Type::kChatTemplateKwargs) {
    check("disabled", false, "the type chat_template_kwargs has no efforts");
  } else if (has_switches) {
    check(
        "disabled", family.effort_flags.empty() || family.effort_flags.contains(family.disabled),
        "effort_flags has no switch for this effort, except at servers that get the effort itself");
  }
}

/// Gives the model a family of its own.
void describe_family(Reader& reader, const yaml::Node& reasoning, const ReasoningFamily& family,
                     Model& out) {
  out.reasoning_family = fmt::format("reasoning of {}", out.name);
  reader.config.providers.reasoning_families[out.reasoning_family] = family;
  reader.at_key("reasoning", [&] { check_switches(reader, reasoning, family); });
}

/// Gives a model with own switches a copy of its family with these switches.
void extend_family(Reader& reader, const yaml::Node& reasoning, Model& out) {
  const ReasoningFamily& own = out.own_reasoning;
  if (own.disabled.empty() && own.activation_parameter.empty() && own.effort_flags.empty()) return;
  const auto& families = reader.config.providers.reasoning_families;
  const auto base = families.find(out.reasoning_family);
  if (base == families.end()) return;  // an error
  ReasoningFamily family = own;
  family.type = base->second.type;
  family.parameter = base->second.parameter;
  describe_family(reader, reasoning, family, out);
}

}  // namespace

constinit const Section kModelReasoning{kModelReasoningKeys};
constinit const Section kReasoningFamily{kReasoningFamilyKeys};

void set_reasoning(Reader& reader, const yaml::Node& node, Model& out) {
  const yaml::Node* reasoning = node.find("reasoning");
  const auto has = [&](std::string_view key) {
    return reasoning != nullptr && given(*reasoning, key) != nullptr;
  };
  if (has("type") || has("parameter")) {
    ReasoningFamily& own = out.own_reasoning;
    if (own.type == Type::kReasoningEffort && has("type") && own.parameter.empty() &&
        !own.effort_flags.empty())
      own.parameter = kEffort;  // for servers that get the effort itself
    if (!out.reasoning_family.empty() || !has("type") || own.parameter.empty()) {
      return reader.at_key("reasoning", [&] {
        reader.error(reasoning->line, "expected either family, or type and parameter");
      });
    }
    return describe_family(reader, *reasoning, own, out);
  }
  if (out.reasoning_family.empty()) {
    if (has("disabled") || has("activation_parameter") || has("effort_flags"))
      reader.at_key("reasoning", [&] {
        reader.notice(reasoning->line,
                      "has no effect without family, or type and parameter: the client's setting "
                      "stays");
      });
    return;
  }
  const bool is_newer = has("family");
  if (is_newer && given(node, "reasoning_family") != nullptr)
    return reader.error(reasoning->line,
                        "\"reasoning_family\" and \"reasoning.family\" are the same; expected "
                        "one of them");
  const yaml::Node* at = is_newer ? reasoning->find("family") : node.find("reasoning_family");
  reader.at_key(is_newer ? "reasoning.family" : "reasoning_family",
                [&] { find_family(reader, at->line, out.reasoning_family); });
  if (reasoning != nullptr) extend_family(reader, *reasoning, out);
}

const KnownProvider* find_provider(std::string_view id) {
  const auto found = std::ranges::find(kKnownProviders, id, &KnownProvider::id);
  return found == std::end(kKnownProviders) ? nullptr : &*found;
}

const KnownProvider* find_provider_at(std::string_view address) {
  if (address.ends_with('/')) address.remove_suffix(1);
  const auto found = std::ranges::find(kKnownProviders, address, &KnownProvider::base_url);
  return found == std::end(kKnownProviders) ? nullptr : &*found;
}

// A wrong name would fail every request.
std::string name_in_catalog(Reader& reader, const yaml::Node& node, const Model& model) {
  if (model.catalog.empty()) return model.name;
  std::string_view name;
  const auto missing = [&](const std::string& why) {
    reader.at_key("provider_model_id",
                  [&] { reader.error(node.line, fmt::format("missing; {}", why)); });
    return model.name;
  };
  for (const BackendRef& backend : model.backend_refs) {
    if (backend.type == "echo") continue;
    const std::string_view own = name_at(backend.provider, model.catalog);
    if (own.empty())
      return missing(
          fmt::format("the name of \"{}\" at the server is not known here", model.catalog));
    if (!name.empty() && name != own)
      return missing(
          fmt::format("\"{}\" is \"{}\" at one backend and \"{}\" at another; expected "
                      "a model for each",
                      model.catalog, name, own));
    name = own;
  }
  return name.empty() ? model.name : std::string(name);
}

}  // namespace signalbox::config
