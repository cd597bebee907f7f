// The keys of the plugin response_jailbreak. router/replies checks the replies.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Choice kReplyActions[] = {{"header", ResponseJailbreakPlugin::Action::kHeader},
                                    {"block", ResponseJailbreakPlugin::Action::kBlock},
                                    {"none", ResponseJailbreakPlugin::Action::kNone}};

constexpr Key kResponseJailbreakKeys[] = {
    enabled<ResponseJailbreakPlugin>(kLeavesReply),
    share(FIELD(ResponseJailbreakPlugin, threshold),
          "Least score. Default: the threshold of prompt_guard."),
    choice(FIELD(ResponseJailbreakPlugin, action), kReplyActions,
           "Warn in a header (default), block the reply, or do nothing."),
};

}  // namespace

constinit const Section kResponseJailbreak{kResponseJailbreakKeys};

}  // namespace signalbox::config
