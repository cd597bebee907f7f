// What is written there of an operation is copied as it is; only which operations stand there is
// decided here.

#include "router/admin/openapi.h"

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "router/admin/openapi_text.h"
#include "router/config/document.h"

namespace signalbox::admin {
namespace {

constexpr std::string_view kOpenapiPath = "/openapi.json";

struct Called {
  std::string method;  // in small letters, as the document has it
  std::string path;    // whole, or a prefix that ends in '/'
  bool described = false;
};

Called called(std::string_view method, std::string path) {
  return {ascii::lower_case(method), std::move(path)};
}

/// Whether a route serves an operation; those that do are marked.
bool is_served(std::vector<Called>& routes, std::string_view method, std::string_view path) {
  bool any = false;
  for (Called& route : routes) {
    if (route.method != method) continue;
    if (path != route.path && !(route.path.ends_with('/') && path.starts_with(route.path)))
      continue;
    route.described = any = true;
  }
  return any;
}

void write_path(json::Writer& out, std::string_view path, const json::Value& operations,
                std::vector<Called>& routes) {
  std::vector<json::Member> served;
  bool any = false;
  for (const json::Member& member : operations.members()) {
    const bool shared = member.key == "parameters";  // by all operations of the path
    if (!shared && !is_served(routes, member.key, path)) continue;
    served.push_back(member);
    any = any || !shared;
  }
  if (!any) return;
  out.key(path).begin_object();
  for (const json::Member& member : served) out.key(member.key).raw(member.value.raw());
  out.end_object();
}

Result<std::string> document_of(std::vector<Called> routes) {
  SIGNALBOX_TRY(std::string whole, config::show(openapi_text(), "openapi.yaml",
                                                config::Syntax::kJson, /*with_secrets=*/true));
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(whole)));
  json::Writer out;
  out.begin_object();
  for (const json::Member& member : document.root().members()) {
    if (member.key != "paths") {
      out.key(member.key).raw(member.value.raw());
      continue;
    }
    out.key(member.key).begin_object();
    for (const json::Member& path : member.value.members())
      write_path(out, path.key, path.value, routes);
    for (const Called& route : routes) {
      if (route.described) continue;
      out.key(route.path).begin_object().key(route.method).begin_object();
      out.member("x-undescribed", true).end_object().end_object();
    }
    out.end_object();
  }
  return out.end_object().take();
}

}  // namespace

gateway::Route openapi_route(std::span<const gateway::Route> routes) {
  std::vector<Called> all{called("GET", std::string(kOpenapiPath))};
  for (const gateway::Route& route : routes) all.push_back(called(route.method, route.path));
  auto document = document_of(std::move(all));
  if (!document) log::error("api", "{}", document.error().message);
  return {"GET", std::string(kOpenapiPath),
          gateway::fixed_json(document ? *std::move(document) : "{}")};
}

}  // namespace signalbox::admin
