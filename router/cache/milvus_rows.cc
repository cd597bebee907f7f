// Bytes are encoded in Base64, since the interface is JSON.

#include "router/cache/milvus_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/json_writer.h"
#include "router/stores/milvus.h"

namespace signalbox::cache {
namespace {

using stores::milvus_integer;

constexpr std::string_view kTextMax = "65535", kIdMax = "256", kDimension = "2";

struct Field {
  std::string_view name, type;
  std::string_view parameter = {}, value = {};
};
constexpr std::array<Field, 8> kFields = {{{"id", "VarChar", "max_length", kIdMax},
                                           {"written", "Int64"},
                                           {"told", "Int64"},
                                           {"expires", "Int64"},
                                           {"pieces", "Int64"},
                                           {"head", "VarChar", "max_length", kTextMax},
                                           {"bytes", "VarChar", "max_length", kTextMax},
                                           {"vector", "FloatVector", "dim", kDimension}}};

void append_row(json::Writer& out, const MilvusRow& row) {
  out.begin_object();
  out.member("id", row.id).member("written", row.written).member("told", row.logged);
  out.member("expires", row.expires).member("pieces", row.pieces);
  out.member("head", base64::encode(row.head)).member("bytes", base64::encode(row.bytes));
  out.key("vector").raw("[1,0]");
  out.end_object();
}

Result<void> read_integer(const json::Value& row, std::string_view name, int64_t& into) {
  if (!row.find(name)) return {};
  SIGNALBOX_TRY(into, milvus_integer(row, name));
  return {};
}

Result<void> read_bytes(const json::Value& row, std::string_view name, std::string& into) {
  const auto text = row.find(name);
  if (!text) return {};
  if (!text->is_string()) return fail(Code::kIo, "\"{}\" is not a string", name);
  auto bytes = base64::decode(text->text());
  if (!bytes) return fail(Code::kIo, "\"{}\": {}", name, bytes.error().message);
  into = *std::move(bytes);
  return {};
}

Result<MilvusRow> read_row(const json::Value& row) {
  MilvusRow out;
  const auto id = row.find("id");
  if (!id || !id->is_string()) return fail(Code::kIo, "a row without an id");
  out.id = id->text();
  SIGNALBOX_TRY_VOID(read_integer(row, "written", out.written));
  SIGNALBOX_TRY_VOID(read_integer(row, "told", out.logged));
  SIGNALBOX_TRY_VOID(read_integer(row, "expires", out.expires));
  SIGNALBOX_TRY_VOID(read_integer(row, "pieces", out.pieces));
  SIGNALBOX_TRY_VOID(read_bytes(row, "head", out.head));
  SIGNALBOX_TRY_VOID(read_bytes(row, "bytes", out.bytes));
  return out;
}

std::optional<json::Value> member(const json::Value& reply, std::string_view name) {
  const auto data = reply.find("data");
  return data ? data->find(name) : std::nullopt;
}

bool has_text(const json::Value& object, std::string_view name, std::string_view text) {
  const auto value = object.find(name);
  return value && value->is_string() && value->text() == text;
}

}  // namespace

bool is_milvus_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 &&
         std::ranges::all_of(id, [](char c) { return ascii::is_alnum(c) || c == '-'; });
}

std::string milvus_piece(std::string_view id, int64_t written, int64_t piece) {
  return fmt::format("{}.{}.{}", id, written, piece);
}

std::optional<std::string> milvus_rows(const MilvusRow& first, std::string_view bytes) {
  const auto pieces = static_cast<int64_t>((bytes.size() + kMilvusPieceMax - 1) / kMilvusPieceMax);
  if (pieces > kMilvusPiecesMax) return std::nullopt;
  MilvusRow row = first;
  row.pieces = pieces;
  if (row.head.size() > kMilvusPieceMax) {
    row.head.clear();
    row.logged = 0;
  }
  json::Writer out;
  out.begin_array();
  row.bytes = bytes.substr(0, kMilvusPieceMax);
  append_row(out, row);
  row.head.clear();
  row.logged = 0;
  for (int64_t piece = 1; piece < pieces; ++piece) {
    row.id = milvus_piece(first.id, first.written, piece);
    row.bytes = bytes.substr(static_cast<size_t>(piece) * kMilvusPieceMax, kMilvusPieceMax);
    append_row(out, row);
  }
  out.end_array();
  return out.take();
}

Result<std::vector<MilvusRow>> read_milvus_rows(const json::Value& reply) {
  const auto data = reply.find("data");
  if (!data || !data->is_array()) return fail(Code::kIo, "no rows");
  std::vector<MilvusRow> out;
  for (const json::Value row : data->items()) {
    SIGNALBOX_TRY(MilvusRow read, read_row(row));
    out.push_back(std::move(read));
  }
  return out;
}

std::string milvus_schema() {
  json::Writer out;
  out.begin_object().key("fields").begin_array();
  for (const Field& field : kFields) {
    out.begin_object().member("fieldName", field.name).member("dataType", field.type);
    if (field.name == "id") out.member("isPrimary", true);
    out.key("elementTypeParams").begin_object();  // declared as required
    if (!field.parameter.empty()) out.member(field.parameter, field.value);
    out.end_object().end_object();
  }
  out.end_array().end_object();
  // A collection can only be loaded if its vectors have an index.
  return fmt::format(R"("schema":{},"indexParams":[{{"fieldName":"vector","indexName":"vector",)"
                     R"("metricType":"L2","indexType":"FLAT"}}])",
                     out.take());
}

Result<void> check_milvus_schema(const json::Value& reply) {
  const auto fields = member(reply, "fields");
  if (!fields || !fields->is_array()) return fail(Code::kIo, "a collection without fields");
  for (const Field& wanted : kFields) {
    std::optional<json::Value> found;
    for (const json::Value field : fields->items()) {
      if (has_text(field, "name", wanted.name)) found = field;
    }
    if (!found) return fail(Code::kInvalid, "it has no field \"{}\"", wanted.name);
    const auto type = found->find("type");
    // Some versions write "VarChar(65535)".
    if (!type || !type->is_string() || !type->text().starts_with(wanted.type))
      return fail(Code::kInvalid, "its field \"{}\" is not a {}", wanted.name, wanted.type);
    const auto primary = found->find("primaryKey");
    if (primary && primary->is_bool() && primary->boolean() != (wanted.name == "id"))
      return fail(Code::kInvalid, "its primary key is not \"id\"");
  }
  return {};
}

bool is_milvus_loaded(const json::Value& reply) {
  const auto data = reply.find("data");
  return data && has_text(*data, "load", "LoadStateLoaded");
}

}  // namespace signalbox::cache
