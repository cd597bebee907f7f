// Rows in a Milvus collection. Milvus answers a query of the level Strong with all changes that it
// has acknowledged; a collection of another level is refused, because older versions take the level
// from the collection only. Filters contain hexadecimal digits, fixed prefixes and numbers alone,
// so no text of a user is ever part of an expression.

#include <algorithm>
#include <utility>

#include "router/shared_memories/row_servers.h"

namespace signalbox::shared_memories {
namespace {

constexpr std::string_view kTextLength = "65535", kNameLength = "64";

std::string list_of(std::span<const std::string> ids) {
  json::Writer out;
  out.begin_array();
  for (const std::string& id : ids) {
    SIGNALBOX_CHECK(is_row_id(id));
    out.string(id);
  }
  return out.end_array().take();
}

std::string filter_of(const RowQuery& query) {
  SIGNALBOX_CHECK(query.owner.empty() || is_owner(query.owner));
  std::string out;
  const auto add = [&](const std::string& condition) {
    out += (out.empty() ? "" : " and ") + condition;
  };
  if (!query.owner.empty()) add(fmt::format("owner == \"{}\"", query.owner));
  if (!query.ids.empty()) add("id in " + list_of(query.ids));
  if (query.only_deletions) add("kind > 0");
  if (query.moment_above > 0) add(fmt::format("moment > {}", query.moment_above));
  if (query.expires_below_ms > 0) add(fmt::format("expires < {}", query.expires_below_ms));
  return out;
}

void write_field(std::string_view name, std::string_view type, std::string_view parameter,
                 std::string_view value, json::Writer& to) {
  to.begin_object().member("fieldName", name).member("dataType", type);
  if (name == "id") to.member("isPrimary", true);
  if (name == "owner") to.member("isPartitionKey", true);
  to.key("elementTypeParams").begin_object();  // declared as required
  if (!parameter.empty()) to.member(parameter, value);
  to.end_object();
  to.end_object();
}

std::string schema_of(size_t dimension) {
  json::Writer out;
  out.begin_object().key("fields").begin_array();
  for (const std::string_view name : {"id", "owner"})
    write_field(name, "VarChar", "max_length", kNameLength, out);
  for (const std::string_view name : {"kind", "created", "used", "uses", "moment", "expires"})
    write_field(name, "Int64", "", "", out);
  write_field("digest", "VarChar", "max_length", kNameLength, out);
  for (const std::string_view name : {"model", "masked_by", "text", "answer"})
    write_field(name, "VarChar", "max_length", kTextLength, out);
  write_field("vector", "FloatVector", "dim", std::to_string(dimension), out);
  return out.end_array().end_object().take();
}

class MilvusRows final : public RowServer {
 public:
  explicit MilvusRows(MilvusRowOptions options)
      : options_(std::move(options)), milvus_(options_.server) {}

  const std::string& name() const override { return milvus_.name(); }

  Result<std::optional<size_t>> dimension() override {
    SIGNALBOX_TRY(const json::Document existing,
                  call("/collections/has", "", options_.limits.read));
    const auto data = existing.root().find("data");
    const auto has = data ? data->find("has") : std::nullopt;
    if (!has || !has->is_bool())
      return fail(Code::kIo, "{}: the reply does not show whether the collection exists", name());
    if (!has->boolean()) return std::nullopt;
    SIGNALBOX_TRY(const json::Document described,
                  call("/collections/describe", "", options_.limits.read));
    auto dimension = read_milvus_dimension(described.root());
    if (!dimension)
      return fail(dimension.error().code, "{}: the collection \"{}\" cannot hold memories: {}",
                  name(), options_.collection, dimension.error().message);
    SIGNALBOX_TRY(const json::Document loaded,
                  call("/collections/load", "", options_.limits.write));
    return *dimension;
  }

  Result<void> create(size_t dimension) override {
    json::Writer parameters;
    parameters.begin_object().member("consistencyLevel", "Strong");
    if (options_.shards > 0) parameters.member("shardsNum", int64_t{options_.shards});
    if (options_.partitions > 0) parameters.member("partitionsNum", int64_t{options_.partitions});
    // A collection can only be loaded if its vectors have an index.
    SIGNALBOX_TRY(
        const json::Document made,
        call(
            "/collections/create",
            fmt::format(R"("schema":{},"indexParams":[{{"fieldName":"vector","indexName":"vector",)"
                        R"("metricType":"COSINE","indexType":"FLAT"}}],"params":{})",
                        schema_of(dimension), parameters.end_object().take()),
            options_.limits.write));
    return {};
  }

  Result<Rows> query(const RowQuery& query) override {
    json::Writer fields;
    fields.begin_array();
    const size_t count = query.is_whole ? row_fields().size() : kEntryFields;
    for (const std::string_view field : row_fields().first(count)) fields.string(field);
    SIGNALBOX_TRY(
        const json::Document reply,
        call("/entities/query",
             fmt::format(R"("filter":{},"outputFields":{},"limit":{},"consistencyLevel":"Strong")",
                         json::quote(filter_of(query)), fields.end_array().take(), query.most),
             options_.limits.read));
    auto rows = read_milvus_memories(reply.root(), query);
    if (!rows) return fail_in(name(), std::move(rows).error());
    return rows;
  }

  Result<void> upsert(std::span<const Row> rows) override {
    json::Writer data;
    data.begin_array();
    for (const Row& row : rows) {
      data.begin_object();
      write_row(row, data);
      data.member("vector", row.record.vector.values).end_object();
    }
    const auto reply =
        call("/entities/upsert", fmt::format(R"("data":{})", data.end_array().take()),
             options_.limits.write);
    if (!reply) return tl::unexpected<Error>(stores::without_quotes(reply.error()));
    const auto of = reply->root().find("data");
    const auto count = of ? stores::milvus_integer(*of, "upsertCount")
                          : Result<int64_t>(fail(Code::kIo, "no data"));
    if (!count || *count != std::ssize(rows))
      return fail(Code::kIo, "{}: it does not confirm {} rows", name(), rows.size());
    return {};
  }

  Result<void> remove(std::span<const std::string> ids) override {
    if (ids.empty()) return {};
    const std::string filter = "id in " + list_of(ids);
    SIGNALBOX_TRY(const json::Document reply,
                  call("/entities/delete", fmt::format(R"("filter":{})", json::quote(filter)),
                       options_.limits.write));
    return {};
  }

 private:
  Result<json::Document> call(std::string_view path, std::string_view members,
                              std::chrono::milliseconds limit) {
    return milvus_.call(
        path,
        fmt::format(R"({{"collectionName":{}{}{}}})", json::quote(options_.collection),
                    members.empty() ? "" : ",", members),
        limit);
  }

  const MilvusRowOptions options_;
  stores::Milvus milvus_;
};

}  // namespace

Result<std::unique_ptr<RowServer>> make_milvus_rows(MilvusRowOptions options) {
  return std::make_unique<MilvusRows>(std::move(options));
}

}  // namespace signalbox::shared_memories
