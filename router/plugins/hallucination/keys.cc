// The keys of the plugin hallucination. router/replies checks the replies.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

// A warning has no kBlock, the last one.
constexpr Choice kHallucinationActions[] = {{"header", HallucinationPlugin::Action::kHeader},
                                            {"body", HallucinationPlugin::Action::kBody},
                                            {"none", HallucinationPlugin::Action::kNone},
                                            {"block", HallucinationPlugin::Action::kBlock}};

constexpr Key kHallucinationKeys[] = {
    enabled<HallucinationPlugin>(kLeavesReply),
    boolean(FIELD(HallucinationPlugin, use_nli),
            "Check by an NLI model whether each span contradicts the context."),
    choice(FIELD(HallucinationPlugin, hallucination_action), kHallucinationActions,
           "Warn in a header (default) or in the body, ignore it, or block the reply (Signalbox "
           "only)."),
    choice(FIELD(HallucinationPlugin, unverified_factual_action),
           std::span(kHallucinationActions).first(3),
           "The same for a reply to a question of fact without context to check against."),
    boolean(FIELD(HallucinationPlugin, include_hallucination_details),
            "Name the spans in the warning."),
};

}  // namespace

constinit const Section kHallucination{kHallucinationKeys};

}  // namespace signalbox::config
