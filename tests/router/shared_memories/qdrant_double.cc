// Each call of the REST interface has one function.

#include "tests/router/shared_memories/qdrant_double.h"

#include <fmt/format.h>

#include <charconv>
#include <thread>

#include "base/json_writer.h"

namespace signalbox::test {
namespace {

constexpr std::string_view kCollection = "/collections/signalbox_memories";
constexpr size_t kPage = 3;

std::string good(std::string_view result) {
  return fmt::format(R"({{"result":{},"status":"ok","time":0.001}})", result);
}

std::string bad(std::string_view error) {
  return fmt::format(R"({{"status":{{"error":{}}},"time":0.001}})", json::quote(error));
}

int64_t values_of(const json::Value& array) {
  int64_t count = 0;
  for ([[maybe_unused]] const json::Value each : array.items()) ++count;
  return count;
}

}  // namespace

size_t QdrantDouble::points() const {
  const std::lock_guard lock(mutex_);
  return points_.size();
}

void QdrantDouble::make(int64_t dimension, std::string distance) {
  const std::lock_guard lock(mutex_);
  dimension_ = dimension;
  distance_ = std::move(distance);
}

void QdrantDouble::drop() {
  const std::lock_guard lock(mutex_);
  dimension_ = 0;
  points_.clear();
}

void QdrantDouble::damage(const std::string& member, const std::string& value) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, point] : points_) {
    if (point.payload.contains(member)) point.payload[member] = value;
  }
}

void QdrantDouble::serve(Wire& wire) {
  for (;;) {
    const std::string request = wire.read_request();
    if (request.empty() || mood == Mood::kHangsUp) return;
    if (mood == Mood::kIsSlow) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const size_t begin = request.find(' ') + 1;
    const std::string target = request.substr(begin, request.find(' ', begin) - begin);
    Reply reply;
    if (mood == Mood::kTalksRubbish) {
      reply.body = "<html>\xff{\"result\":";
    } else if (mood == Mood::kRefuses) {
      reply = {507, bad("no space left on device")};
    } else if (!key.empty() && request.find("api-key: " + key + "\r\n") == std::string::npos) {
      reply = {401, "Must provide an API key"};
    } else {
      reply = act(std::string_view(request).substr(0, begin - 1), target,
                  request.substr(request.find("\r\n\r\n") + 4));
    }
    if (!wire.send(fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\n"
                               "Content-Length: {}\r\n\r\n{}",
                               reply.status, reply.body.size(), reply.body)))
      return;
  }
}

QdrantDouble::Reply QdrantDouble::act(std::string_view method, std::string_view path,
                                      std::string text) {
  const std::lock_guard lock(mutex_);
  if (!path.starts_with(kCollection)) return {404, bad("Not found")};
  path.remove_prefix(kCollection.size());
  const auto body = json::Document::parse(text.empty() ? "{}" : std::move(text));
  if (!body) return {400, bad(body.error().message)};
  const json::Value root = body->root();
  if (path.empty() && method == "PUT") {
    if (dimension_ != 0) return {409, bad("Collection already exists")};
    dimension_ = *root.find("vectors")->find("size")->integer();
    distance_ = root.find("vectors")->find("distance")->text();
    return {200, good("true")};
  }
  if (dimension_ == 0) return {404, bad("Collection `signalbox_memories` doesn't exist!")};
  if (path.empty())
    return {200, good(fmt::format(
                     R"({{"config":{{"params":{{"vectors":{{"size":{},"distance":"{}"}}}}}}}})",
                     dimension_, distance_))};
  if (path == "/index?wait=true") return {200, good(R"({"operation_id":1,"status":"completed"})")};
  if (path == "/points?wait=true&ordering=strong") return upsert(root);
  if (path == "/points/delete?wait=true&ordering=strong") return remove(root);
  if (path == "/points/scroll?consistency=all") return {200, good(scroll(root))};
  return {404, bad("Not found")};
}

QdrantDouble::Reply QdrantDouble::upsert(const json::Value& body) {
  for (const json::Value point : body.find("points")->items()) {
    if (values_of(*point.find("vector")) != dimension_)
      return {400, bad("Wrong input: Vector dimension error")};
    Point read{.vector = std::string(point.find("vector")->raw())};
    for (const json::Member& each : point.find("payload")->members())
      read.payload[std::string(each.key)] = each.value.raw();
    const std::string id(point.find("id")->text());
    if (id.size() != 36) return {400, bad("value is not a valid point ID")};
    if (mood != Mood::kForgets && mood != Mood::kAcknowledges) points_[id] = std::move(read);
  }
  return {200, good(mood == Mood::kAcknowledges ? R"({"status":"acknowledged"})"
                                                : R"({"status":"completed"})")};
}

QdrantDouble::Reply QdrantDouble::remove(const json::Value& body) {
  for (const json::Value id : body.find("points")->items()) {
    if (mood != Mood::kForgets) points_.erase(std::string(id.text()));
  }
  return {200, good(R"({"status":"completed"})")};
}

bool QdrantDouble::holds(const json::Value& condition, const std::string& id,
                         const Point& point) const {
  if (const auto ids = condition.find("has_id")) {
    for (const json::Value each : ids->items()) {
      if (each.text() == id) return true;
    }
    return false;
  }
  const std::string& value = point.payload.at(std::string(condition.find("key")->text()));
  if (const auto match = condition.find("match")) return match->find("value")->raw() == value;
  const json::Value range = *condition.find("range");
  const auto above = range.find("gt"), below = range.find("lt");
  int64_t number = 0;
  if (std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc())
    return false;  // a value of another type is in no range
  return (!above || number > *above->integer()) && (!below || number < *below->integer());
}

std::string QdrantDouble::scroll(const json::Value& body) const {
  const auto begin = body.find("offset");
  const auto limit = std::min(kPage, static_cast<size_t>(*body.find("limit")->integer()));
  const bool has_vector = body.find("with_vector")->boolean();
  json::Writer out;
  out.begin_object().key("points").begin_array();
  size_t count = 0;
  std::string next;
  for (const auto& [id, point] : points_) {
    bool is_found = !begin || id >= begin->text();
    for (const json::Value each : body.find("filter")->find("must")->items())
      is_found = is_found && (mood == Mood::kMixesUp || holds(each, id, point));
    if (!is_found) continue;
    if (count++ == limit) {
      next = id;
      break;
    }
    out.begin_object().member("id", id).key("payload").begin_object();
    for (const json::Value field : body.find("with_payload")->items()) {
      const auto found = point.payload.find(std::string(field.text()));
      if (found != point.payload.end()) out.key(found->first).raw(found->second);
    }
    out.end_object();
    if (has_vector) out.key("vector").raw(point.vector);
    out.end_object();
  }
  out.end_array().key("next_page_offset");
  next.empty() ? out.null() : out.string(next);
  return out.end_object().take();
}

}  // namespace signalbox::test
