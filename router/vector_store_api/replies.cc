// OpenAI's score is between 0 and 1; a similarity below 0 is reported as 0.

#include "router/vector_store_api/replies.h"

#include <algorithm>
#include <numeric>

#include "router/admin/query.h"

namespace signalbox::vector_store_api {
namespace {

using vector_stores::Status;

int64_t signed_of(uint64_t value) {
  return static_cast<int64_t>(value);
}

void write_error(json::Writer& out, const vector_stores::Entry& entry) {
  out.key("last_error");
  if (entry.status != Status::kFailed) {
    out.null();
    return;
  }
  out.begin_object().member("code", "invalid_file").member("message", entry.error).end_object();
}

/// The numbers of files in each state, as the member file_counts.
void write_counts(json::Writer& out, const vector_stores::StatusCounts& counts) {
  out.key("file_counts").begin_object().member("in_progress", signed_of(counts.in_progress));
  out.member("completed", signed_of(counts.completed)).member("failed", signed_of(counts.failed));
  out.member("cancelled", signed_of(counts.cancelled)).member("total", signed_of(counts.total()));
  out.end_object();
}

void write_expiry(json::Writer& out, const vector_stores::Store& store) {
  out.key("expires_after");
  if (store.expires_days == 0) {
    out.null().key("expires_at").null();
    return;
  }
  out.begin_object().member("anchor", "last_active_at");
  out.member("days", int64_t{store.expires_days}).end_object();
  out.member("expires_at", vector_stores::expiry_of(store));
}

}  // namespace

void write(json::Writer& out, const vector_stores::File& file) {
  out.begin_object().member("id", file.id).member("object", "file");
  out.member("bytes", signed_of(file.bytes)).member("created_at", file.created);
  out.member("filename", file.name).member("purpose", file.purpose);
  out.member("status", "processed").end_object();
}

void write(json::Writer& out, const vector_stores::StoreView& view) {
  const auto& [store, figures, is_expired] = view;
  out.begin_object().member("id", store.id).member("object", "vector_store");
  out.member("created_at", store.created).member("name", store.name);
  out.member("usage_bytes", signed_of(figures.bytes));
  write_counts(out, figures.entries);
  out.member("status", is_expired                        ? "expired"
                       : figures.entries.in_progress > 0 ? "in_progress"
                                                         : "completed");
  write_expiry(out, store);
  out.member("last_active_at", store.last_active).key("metadata").begin_object();
  for (const auto& [key, value] : store.metadata) out.member(key, value);
  out.end_object().end_object();
}

void write(json::Writer& out, const vector_stores::Entry& entry) {
  out.begin_object().member("id", entry.file).member("object", "vector_store.file");
  out.member("created_at", entry.created).member("vector_store_id", entry.store);
  out.member("usage_bytes", signed_of(entry.bytes)).member("status", name_of(entry.status));
  write_error(out, entry);
  out.key("chunking_strategy").begin_object().member("type", "static");
  out.key("static").begin_object();
  out.member("max_chunk_size_tokens", int64_t{entry.chunking.tokens_max});
  out.member("chunk_overlap_tokens", int64_t{entry.chunking.overlap_tokens});
  out.end_object().end_object().key("attributes");
  vector_stores::write_attributes(out, entry.attributes);
  out.end_object();
}

void write(json::Writer& out, const BatchView& batch) {
  vector_stores::StatusCounts counts;
  for (const vector_stores::Entry& each : batch.entries) counts.add(each.status);
  const auto first = std::ranges::min_element(batch.entries, {}, &vector_stores::Entry::created);
  out.begin_object().member("id", batch.id).member("object", "vector_store.files_batch");
  out.member("created_at", first->created).member("vector_store_id", batch.store);
  out.member("status", counts.in_progress > 0 ? "in_progress"
                       : counts.cancelled > 0 ? "cancelled"
                                              : "completed");
  write_counts(out, counts);
  out.end_object();
}

std::string deleted(std::string_view id, std::string_view object) {
  json::Writer out;
  out.begin_object().member("id", id).member("object", object).member("deleted", true);
  return out.end_object().take();
}

std::string deleted(const vector_stores::VectorStores::Removed& removed) {
  json::Writer out;
  out.begin_object().member("deleted", true).member("files", signed_of(removed.files));
  return out.member("vector_stores", signed_of(removed.stores)).end_object().take();
}

std::string results(std::span<const std::string> queries,
                    std::span<const vector_stores::Found> found) {
  json::Writer out;
  out.begin_object().member("object", "vector_store.search_results.page");
  out.key("search_query").begin_array();
  for (const std::string& query : queries) out.string(query);
  out.end_array().key("data").begin_array();
  for (const vector_stores::Found& each : found) {
    out.begin_object().member("file_id", each.file).member("filename", each.file_name);
    out.member("score", std::clamp(each.similarity, 0.0, 1.0)).key("attributes");
    vector_stores::write_attributes(out, each.attributes);
    out.key("content").begin_array().begin_object().member("type", "text");
    out.member("text", each.text).end_object().end_array().end_object();
  }
  out.end_array().member("has_more", false).key("next_page").null();
  return out.end_object().take();
}

Result<PageQuery> read_page_query(std::string_view query, size_t limit, size_t limit_max) {
  PageQuery out;
  SIGNALBOX_TRY(out.limit, admin::query_number(query, "limit", limit, limit_max));
  if (out.limit == 0) return fail(Code::kInvalid, "limit: expected 1 to {}, found 0", limit_max);
  const std::string order = admin::query_value(query, "order");
  if (!order.empty() && order != "asc" && order != "desc")
    return fail(Code::kInvalid, "order: expected asc or desc, found {}",
                json::quote_briefly(order));
  out.ascending = order == "asc";
  out.after = admin::query_value(query, "after");
  out.before = admin::query_value(query, "before");
  return out;
}

std::string page(const PageQuery& query, std::span<const std::string> ids,
                 const std::function<void(json::Writer&, size_t)>& write_at) {
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!query.ascending) std::reverse(order.begin(), order.end());
  const auto place_of = [&](const std::string& id) {
    const auto is_it = [&](size_t i) { return ids[i] == id; };
    return static_cast<size_t>(std::ranges::find_if(order, is_it) - order.begin());
  };
  const size_t begin = query.after.empty() ? 0 : std::min(place_of(query.after) + 1, order.size());
  size_t end = query.before.empty() ? order.size() : place_of(query.before);
  if (!query.before.empty() && end == order.size()) end = begin;
  end = std::max(begin, end);
  const size_t stop = std::min(end, begin + query.limit);
  json::Writer out;
  out.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = begin; i < stop; ++i) write_at(out, order[i]);
  out.end_array().key("first_id");
  begin < stop ? out.string(ids[order[begin]]) : out.null();
  out.key("last_id");
  begin < stop ? out.string(ids[order[stop - 1]]) : out.null();
  return out.member("has_more", stop < end).end_object().take();
}

}  // namespace signalbox::vector_store_api
