// A reply has its status twice: in HTTP, and as "ok" or an error in its body.

#include "router/stores/qdrant.h"

#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "router/config/endpoint.h"

namespace signalbox::stores {
namespace {

constexpr std::chrono::milliseconds kQdrantConnectLimit{1000};
constexpr uint32_t kQdrantDepthMax = 16;

std::string error_text(const json::Value& reply) {
  const auto status = reply.find("status");
  const auto error = status ? status->find("error") : std::nullopt;
  return error && error->is_string() ? json::quote_briefly(error->text()) : "no reason";
}

std::chrono::milliseconds connect_limit(const config::Qdrant& keys) {
  return keys.connect_timeout == 0 ? kQdrantConnectLimit
                                   : std::chrono::seconds(keys.connect_timeout);
}

}  // namespace

config::BackendRef qdrant_server(const config::Qdrant& keys) {
  config::BackendRef out;
  out.host = keys.host;
  out.port = config::http_port(keys);
  out.name = fmt::format("qdrant {}", config::written(out.host, out.port));
  out.tls = keys.use_tls;
  out.auth_header = "api-key";
  out.auth_prefix.clear();
  return out;
}

Result<json::Document> read_qdrant_reply(int status, std::string body) {
  if (status == 401 || status == 403)
    return fail(Code::kInvalid, "the API key lacks the permission (status {})", status);
  auto document = json::Document::parse(std::move(body),
                                        {.bytes = kQdrantReplyBytesMax, .depth = kQdrantDepthMax});
  const bool is_reply = document && document->root().find("status");
  if (status == 404 && is_reply)
    return fail(Code::kNotFound, "it reports {}", error_text(document->root()));
  const bool is_of_request = status == 400 || status == 413 || status == 422;
  if (status / 100 != 2)
    return fail(is_of_request ? Code::kUnsupported : Code::kUpstream, "it returned status {} ({})",
                status, document ? error_text(document->root()) : "no JSON");
  if (!is_reply || !document->root().find("result"))
    return fail(Code::kIo, "its reply is not from Qdrant");
  return document;
}

Qdrant::Qdrant(const config::Qdrant& keys)
    : name_(qdrant_server(keys).name),
      posters_(qdrant_server(keys), connect_limit(keys),
               keys.api_key.empty() ? std::nullopt : std::optional(keys.api_key)) {}

Result<json::Document> Qdrant::call(std::string_view method, std::string_view target,
                                    std::string_view body, std::chrono::milliseconds limit) {
  SIGNALBOX_TRY(auto reply, posters_.send(method, target, body, limit, kQdrantReplyBytesMax));
  auto document = read_qdrant_reply(reply.status, std::move(reply.body));
  if (!document) return fail_in(name_, std::move(document).error());
  return document;
}

}  // namespace signalbox::stores
