// The keys of the plugin pii_mask.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Choice kMaskOnError[] = {{"refuse", PiiMaskPlugin::OnError::kRefuse},
                                   {"rules", PiiMaskPlugin::OnError::kRules}};

constexpr Key kPiiMaskKeys[] = {
    enabled<PiiMaskPlugin>(kLeavesRequest),
    texts(FIELD(PiiMaskPlugin, types), "Types of personal data to mask. Default: all.")
        .then<note_unknown_pii_types>(),
    share(FIELD(PiiMaskPlugin, threshold),
          "Least confidence. Default: the threshold of the classifier."),
    choice(FIELD(PiiMaskPlugin, on_error), kMaskOnError,
           "If the model fails: refuse the request (default), or mask what rules find."),
};

}  // namespace

constinit const Section kPiiMask{kPiiMaskKeys};

}  // namespace signalbox::config
