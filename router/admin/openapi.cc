// The text of an operation is copied from openapi.yaml. This file only decides which operations are
// included.

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

struct ServedRoute {
  std::string method;  // in lower case, as in the document
  std::string path;    // a whole path, or a prefix that ends in '/'
  bool described = false;
};

ServedRoute served_route(std::string_view method, std::string path) {
  return {ascii::lower_case(method), std::move(path)};
}

/// True if a route serves an operation. Marks the routes that do.
bool is_served(std::vector<ServedRoute>& routes, std::string_view method, std::string_view path) {
  bool any = false;
  for (ServedRoute& route : routes) {
    if (route.method != method) continue;
    if (path != route.path && !(route.path.ends_with('/') && path.starts_with(route.path)))
      continue;
    route.described = any = true;
  }
  return any;
}

void write_path(json::Writer& out, std::string_view path, const json::Value& operations,
                std::vector<ServedRoute>& routes) {
  std::vector<json::Member> served;
  bool any = false;
  for (const json::Member& member : operations.members()) {
    const bool shared = member.key == "parameters";  // belongs to all operations of the path
    if (!shared && !is_served(routes, member.key, path)) continue;
    served.push_back(member);
    any = any || !shared;
  }
  if (!any) return;
  out.key(path).begin_object();
  for (const json::Member& member : served) out.key(member.key).raw(member.value.raw());
  out.end_object();
}

Result<std::string> document_of(std::vector<ServedRoute> routes) {
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
    for (const ServedRoute& route : routes) {
      if (route.described) continue;
      out.key(route.path).begin_object().key(route.method).begin_object();
      out.member("x-undescribed", true).end_object().end_object();
    }
    out.end_object();
  }
  return out.end_object().take();
}

}  // namespace

http::Route openapi_route(std::span<const http::Route> routes) {
  std::vector<ServedRoute> all{served_route("GET", std::string(kOpenapiPath))};
  for (const http::Route& route : routes) all.push_back(served_route(route.method, route.path));
  auto document = document_of(std::move(all));
  if (!document) log::error("api", "{}", document.error().message);
  return {"GET", std::string(kOpenapiPath),
          http::fixed_json(document ? *std::move(document) : "{}")};
}

}  // namespace signalbox::admin
