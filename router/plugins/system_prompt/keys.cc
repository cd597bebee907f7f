// The keys of the plugin system_prompt.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Choice kPromptModes[] = {{"replace", SystemPromptPlugin::Mode::kReplace},
                                   {"insert", SystemPromptPlugin::Mode::kInsert}};

constexpr Key kSystemPromptKeys[] = {
    enabled<SystemPromptPlugin>(kLeavesRequest),
    choice(FIELD(SystemPromptPlugin, mode), kPromptModes,
           "Replace the client's system prompt (default), or insert the text in front of it."),
    text(FIELD(SystemPromptPlugin, system_prompt), "The text.").required(),
};

}  // namespace

constinit const Section kSystemPrompt{kSystemPromptKeys};

}  // namespace signalbox::config
