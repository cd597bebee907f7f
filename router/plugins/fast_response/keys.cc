// The keys of the plugin fast_response.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Key kFastResponseKeys[] = {
    string(FIELD(FastResponsePlugin, message), "Text of the reply. No model is called.").required(),
};

}  // namespace

constinit const Section kFastResponse{kFastResponseKeys};

}  // namespace signalbox::config
