// Rows as points of a Qdrant collection. The id of a point is a UUID made from the digest of the
// row's id; the payload contains the row's id itself. A write returns when it has been applied
// (wait), and reads query all replicas (consistency), so a read sees all writes that were
// acknowledged before it.

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/sha256.h"
#include "router/shared_memories/row_servers.h"
#include "router/stores/qdrant.h"

namespace signalbox::shared_memories {
namespace {

constexpr size_t kPageMax = 4096, kWholePageMax = 64;

std::string point_of(std::string_view id) {
  const std::string digits = sha256_hex(id);
  const std::string_view all = digits;
  return fmt::format("{}-{}-{}-{}-{}", all.substr(0, 8), all.substr(8, 4), all.substr(12, 4),
                     all.substr(16, 4), all.substr(20, 12));
}

void write_points(std::span<const std::string> ids, json::Writer& to) {
  to.begin_array();
  for (const std::string& id : ids) to.string(point_of(id));
  to.end_array();
}

void write_bound(std::string_view key, std::string_view relation, int64_t bound, json::Writer& to) {
  to.begin_object().member("key", key).key("range");
  to.begin_object().member(relation, bound).end_object().end_object();
}

void write_filter(const RowQuery& query, json::Writer& to) {
  to.begin_object().key("must").begin_array();
  if (!query.owner.empty()) {
    to.begin_object().member("key", "owner").key("match");
    to.begin_object().member("value", query.owner).end_object().end_object();
  }
  if (!query.ids.empty()) {
    to.begin_object().key("has_id");
    write_points(query.ids, to);
    to.end_object();
  }
  if (query.only_deletions) write_bound("kind", "gt", 0, to);
  if (query.moment_above > 0)
    write_bound("moment", "gt", static_cast<int64_t>(query.moment_above), to);
  if (query.expires_below_ms > 0) write_bound("expires", "lt", query.expires_below_ms, to);
  to.end_array().end_object();
}

std::string scroll_body(const RowQuery& query, size_t limit, std::string_view offset) {
  json::Writer out;
  out.begin_object().key("filter");
  write_filter(query, out);
  out.member("limit", static_cast<int64_t>(limit)).member("with_vector", query.is_whole);
  out.key("with_payload").begin_array();
  const size_t count = query.is_whole ? kTextFields : kEntryFields;
  for (const std::string_view field : row_fields().first(count)) out.string(field);
  out.end_array();
  if (!offset.empty()) out.key("offset").raw(offset);
  return out.end_object().take();
}

class QdrantRows final : public RowServer {
 public:
  QdrantRows(const config::Qdrant& server, std::string collection, const RowLimits& limits)
      : limits_(limits),
        qdrant_(server),
        collection_(std::move(collection)),
        target_("/collections/" + collection_) {}

  const std::string& name() const override { return qdrant_.name(); }

  Result<std::optional<size_t>> dimension() override {
    const auto described = qdrant_.call("GET", target_, "", limits_.read);
    if (!described && described.error().code == Code::kNotFound) return std::nullopt;
    if (!described) return tl::unexpected<Error>(described.error());
    auto dimension = read_qdrant_dimension(described->root());
    if (!dimension)
      return fail(dimension.error().code, "{}: the collection \"{}\" cannot hold memories: {}",
                  name(), collection_, dimension.error().message);
    SIGNALBOX_TRY_VOID(make_indexes());
    return *dimension;
  }

  Result<void> create(size_t dimension) override {
    return write("PUT", "",
                 fmt::format(R"({{"vectors":{{"size":{},"distance":"Cosine"}}}})", dimension));
  }

  Result<Rows> query(const RowQuery& query) override {
    const std::string target = target_ + "/points/scroll?consistency=all";
    Rows out;
    RowQuery rest = query;
    for (std::string offset;;) {
      const size_t limit = std::min(rest.most, query.is_whole ? kWholePageMax : kPageMax);
      SIGNALBOX_TRY(const json::Document reply,
                    qdrant_.call("POST", target, scroll_body(query, limit, offset), limits_.read));
      auto page = read_qdrant_page(reply.root(), rest);
      if (!page) return fail_in(name(), std::move(page).error());
      rest.most -= page->rows.count();
      std::move(page->rows.rows.begin(), page->rows.rows.end(), std::back_inserter(out.rows));
      out.illegible += page->rows.illegible;
      if (page->next.empty() || rest.most == 0) return out;
      offset = page->next;
    }
  }

  Result<void> upsert(std::span<const Row> rows) override {
    json::Writer out;
    out.begin_object().key("points").begin_array();
    for (const Row& row : rows) {
      out.begin_object().member("id", point_of(row.id));
      out.member("vector", row.record.vector.values).key("payload").begin_object();
      write_row(row, out);
      out.end_object().end_object();
    }
    return change("PUT", "/points", out.end_array().end_object().take());
  }

  Result<void> remove(std::span<const std::string> ids) override {
    if (ids.empty()) return {};
    json::Writer out;
    out.begin_object().key("points");
    write_points(ids, out);
    return change("POST", "/points/delete", out.end_object().take());
  }

 private:
  // A search by a field without an index reads all points. An index that exists is kept.
  Result<void> make_indexes() {
    for (const auto& [field, type] :
         {std::pair("owner", "keyword"), std::pair("kind", "integer"),
          std::pair("moment", "integer"), std::pair("expires", "integer")}) {
      SIGNALBOX_TRY_VOID(
          write("PUT", "/index?wait=true",
                fmt::format(R"({{"field_name":"{}","field_schema":"{}"}})", field, type)));
    }
    return {};
  }

  Result<void> write(std::string_view method, std::string_view path, std::string_view body) {
    SIGNALBOX_TRY(const json::Document reply,
                  qdrant_.call(method, fmt::format("{}{}", target_, path), body, limits_.write));
    return {};
  }

  Result<void> change(std::string_view method, std::string_view path, std::string_view body) {
    const auto reply = qdrant_.call(
        method, fmt::format("{}{}?wait=true&ordering=strong", target_, path), body, limits_.write);
    if (!reply) return tl::unexpected<Error>(stores::without_quotes(reply.error()));
    const auto status = reply->root().find("result")->find("status");
    if (status && status->is_string() && status->text() == "completed") return {};
    return fail(Code::kIo, "{}: it does not confirm that a change is completed", name());
  }

  const RowLimits limits_;
  stores::Qdrant qdrant_;
  const std::string collection_, target_;
};

}  // namespace

std::unique_ptr<RowServer> make_qdrant_rows(const config::Qdrant& server, std::string collection,
                                            const RowLimits& limits) {
  return std::make_unique<QdrantRows>(server, std::move(collection), limits);
}

}  // namespace signalbox::shared_memories
