// A double of Milvus, written from the documentation of its REST interface. It was not compared
// with a real Milvus.

#include "tests/router/cache/milvus_double.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <thread>

#include "base/json_writer.h"

namespace signalbox::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kTextMax = 65'535;

std::string well(std::string_view data) {
  return fmt::format(R"({{"code":0,"data":{}}})", data);
}

std::string wrong(int code, std::string_view message) {
  return fmt::format(R"({{"code":{},"message":{}}})", code, json::quote(message));
}

/// Returns nullopt for a value of another type, which no comparison holds for.
std::optional<int64_t> number(const std::string& json) {
  int64_t out = 0;
  if (std::from_chars(json.data(), json.data() + json.size(), out).ec != std::errc())
    return std::nullopt;
  return out;
}

/// Evaluates a filter: "told > 5 and expires < 7", "id like \"x.%\"", or
/// "owner == \"a\" and id in [\"b\",\"c\"]".
bool holds(const std::string& filter, const std::string& id, const MilvusDouble::Row& row) {
  std::istringstream words(filter);
  std::string field, relation, value, conjunction;
  do {
    words >> field >> relation >> value;
    if (relation == "like") {
      const std::string prefix = value.substr(1, value.size() - 3);
      if (!id.starts_with(prefix)) return false;
      continue;
    }
    if (relation == "==" || relation == "in") {
      const std::string& text = row.at(field);
      if (relation == "==" ? text != value : value.find(text) == std::string::npos) return false;
      continue;
    }
    const auto left = number(row.at(field)), right = number(value);
    const bool holds = left && right &&
                       (relation == ">"    ? *left > *right
                        : relation == "<=" ? *left <= *right
                        : relation == "<"  ? *left < *right
                                           : false);
    if (!holds) return false;
  } while (words >> conjunction);
  return true;
}

}  // namespace

std::map<std::string, std::string> MilvusDouble::fields() const {
  const std::lock_guard lock(mutex_);
  return fields_;
}

void MilvusDouble::set_fields(std::map<std::string, std::string> fields) {
  const std::lock_guard lock(mutex_);
  fields_ = std::move(fields);
}

void MilvusDouble::set_level(std::string level) {
  const std::lock_guard lock(mutex_);
  level_ = std::move(level);
}

size_t MilvusDouble::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_.size();
}

void MilvusDouble::put(const std::string& id, Row row) {
  const std::lock_guard lock(mutex_);
  rows_[id] = std::move(row);
}

void MilvusDouble::erase(const std::string& id_prefix) {
  const std::lock_guard lock(mutex_);
  std::erase_if(rows_, [&](const auto& row) { return row.first.starts_with(id_prefix); });
}

void MilvusDouble::drop() {
  const std::lock_guard lock(mutex_);
  fields_.clear();
  rows_.clear();
  changes_.clear();
}

void MilvusDouble::serve(Wire& wire) {
  for (;;) {
    const std::string request = wire.read_request();
    if (request.empty()) return;
    ++asked;
    const Mood now = mood;
    if (now == Mood::kHangsUp) return;
    if (now == Mood::kIsSlow) std::this_thread::sleep_for(milliseconds(700));
    if (now == Mood::kFloods) {
      const std::string part(1 << 20, ' ');
      wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
      while (wire.send(part)) {
      }
      return;
    }
    std::string status = "200 OK", body;
    if (now == Mood::kTalksRubbish) {
      body = "<html>\xff{\"code\":";
    } else if (now == Mood::kRefuses) {
      body = wrong(9, "quota exceeded");
    } else if (!token.empty() &&
               request.find("Authorization: Bearer " + token + "\r\n") == std::string::npos) {
      status = "401 Unauthorized";
      body = wrong(1800, "user hasn't authenticated");
    } else {
      const size_t begin = request.find(' ') + 1;
      const std::string target = request.substr(begin, request.find(' ', begin) - begin);
      body = answer(target, request.substr(request.find("\r\n\r\n") + 4));
    }
    if (!wire.send(fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\n"
                               "Content-Length: {}\r\n\r\n{}",
                               status, body.size(), body)))
      return;
  }
}

std::string MilvusDouble::answer(std::string_view target, std::string text) {
  constexpr std::string_view kBegin = "/v2/vectordb";
  if (!target.starts_with(kBegin)) return wrong(404, "page not found");
  const auto body = json::Document::parse(std::move(text));
  if (!body) return wrong(1801, body.error().message);
  const std::lock_guard lock(mutex_);
  show();
  const auto asked_database = body->root().find("dbName");
  if ((asked_database ? asked_database->text() : "") != database)
    return wrong(800, "database not found");
  return act(target.substr(kBegin.size()), body->root());
}

std::string MilvusDouble::act(std::string_view path, const json::Value& body) {
  if (!body.find("collectionName")) return wrong(1802, "missing required parameters");
  if (path == "/collections/has")
    return well(fields_.empty() ? R"({"has":false})" : R"({"has":true})");
  if (path == "/collections/create") return create(body);
  if (fields_.empty()) return wrong(100, "can't find collection");
  if (path == "/collections/describe") return describe();
  if (path == "/collections/load") {
    loaded_ = true;
    return well("{}");
  }
  if (!loaded_) return wrong(101, "collection not loaded");
  if (path == "/entities/upsert") return upsert(body);
  if (path == "/entities/delete") return remove(std::string(body.find("filter")->text()));
  if (path == "/entities/query") return query(body);
  if (path == "/entities/get") return get(body);
  return wrong(404, "page not found");
}

std::string MilvusDouble::create(const json::Value& body) {
  const auto schema = body.find("schema");
  if (!schema) return wrong(1802, "missing required parameters");
  for (const json::Value field : schema->find("fields")->items()) {
    fields_[std::string(field.find("fieldName")->text())] = field.find("dataType")->text();
    const auto parameters = field.find("elementTypeParams");
    const auto dimension = parameters ? parameters->find("dim") : std::nullopt;
    if (dimension) dimension_ = std::stoll(std::string(dimension->text()));
  }
  const auto parameters = body.find("params");
  const auto level = parameters ? parameters->find("consistencyLevel") : std::nullopt;
  level_ = level ? level->text() : "Bounded";
  for (const json::Value index : body.find("indexParams")->items())
    metric_ = index.find("metricType")->text();
  loaded_ = body.find("indexParams").has_value();
  return well("{}");
}

std::string MilvusDouble::describe() const {
  json::Writer out;
  out.begin_object().key("fields").begin_array();
  for (const auto& [name, type] : fields_) {
    out.begin_object().member("name", name).member("type", type);
    out.member("primaryKey", name == "id").key("params").begin_array();
    if (type == "FloatVector") {
      out.begin_object().member("key", "dim").member("value", std::to_string(dimension_));
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().member("consistencyLevel", level_).key("indexes").begin_array();
  out.begin_object().member("fieldName", "vector").member("metricType", metric_).end_object();
  out.end_array().member("load", loaded_ ? "LoadStateLoaded" : "LoadStateNotLoad").end_object();
  return well(out.take());
}

std::string MilvusDouble::upsert(const json::Value& body) {
  std::vector<std::pair<std::string, Row>> all;
  for (const json::Value given : body.find("data")->items()) {
    Row row;
    for (const auto& [name, type] : fields_) {
      const auto value = given.find(name);
      if (!value) return wrong(1804, "missing field " + name);
      const bool is_text = type == "VarChar", is_vector = type == "FloatVector";
      if (value->is_string() != is_text || value->is_array() != is_vector)
        return wrong(1804, "invalid data for field " + name);
      int64_t values = 0;
      for ([[maybe_unused]] const json::Value each : value->items()) ++values;
      if (is_vector && dimension_ > 0 && values != dimension_)
        return wrong(1804, "the dimension is not the collection's");
      if (is_text && value->text().size() > kTextMax)
        return wrong(1100, "length of varchar field exceeds max length");
      row[name] = value->raw();
    }
    all.emplace_back(given.find("id")->text(), std::move(row));
  }
  for (auto& [id, row] : all) {
    if (mood != Mood::kForgets) change(id, std::move(row));
  }
  return well(fmt::format(R"({{"upsertCount":{}}})", all.size()));
}

std::string MilvusDouble::remove(const std::string& filter) {
  constexpr std::string_view kIds = "id in ";
  std::vector<std::string> ids;
  if (filter.starts_with(kIds)) {
    const auto named = json::Document::parse(filter.substr(kIds.size()));
    if (!named) return wrong(1100, "failed to create query plan");
    for (const json::Value id : named->root().items()) ids.emplace_back(id.text());
  } else {
    for (const auto& [id, row] : rows_) {
      if (holds(filter, id, row)) ids.push_back(id);
    }
  }
  for (const std::string& id : ids) {
    if (mood != Mood::kForgets) change(id, std::nullopt);
  }
  return well("{}");
}

std::string MilvusDouble::query(const json::Value& body) {
  const std::string filter(body.find("filter")->text());
  const auto limit = static_cast<size_t>(*body.find("limit")->integer());
  if (limit == 0 || limit > 16'384) return wrong(65535, "invalid max query result window");
  const auto level = body.find("consistencyLevel");
  if ((level ? level->text() : level_) == "Strong") show_until(steady_clock::time_point::max());
  std::vector<std::string> ids;
  for (const auto& [id, row] : rows_) {
    if (ids.size() < limit && is_shown(filter, id, row)) ids.push_back(id);
  }
  return rows_as_json(ids, body);
}

std::string MilvusDouble::get(const json::Value& body) {
  std::vector<std::string> ids;
  for (const json::Value id : body.find("id")->items()) {
    if (rows_.contains(std::string(id.text()))) ids.emplace_back(id.text());
  }
  std::reverse(ids.begin(), ids.end());
  return rows_as_json(ids, body);
}

std::string MilvusDouble::rows_as_json(const std::vector<std::string>& ids,
                                       const json::Value& body) const {
  json::Writer out;
  out.begin_array();
  for (const std::string& id : ids) {
    out.begin_object();
    for (const json::Value field : body.find("outputFields")->items()) {
      const std::string name(field.text());
      const std::string& value = rows_.at(id).at(name);
      const bool quotes = numbers_as_text && fields_.at(name) == "Int64";
      out.key(name).raw(quotes ? json::quote(value) : value);
    }
    out.end_object();
  }
  out.end_array();
  return well(out.take());
}

void MilvusDouble::change(const std::string& id, std::optional<Row> row) {
  changes_.push_back({steady_clock::now() + milliseconds(late_ms), id, std::move(row)});
  if (late_ms == 0) show();
}

bool MilvusDouble::is_shown(const std::string& filter, const std::string& id,
                            const Row& row) const {
  return mood == Mood::kMixesUp || holds(filter, id, row);
}

void MilvusDouble::show() {
  show_until(steady_clock::now());
}

void MilvusDouble::show_until(steady_clock::time_point now) {
  std::erase_if(changes_, [&](Change& change) {
    if (change.seen > now) return false;
    if (change.row) {
      rows_[change.id] = *std::move(change.row);
    } else {
      rows_.erase(change.id);
    }
    return true;
  });
}

}  // namespace signalbox::test
