// Replies of Milvus and Qdrant.

#include "base/json_writer.h"
#include "router/shared_memories/row_servers.h"

namespace signalbox::shared_memories {
namespace {

constexpr std::string_view kCosine = "COSINE";

std::optional<json::Value> at(const json::Value& from,
                              std::initializer_list<std::string_view> path) {
  std::optional<json::Value> out = from;
  for (const std::string_view name : path) {
    if (out) out = out->find(name);
  }
  return out;
}

std::string_view text_at(const json::Value& from, std::string_view name) {
  const auto value = from.find(name);
  return value && value->is_string() ? value->text() : "";
}

std::string_view type_of_field(std::string_view name) {
  if (name == "vector") return "FloatVector";
  const bool is_number = name == "kind" || name == "created" || name == "used" || name == "uses" ||
                         name == "moment" || name == "expires";
  return is_number ? "Int64" : "VarChar";
}

tl::unexpected<Error> other_shape(std::string_view what) {
  return fail(Code::kInvalid, "it {}", what);
}

Result<size_t> checked_dimension(int64_t dimension) {
  if (dimension >= 1 && dimension <= static_cast<int64_t>(kValuesMax))
    return static_cast<size_t>(dimension);
  return other_shape(
      fmt::format("has vectors of {} values, where 1 to {} are possible", dimension, kValuesMax));
}

Result<size_t> dimension_of(const json::Value& vector_field) {
  const auto parameters = vector_field.find("params");
  if (parameters) {
    for (const json::Value each : parameters->items()) {
      if (text_at(each, "key") != "dim") continue;
      const auto value = stores::milvus_integer(each, "value");
      if (value) return checked_dimension(*value);
    }
  }
  return fail(Code::kIo, "its description has no dimension");
}

}  // namespace

Result<Rows> read_milvus_memories(const json::Value& reply, const RowQuery& query) {
  const auto data = reply.find("data");
  if (!data || !data->is_array()) return fail(Code::kIo, "the reply has no rows");
  Rows out;
  for (const json::Value row : data->items()) {
    if (out.count() == query.most) break;
    SIGNALBOX_TRY_VOID(out.add(row, row.find("vector"), query));
  }
  return out;
}

Result<QdrantPage> read_qdrant_page(const json::Value& reply, const RowQuery& query) {
  const auto points = at(reply, {"result", "points"});
  if (!points || !points->is_array()) return fail(Code::kIo, "the reply has no points");
  QdrantPage out;
  for (const json::Value point : points->items()) {
    if (out.rows.count() == query.most) break;
    const auto payload = point.find("payload");
    if (!payload) return fail(Code::kIo, "a point has no payload");
    SIGNALBOX_TRY_VOID(out.rows.add(*payload, point.find("vector"), query));
  }
  const auto next = at(reply, {"result", "next_page_offset"});
  if (next && !next->is_null()) out.next = next->raw();
  // Refuse an empty page with a successor: such pages could go on for ever, and skipping them could
  // miss deletions.
  if (!out.next.empty() && out.rows.count() == 0)
    return fail(Code::kIo, "a page without points is not the last one");
  return out;
}

Result<size_t> read_milvus_dimension(const json::Value& reply) {
  const auto fields = at(reply, {"data", "fields"});
  if (!fields || !fields->is_array()) return fail(Code::kIo, "a collection without fields");
  std::optional<json::Value> vector;
  for (const std::string_view name : row_fields()) {
    std::optional<json::Value> found;
    for (const json::Value field : fields->items()) {
      if (text_at(field, "name") == name) found = field;
    }
    if (!found) return other_shape(fmt::format("has no field \"{}\"", name));
    // Some versions write "VarChar(65535)".
    if (!text_at(*found, "type").starts_with(type_of_field(name)))
      return other_shape(
          fmt::format("has a field \"{}\" that is not a {}", name, type_of_field(name)));
    const auto primary = found->find("primaryKey");
    if (primary && primary->is_bool() && primary->boolean() != (name == "id"))
      return other_shape("has another primary key than \"id\"");
    if (name == "vector") vector = found;
  }
  const std::string_view consistency = text_at(*reply.find("data"), "consistencyLevel");
  if (!consistency.empty() && consistency != "Strong")
    return other_shape(fmt::format("has the consistency level {}, where Strong is needed",
                                   json::quote_briefly(consistency)));
  const auto indexes = at(reply, {"data", "indexes"});
  if (indexes) {
    for (const json::Value index : indexes->items()) {
      const std::string_view metric = text_at(index, "metricType");
      if (text_at(index, "fieldName") == "vector" && !metric.empty() && metric != kCosine)
        return other_shape(fmt::format("compares vectors by {}, where {} is needed",
                                       json::quote_briefly(metric), kCosine));
    }
  }
  return dimension_of(*vector);
}

Result<size_t> read_qdrant_dimension(const json::Value& reply) {
  const auto vectors = at(reply, {"result", "config", "params", "vectors"});
  if (!vectors || !vectors->is_object()) return fail(Code::kIo, "a collection without vectors");
  const auto size = vectors->find("size");
  if (!size) return other_shape("has several vectors in each point, where one is needed");
  if (text_at(*vectors, "distance") != "Cosine")
    return other_shape(fmt::format("compares vectors by {}, where Cosine is needed",
                                   json::quote_briefly(text_at(*vectors, "distance"))));
  SIGNALBOX_TRY(const int64_t dimension, size->integer());
  return checked_dimension(dimension);
}

}  // namespace signalbox::shared_memories
