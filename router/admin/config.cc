// If-Match is compared under the lock of the change. So if two clients have read the same document
// and both change it, the second change is refused.

#include "router/admin/config.h"

#include "base/json_writer.h"
#include "router/config/document.h"
#include "router/config/load.h"

namespace signalbox::admin {
namespace {

using serving::Reloader;
using serving::ServingState;
using Find = std::function<Reloader*()>;

std::string etag_of(const serving::ServingState& state) {
  return fmt::format("\"{}\"", state.hash);
}

/// True if a list of entity tags ("\"a\", \"b\"", or "*") contains this one.
bool has_tag(std::string_view tags, std::string_view tag) {
  while (!tags.empty()) {
    const size_t comma = std::min(tags.find(','), tags.size());
    std::string_view one = tags.substr(0, comma);
    tags.remove_prefix(std::min(comma + 1, tags.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one == "*" || one == tag) return true;
  }
  return false;
}

void write_lines(json::Writer& out, std::string_view key, const std::vector<std::string>& all) {
  out.key(key).begin_array();
  for (const std::string& line : all) out.string(line);
  out.end_array();
}

AdminReply no_file() {
  return AdminReply::of(
      {409, "NO_CONFIG_PATH", "the router was started without a configuration file"});
}

bool accepts_yaml(const http::Request& request) {
  if (request.query() == "?format=yaml" || request.query() == "?format=file") return true;
  const auto accept = request.headers.find("accept");
  return accept && accept->find("yaml") != std::string_view::npos;
}

/// Returns the file with its comments if the caller may see them. Comments can contain secrets.
/// With tokens, the caller must have the permission to see secrets; without tokens, the caller must
/// be on this machine.
Result<std::optional<std::string>> file_for(const http::Request& request,
                                            const serving::ServingState& state, bool secrets) {
  if (secrets) return state.text;
  if (!state.access.is_on_this_machine(access::credentials_of(request))) return std::nullopt;
  return config::as_written(state.text, state.config().source);
}

AdminReply get(const http::Request& request, const serving::ServingState& state) {
  const std::string etag = etag_of(state);
  const auto known = request.headers.find("if-none-match");
  if (known && has_tag(*known, etag)) return {304, "", "application/json", etag};
  const bool secrets = state.access.shows_secrets(access::credentials_of(request));
  const bool exact = request.query() == "?format=original";
  if (exact || request.query() == "?format=file") {
    auto text = file_for(request, state, secrets);
    if (!text) return AdminReply::of(access::failure_of(text.error()));
    if (*text) return {200, **std::move(text), "application/yaml", etag};
    if (exact)
      return AdminReply::of({403, "FORBIDDEN",
                             "the file may contain secrets, so it is not shown to you as it is "
                             "written"});
  }
  const bool yaml = accepts_yaml(request);
  auto text = config::show(state.text, state.config().source,
                           yaml ? config::Syntax::kYaml : config::Syntax::kJson, secrets);
  if (!text) return AdminReply::of(access::failure_of(text.error()));
  return {200, *std::move(text), yaml ? "application/yaml" : "application/json", etag};
}

/// Returns the document that a client sent: the body itself, or the text in {"yaml": "..."}.
std::string document_of(const http::Request& request) {
  if (config::syntax_of(request.body) == config::Syntax::kJson) {
    const auto body = json::Document::parse(request.body);
    const auto text = body ? body->root().find("yaml") : std::nullopt;
    if (text && text->is_string()) return std::string(text->text());
  }
  return request.body;
}

AdminReply reply_to_change(const tl::expected<Reloader::Applied, Reloader::Rejection>& result,
                           const std::optional<access::Failure>& refused, bool may_see_files) {
  if (refused) return AdminReply::of(*refused);
  if (!result) {
    const Error& error = result.error().error;
    const std::string& why = may_see_files ? error.message : result.error().summary;
    if (error.code == Code::kIo) return AdminReply::of({500, "WRITE_ERROR", why});
    if (error.code == Code::kTooLarge) return AdminReply::of({413, "INPUT_TOO_LARGE", why});
    return AdminReply::of({400, "CONFIG_VALIDATION_ERROR", why});
  }
  const serving::ServingState& state = *result->state;
  json::Writer out;
  out.begin_object().member("status", "success").member("version", result->version);
  out.member("message", fmt::format("generation {} is active; version {} is the previous one",
                                    state.generation, result->version));
  out.member("generation", static_cast<int64_t>(state.generation)).member("hash", state.hash);
  write_lines(out, "takes_restart", state.unchanged);
  write_lines(out, "notices", state.notices);
  return {200, out.end_object().take(), "application/json", etag_of(state)};
}

/// Checks the preconditions of a change; if they hold, `make` makes the new text.
template <class Make>
AdminReply change(const http::Request& request, const Find& find, bool needs_same_file,
                  const Make& make) {
  Reloader* reloader = find();
  if (reloader == nullptr) return no_file();
  std::optional<access::Failure> refused;
  bool may_see_files = false;
  const auto result = reloader->apply([&](const serving::ServingState& serving,
                                          const std::string* disk) -> Result<std::string> {
    may_see_files = serving.access.may_see_files(access::credentials_of(request));
    const auto match = request.headers.find("if-match");
    if (match && !has_tag(*match, etag_of(serving))) {
      refused = {412, "CONFIG_CHANGED",
                 "the configuration has changed; read it again and repeat the change"};
      return fail(Code::kInvalid, "");
    }
    if (needs_same_file && disk == nullptr) {
      refused = {409, "CONFIG_MISSING",
                 "the file cannot be read, so a part of it cannot be changed; restore it, "
                 "or replace it as a whole with PUT"};
      return fail(Code::kInvalid, "");
    }
    if (needs_same_file && *disk != serving.text) {
      refused = {409, "CONFIG_CHANGED",
                 "the file differs from the active configuration; reload it, or "
                 "replace it as a whole"};
      return fail(Code::kInvalid, "");
    }
    SIGNALBOX_TRY(std::string text, make(*reloader, serving));
    const std::string name = reloader->file().string();
    SIGNALBOX_TRY(const std::string before, config::management_of(serving.text, name));
    SIGNALBOX_TRY(const std::string after, config::management_of(text, name));
    // Otherwise a caller with write access could grant itself every right.
    if (before != after &&
        serving.access.check(access::kSecretView, access::credentials_of(request)) !=
            access::Access::CheckResult::kGranted) {
      refused = {403, "FORBIDDEN",
                 "global.services.management_api: only a role with every permission may change "
                 "access rights"};
      return fail(Code::kInvalid, "");
    }
    // Without tokens the caller is any program of this machine, and may have less access to the
    // environment than the router has.
    SIGNALBOX_TRY(const std::vector<std::string> variables,
                  config::new_variables(serving.text, text, name));
    if (!serving.access.requires_tokens() && !variables.empty()) {
      refused = {403, "FORBIDDEN",
                 fmt::format("without management_api.auth a change may not use a variable of the "
                             "environment in a new place or beside another address: {}; change "
                             "the file itself",
                             variables.front())};
      return fail(Code::kInvalid, "");
    }
    return text;
  });
  return reply_to_change(result, refused, may_see_files);
}

AdminReply put(const http::Request& request, const Find& find) {
  return change(request, find, request.query() == "?same_file=true",
                [&](const Reloader& reloader, const serving::ServingState& serving) {
                  return config::replaced(serving.text, document_of(request),
                                          reloader.file().string());
                });
}

AdminReply patch(const http::Request& request, const Find& find) {
  return change(request, find, true,
                [&](const Reloader& reloader, const serving::ServingState& serving) {
                  return config::patched(serving.text, request.body, reloader.file().string());
                });
}

AdminReply rollback(const http::Request& request, const Find& find) {
  const auto body = json::Document::parse(request.body);
  const auto name = body ? body->root().find("version") : std::nullopt;
  if (!name || !name->is_string())
    return AdminReply::of({400, "INVALID_INPUT", "expected {\"version\": \"...\"}"});
  Reloader* reloader = find();
  if (reloader == nullptr) return no_file();
  auto text = reloader->versions().read(name->text());
  if (!text && text.error().code == Code::kNotFound)
    return AdminReply::of({404, "VERSION_NOT_FOUND", text.error().message});
  return change(request, find, false,
                [&](const Reloader&, const serving::ServingState&) { return text; });
}

AdminReply validate(const http::Request& request, const serving::ServingState& state,
                    const Find& find) {
  Reloader* reloader = find();
  if (reloader == nullptr) return no_file();
  const auto text = config::replaced(state.text, document_of(request), reloader->file().string());
  Reloader::Review review;
  if (text) {
    review = reloader->review(*text);
  } else {
    review.errors.push_back(text.error().message);
  }
  json::Writer out;
  out.begin_object().member("valid", review.errors.empty());
  write_lines(out, "errors", review.errors);
  write_lines(out, "notices", review.notices);
  write_lines(out, "takes_restart", review.unchanged);
  return {200, out.end_object().take()};
}

AdminReply versions(const Find& find) {
  Reloader* reloader = find();
  if (reloader == nullptr) return no_file();
  json::Writer out;
  out.begin_array();
  for (const serving::Versions::Version& version : reloader->versions().list()) {
    out.begin_object().member("version", version.name);
    const std::string& n = version.name;
    if (n.size() >= 15) {
      out.member("timestamp",
                 fmt::format("{}-{}-{} {}:{}:{}", n.substr(0, 4), n.substr(4, 2), n.substr(6, 2),
                             n.substr(9, 2), n.substr(11, 2), n.substr(13, 2)));
    }
    out.member("source", "api").member("filename", version.file.filename().string()).end_object();
  }
  return {200, out.end_array().take()};
}

AdminReply hash(const serving::ServingState& state, const Find& find) {
  Reloader* reloader = find();
  json::Writer out;
  out.begin_object();
  std::string status = "active";
  if (reloader != nullptr) {
    const auto text = reloader->on_disk();
    const std::string source = text ? sha256_hex(*text) : "";
    out.member("source_config_hash", source);
    if (source != state.hash) status = reloader->refusal() ? "refused" : "pending";
  }
  out.member("generated_runtime_hash", state.hash).member("active_runtime_hash", state.hash);
  out.member("activation_status", status).member("hash", state.hash);
  return {200, out.end_object().take()};
}

AdminReply status(const http::Request& request, const serving::ServingState& state,
                  const Find& find) {
  const Reloader* reloader = find();
  json::Writer out;
  out.begin_object().member("file", reloader == nullptr ? "" : reloader->file().string());
  out.member("generation", static_cast<int64_t>(state.generation)).member("hash", state.hash);
  out.member("since", access::timestamp(state.since)).key("refused");
  const auto refusal = reloader == nullptr ? std::nullopt : reloader->refusal();
  if (refusal) {
    const bool may_see_files = state.access.may_see_files(access::credentials_of(request));
    out.begin_object();
    out.member("why", may_see_files ? refusal->error.message : refusal->summary)
        .member("at", access::timestamp(refusal->at));
    out.end_object();
  } else {
    out.null();
  }
  const auto counts = reloader == nullptr ? Reloader::Counts{} : reloader->counts();
  out.key("reloads").begin_object().member("succeeded", static_cast<int64_t>(counts.succeeded));
  out.member("failed", static_cast<int64_t>(counts.failed)).key("last_success");
  counts.last_success ? out.string(access::timestamp(*counts.last_success)) : out.null();
  out.end_object();
  write_lines(out, "takes_restart", state.unchanged);
  write_lines(out, "notices", state.notices);
  return {200, out.end_object().take()};
}

}  // namespace

std::vector<http::Route> config_routes(const serving::CurrentState& current, http::ThreadPool& pool,
                                       Find find) {
  std::vector<http::Route> routes;
  const auto add = [&](std::string_view method, std::string_view path, std::string_view permission,
                       AdminHandler handler) {
    routes.push_back(management_route(std::string(method), std::string(path), permission, current,
                                      pool, std::move(handler)));
  };
  using Request = http::Request;
  add("GET", "/config/router", access::kConfigRead, get);
  add("PUT", "/config/router", access::kConfigWrite,
      [find](const Request& request, const serving::ServingState&) { return put(request, find); });
  add("PATCH", "/config/router", access::kConfigWrite,
      [find](const Request& request, const serving::ServingState&) {
        return patch(request, find);
      });
  // Error messages may reveal the value of an environment variable, which readers must not learn.
  add("POST", "/config/router/validate", access::kConfigWrite,
      [find](const Request& request, const serving::ServingState& state) {
        return validate(request, state, find);
      });
  add("GET", "/config/router/versions", access::kConfigRead,
      [find](const Request&, const serving::ServingState&) { return versions(find); });
  add("POST", "/config/router/rollback", access::kConfigWrite,
      [find](const Request& request, const serving::ServingState&) {
        return rollback(request, find);
      });
  add("GET", "/config/hash", access::kConfigRead,
      [find](const Request&, const serving::ServingState& state) { return hash(state, find); });
  add("GET", "/config/status", access::kConfigRead,
      [find](const Request& request, const serving::ServingState& state) {
        return status(request, state, find);
      });
  add("GET", "/config/schema", access::kConfigRead,
      [](const Request&, const serving::ServingState&) {
        return AdminReply{200, config::schema()};
      });
  return routes;
}

}  // namespace signalbox::admin
