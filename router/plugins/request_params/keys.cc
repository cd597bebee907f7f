// The keys of the plugin request_params.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

// There is no request without these two.
void check_blocked_params(Reader& reader, const yaml::Node& node, RequestParamsPlugin& plugin) {
  for (const std::string& name : plugin.blocked_params) {
    if (name != "model" && name != "messages") continue;
    reader.at_key("blocked_params", [&] {
      reader.error(node.find("blocked_params")->line,
                   fmt::format("\"{}\" cannot be removed from a request", name));
    });
  }
}

constexpr Key kRequestParamsKeys[] = {
    texts(FIELD(RequestParamsPlugin, blocked_params), "Parameters to remove."),
    count(FIELD(RequestParamsPlugin, max_tokens_limit), "Greatest value of `max_tokens`."),
    count(FIELD(RequestParamsPlugin, max_n), "Greatest value of `n`."),
    boolean(FIELD(RequestParamsPlugin, strip_unknown),
            "Remove parameters that OpenAI's API does not have."),
};

}  // namespace

constinit const Section kRequestParams{kRequestParamsKeys, checked<check_blocked_params>};

}  // namespace signalbox::config
