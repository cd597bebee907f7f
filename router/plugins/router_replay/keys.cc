// The keys of the plugin router_replay. router/observe has the records.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Key kRouterReplayKeys[] = {
    enabled<RouterReplayPlugin>("false records nothing. Default: true."),
    count(FIELD(RouterReplayPlugin, max_records), "Records to keep.")
        .not_built("max_records of global.services.router_replay limits all records together"),
    boolean(FIELD(RouterReplayPlugin, capture_request_body), "Record requests in full."),
    boolean(FIELD(RouterReplayPlugin, capture_response_body), "Record replies in full."),
    boolean(FIELD(RouterReplayPlugin, capture_personal_data),
            "false records no texts, because personal data may be in any. Default: true."),
    count(
        FIELD(RouterReplayPlugin, body_ttl_seconds),
        "Time for which records keep them, in seconds. 0: as long as the record. Default: that of "
        "global.services.router_replay."),
    count(FIELD(RouterReplayPlugin, max_body_bytes),
          "Greatest size of a recorded body, in bytes. 0: no limit."),
    count(FIELD(RouterReplayPlugin, max_tool_trace_bytes), "Greatest size of a tool call.")
        .not_built(kNoTraces),
    count(FIELD(RouterReplayPlugin, max_tool_trace_steps), "Tool calls of a request to record.")
        .not_built(kNoTraces),
};

void check_personal_data(Reader& reader, const yaml::Node& node, RouterReplayPlugin& plugin) {
  if (!plugin.capture_personal_data && captures_texts(plugin))
    note_lost_texts(reader, "capture_personal_data", node.find("capture_personal_data")->line);
}

}  // namespace

bool captures_texts(const RouterReplayPlugin& plugin) {
  return plugin.enabled && (plugin.capture_request_body || plugin.capture_response_body);
}

void note_lost_texts(Reader& reader, std::string_view path, uint32_t line) {
  reader.at_key(path, [&] {
    reader.does_without(line, "no texts are recorded, because personal data may be in any");
  });
}

constinit const Section kRouterReplayPlugin{kRouterReplayKeys, checked<check_personal_data>};

}  // namespace signalbox::config
