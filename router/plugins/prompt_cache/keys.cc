// The keys of the plugin prompt_cache. dialects/to_messages sets the marks.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

void check_targets(Reader& reader, const yaml::Node& node, std::vector<std::string>& targets) {
  const auto is_known = [](const std::string& target) {
    return target == kCachedInstructions || target == kCachedTools;
  };
  if (!targets.empty() && std::ranges::all_of(targets, is_known)) return;
  reader.error(node.line, "expected instructions, tools, or both");
}

using OnUnsupported = PromptCachePlugin::OnUnsupported;

constexpr Choice kOnUnsupported[] = {{"skip", OnUnsupported::kSkip},
                                     {"reject", OnUnsupported::kReject}};

constexpr Key kPromptCacheKeys[] = {
    enabled<PromptCachePlugin>("true sets the marks. Default: false."),
    word(FIELD(PromptCachePlugin, ttl), "5m 1h", "Lifetime in the server's cache. Default: 5m."),
    texts(FIELD(PromptCachePlugin, targets),
          "Parts to mark: `instructions`, which are the system's messages, and `tools`. Default: "
          "both.")
        .then<check_targets>(),
    choice(FIELD(PromptCachePlugin, on_unsupported), kOnUnsupported,
           "Reaction to a request whose server has another API than Anthropic's: send it "
           "without marks (`skip`, the default), or refuse it (`reject`)."),
};

}  // namespace

constinit const Section kPromptCache{kPromptCacheKeys};

}  // namespace signalbox::config
