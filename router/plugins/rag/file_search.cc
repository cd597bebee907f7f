// The server of the model runs the tool and knows the store, so the request needs no key.

#include "router/plugins/rag/file_search.h"

#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {
namespace {

std::string file_search(const config::RagPlugin& plugin) {
  const config::RagBackend& backend = plugin.backend_config;
  const uint32_t most = backend.max_num_results > 0 ? backend.max_num_results : plugin.top_k;
  json::Writer out;
  out.begin_object().member("type", "file_search");
  out.key("vector_store_ids").begin_array().string(backend.vector_store_id).end_array();
  if (most > 0) out.member("max_num_results", int64_t{most});
  if (!backend.filter.empty()) out.key("filters").raw(backend.filter);
  if (plugin.similarity_threshold > 0) {
    out.key("ranking_options").begin_object();
    out.member("score_threshold", plugin.similarity_threshold).end_object();
  }
  return out.end_object().take();
}

bool searches_files(const json::Value& tool) {
  const auto type = tool.find("type");
  return type && type->is_string() && type->text() == "file_search";
}

}  // namespace

bool offers_file_search(const config::RagPlugin& plugin) {
  return plugin.backend == "openai" && plugin.backend_config.workflow_mode == "tool_based";
}

std::string offer_file_search(std::string body, const config::RagPlugin& plugin) {
  const auto document = json::Document::parse(std::move(body));
  SIGNALBOX_CHECK(document && document->root().is_object());
  splice::ObjectEditor editor(document->root());
  std::string tools;
  for (const json::Value& list : editor.values("tools")) {
    for (const json::Value tool : list.items()) {
      if (!searches_files(tool)) tools.append(tool.raw()).append(",");
    }
  }
  editor.set("tools", fmt::format("[{}{}]", tools, file_search(plugin)));
  std::vector<splice::Edit> edits;
  editor.finish(edits);
  return splice::apply(document->source(), std::move(edits));
}

}  // namespace signalbox::plugins
