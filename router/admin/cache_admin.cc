// An operator finds a false hit by the x-vsr-cache-entry of its reply and deletes it by that id.

#include "router/admin/cache_admin.h"

#include <charconv>
#include <optional>

#include "base/json_writer.h"
#include "router/access/access.h"
#include "router/admin/query.h"

namespace signalbox::admin {
namespace {

using serving::ServingState;

constexpr std::string_view kStats = "/api/v1/response-cache/stats";
constexpr std::string_view kEntries = "/api/v1/response-cache/entries";
constexpr size_t kEntriesListed = 100;
constexpr size_t kEntriesListedMax = 10'000;

int64_t number(uint64_t value) {
  return static_cast<int64_t>(value);
}

AdminReply stats(const cache::ResponseCache& of) {
  const cache::Statistics statistics = of.statistics();
  const uint64_t hits = statistics.hits_exact + statistics.hits_semantic;
  const uint64_t lookups = hits + statistics.misses;
  json::Writer out;
  out.begin_object().member("backend", "memory");
  out.member("entries", number(statistics.store.entries))
      .member("bytes", number(statistics.store.bytes));
  out.member("hits_exact", number(statistics.hits_exact));
  out.member("hits_semantic", number(statistics.hits_semantic));
  out.member("misses", number(statistics.misses));
  out.member("hit_rate",
             lookups == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(lookups));
  out.member("refused_by_guard", number(statistics.refused)).key("refused").begin_object();
  for (size_t i = 1; i < statistics.refused_by.size(); ++i) {
    out.member(cache::difference_name(static_cast<cache::Difference>(i)),
               number(statistics.refused_by[i]));
  }
  out.end_object().member("stored", number(statistics.stored));
  out.member("evictions", number(statistics.store.evictions));
  out.member("expired", number(statistics.store.expired))
      .member("failed", number(statistics.failed));
  return {200, out.end_object().take()};
}

void write_entry(json::Writer& out, const cache::Entry& entry, cache::TimePoint now) {
  const auto whole_seconds = [](auto duration) {
    return static_cast<int64_t>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
  };
  out.begin_object().member("id", entry.id).member("recipe", entry.recipe);
  out.member("decision", entry.decision).member("model", entry.model);
  out.member("age_seconds", whole_seconds(now - entry.created));
  out.member("expires_in_seconds", whole_seconds(entry.expires - now));
  out.member("reply_bytes", number(entry.reply.size()));
  out.member("semantic", !entry.vector.empty()).end_object();
}

struct EntryQuery {
  cache::Filter filter;
  size_t limit = kEntriesListed;
  bool has_filter = false;  // true if any filter is given
  bool all = false;
};

template <class T>
Result<T> whole_number(std::string_view name, std::string_view value) {
  T out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size())
    return fail(Code::kInvalid, "{}: expected a whole number, found {}", name,
                json::quote_briefly(value));
  return out;
}

Result<EntryQuery> read_query(std::string_view query) {
  EntryQuery out;
  if (query.starts_with('?')) query.remove_prefix(1);
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = decoded(pair.substr(0, equals));
    const std::string value = decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (name == "limit") {
      SIGNALBOX_TRY(out.limit, whole_number<size_t>(name, value));
      continue;
    }
    if (name == "all") {
      out.all = value == "true";
      continue;
    }
    if (name == "recipe") {
      out.filter.recipe = value;
    } else if (name == "decision") {
      out.filter.decision = value;
    } else if (name == "model") {
      out.filter.model = value;
    } else if (name == "older_than_seconds") {
      SIGNALBOX_TRY(const uint32_t age, whole_number<uint32_t>(name, value));
      out.filter.older_than = std::chrono::seconds(age);
    } else {
      return fail(Code::kInvalid,
                  "unknown parameter {} (known: recipe, decision, model, older_than_seconds, "
                  "limit, all)",
                  json::quote_briefly(name));
    }
    if (value.empty()) return fail(Code::kInvalid, "{}: expected a value", name);
    out.has_filter = true;
  }
  out.limit = std::min(out.limit, kEntriesListedMax);
  return out;
}

AdminReply list(const http::Request& request, cache::ResponseCache& of) {
  const auto query = read_query(request.query());
  if (!query) return AdminReply::of(access::failure_of(query.error()));
  const cache::TimePoint now = cache::TimePoint::clock::now();
  const auto entries = of.store().list(query->filter, query->limit, now);
  if (!entries) return AdminReply::of(access::failure_of(entries.error()));
  json::Writer out;
  out.begin_object().key("entries").begin_array();
  for (const auto& entry : *entries) write_entry(out, *entry, now);
  return {200, out.end_array().end_object().take()};
}

AdminReply deleted_reply(const Result<uint64_t>& count) {
  if (!count) return AdminReply::of(access::failure_of(count.error()));
  json::Writer out;
  out.begin_object().member("deleted", number(*count));
  return {200, out.end_object().take()};
}

AdminReply remove_filtered(const http::Request& request, cache::ResponseCache& of) {
  const auto query = read_query(request.query());
  if (!query) return AdminReply::of(access::failure_of(query.error()));
  if (!query->has_filter && !query->all) {
    return AdminReply::of({400, "INVALID_INPUT",
                           "expected recipe, decision, model or older_than_seconds, or all=true"});
  }
  auto reply = deleted_reply(of.store().remove_all(query->filter, cache::TimePoint::clock::now()));
  reply.subject = request.query().substr(1);  // it has known parameters only
  return reply;
}

std::string_view id_of(const http::Request& request) {
  return request.path().substr(kEntries.size() + 1);
}

AdminReply entry_not_found(std::string_view id) {
  return AdminReply::of(
      {404, "NOT_FOUND", fmt::format("there is no entry {}", json::quote_briefly(id))});
}

AdminReply show(const http::Request& request, cache::ResponseCache& of) {
  const cache::TimePoint now = cache::TimePoint::clock::now();
  const auto entry = of.store().find(id_of(request), now);
  if (!entry) return AdminReply::of(access::failure_of(entry.error()));
  if (*entry == nullptr) return entry_not_found(id_of(request));
  json::Writer out;
  write_entry(out, **entry, now);
  return {200, out.take()};
}

AdminReply remove_one(const http::Request& request, cache::ResponseCache& of) {
  const auto count = of.store().remove(id_of(request));
  if (count && *count == 0) return entry_not_found(id_of(request));
  return deleted_reply(count);
}

}  // namespace

std::vector<http::Route> cache_routes(const serving::CurrentState& current, http::ThreadPool& pool,
                                      const gateway::AnswerCache& of) {
  const std::string entries(kEntries), one = entries + '/';
  const auto route = [&](const char* method, const std::string& path, std::string_view permission,
                         AdminReply (*handler)(const http::Request&, cache::ResponseCache&)) {
    return management_route(
        method, path, permission, current, pool,
        [&of, handler](const http::Request& request, const serving::ServingState&) {
          return handler(request, *of.answers());
        });
  };
  return {management_route("GET", std::string(kStats), access::kCacheRead, current, pool,
                           [&of](const http::Request&, const serving::ServingState&) {
                             return stats(*of.answers());
                           }),
          route("GET", entries, access::kCacheRead, list),
          route("DELETE", entries, access::kCacheInvalidate, remove_filtered),
          route("GET", one, access::kCacheRead, show),
          route("DELETE", one, access::kCacheInvalidate, remove_one)};
}

}  // namespace signalbox::admin
