// Records are JSON, so that an operator can read them. Vectors follow a line of JSON as bytes.

#include "router/vector_stores/records.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/sha256.h"

namespace signalbox::vector_stores {
namespace {

constexpr int32_t kDimMax = 16'384;
constexpr int64_t kDay = 24 * 60 * 60;
constexpr uint64_t kSecondsMax = uint64_t{1} << 40;
constexpr json::Limits kLimits{.bytes = size_t{64} << 20, .depth = 8};

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::kCorrupt, "{}: missing, of another type or out of range", what);
}

/// Reads the members of a record and fails at the first missing one.
class RecordReader {
 public:
  explicit RecordReader(const json::Value& root) : root_(root) {}

  std::string text(std::string_view key) {
    const auto value = root_.find(key);
    if (!value || !value->is_string()) return fail_at(key), std::string();
    return std::string(value->text());
  }
  bool has(std::string_view key) const { return root_.find(key).has_value(); }
  bool boolean(std::string_view key) {
    const auto value = root_.find(key);
    if (!value || !value->is_bool()) return fail_at(key), false;
    return value->boolean();
  }
  int64_t number(std::string_view key, uint64_t most = std::numeric_limits<int64_t>::max()) {
    const auto value = root_.find(key);
    const auto read = value ? value->integer() : Result<int64_t>(fail(Code::kCorrupt, "none"));
    if (!read || *read < 0 || static_cast<uint64_t>(*read) > most) return fail_at(key), 0;
    return *read;
  }
  template <class T>
  T pairs(std::string_view key, Result<T> (*read)(std::string_view, const json::Value&)) {
    const auto value = root_.find(key);
    auto out = value ? read(key, *value) : Result<T>(fail(Code::kCorrupt, "none"));
    if (!out) return fail_at(key), T();
    return *std::move(out);
  }

  template <class T>
  Result<T> finish(T record) const {
    if (!missing_.empty()) return damaged(missing_);
    return record;
  }

 private:
  void fail_at(std::string_view key) {
    if (missing_.empty()) missing_ = key;
  }
  const json::Value root_;
  std::string missing_;
};

Result<json::Document> parse(std::string_view text) {
  auto out = json::Document::parse(std::string(text), kLimits);
  if (!out || !out->root().is_object()) return fail(Code::kCorrupt, "expected a JSON object");
  return out;
}

int64_t signed_of(uint64_t value) {
  return static_cast<int64_t>(value);
}

void begin_record(json::Writer& out, std::string_view id, int64_t created, uint64_t number) {
  out.begin_object().member("id", id).member("created", created);
  out.member("number", signed_of(number));
}

Result<void> check_pair(std::string_view where, std::string_view key, size_t pairs) {
  if (pairs >= kPairsMax) return fail(Code::kInvalid, "{}: more than {} pairs", where, kPairsMax);
  if (key.empty() || key.size() > kPairKeyBytesMax)
    return fail(Code::kInvalid, "{}: expected keys of 1 to {} bytes, found {}", where,
                kPairKeyBytesMax, json::quote_briefly(key));
  return {};
}

Result<void> check_text(std::string_view where, std::string_view key, const json::Value& value) {
  if (value.text().size() <= kPairValueBytesMax) return {};
  return fail(Code::kInvalid, "{}.{}: more than {} bytes", where, key, kPairValueBytesMax);
}

Result<Attribute> read_attribute(std::string_view where, const json::Member& member) {
  const json::Value& value = member.value;
  if (value.is_bool()) return Attribute(value.boolean());
  if (value.is_number()) {
    SIGNALBOX_TRY(const double number, value.number());
    return Attribute(number);
  }
  if (!value.is_string())
    return fail(Code::kInvalid, "{}.{}: expected a string, a number or a boolean, found {}", where,
                member.key, json::type_name(value.type()));
  SIGNALBOX_TRY_VOID(check_text(where, member.key, value));
  return Attribute(std::string(value.text()));
}

Result<std::string> read_metadatum(std::string_view where, const json::Member& member) {
  if (!member.value.is_string())
    return fail(Code::kInvalid, "{}.{}: expected a string, found {}", where, member.key,
                json::type_name(member.value.type()));
  SIGNALBOX_TRY_VOID(check_text(where, member.key, member.value));
  return std::string(member.value.text());
}

/// An object as a map; `read(where, member)` returns the value of a member. Null is empty.
template <class Pairs, class Read>
Result<Pairs> read_pairs(std::string_view where, const json::Value& value, Read read) {
  Pairs out;
  if (value.is_null()) return out;
  if (!value.is_object())
    return fail(Code::kInvalid, "{}: expected an object, found {}", where,
                json::type_name(value.type()));
  for (const json::Member& member : value.members()) {
    SIGNALBOX_TRY_VOID(check_pair(where, member.key, out.size()));
    SIGNALBOX_TRY(out[std::string(member.key)], read(where, member));
  }
  return out;
}

/// The bytes of a record behind its first line: the chunks, then the vectors.
std::string body_of(const Embedded& embedded) {
  static_assert(std::endian::native == std::endian::little);
  std::string out;
  for (const std::string& chunk : embedded.chunks) out += chunk;
  out.append(reinterpret_cast<const char*>(embedded.vectors.data()),
             embedded.vectors.size() * sizeof(float));
  return out;
}

/// Takes the chunks and the vectors from the body. Precondition: sizes and vectors fill it.
Result<Embedded> take_body(Embedded out, const std::vector<size_t>& sizes, std::string_view body) {
  for (const size_t size : sizes) {
    out.chunks.emplace_back(body.substr(0, size));
    body.remove_prefix(size);
  }
  out.vectors.resize(body.size() / sizeof(float));
  std::memcpy(out.vectors.data(), body.data(), body.size());
  return out;
}

}  // namespace

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kInProgress:
      return "in_progress";
    case Status::kCompleted:
      return "completed";
    case Status::kFailed:
      return "failed";
    case Status::kCancelled:
      return "cancelled";
  }
  return "";
}

void StatusCounts::add(Status status) {
  switch (status) {
    case Status::kInProgress:
      ++in_progress;
      return;
    case Status::kCompleted:
      ++completed;
      return;
    case Status::kFailed:
      ++failed;
      return;
    case Status::kCancelled:
      ++cancelled;
      return;
  }
}

int64_t expiry_of(const Store& store) {
  return store.expires_days == 0 ? 0 : store.last_active + store.expires_days * kDay;
}

bool is_expired(const Store& store, int64_t now) {
  return store.is_emptied || (store.expires_days > 0 && expiry_of(store) <= now);
}

void write_attributes(json::Writer& out, const Attributes& attributes) {
  out.begin_object();
  for (const auto& attribute : attributes) {
    std::visit([&](const auto& value) { out.member(attribute.first, value); }, attribute.second);
  }
  out.end_object();
}

Result<Attributes> read_attributes(std::string_view where, const json::Value& value) {
  return read_pairs<Attributes>(where, value, read_attribute);
}

Result<Metadata> read_metadata(std::string_view where, const json::Value& value) {
  return read_pairs<Metadata>(where, value, read_metadatum);
}

std::string write_record(const File& file) {
  json::Writer out;
  begin_record(out, file.id, file.created, file.number);
  out.member("owner", file.owner).member("name", file.name).member("purpose", file.purpose);
  return out.member("bytes", signed_of(file.bytes)).end_object().take() + "\n";
}

std::string write_record(const Store& store) {
  json::Writer out;
  begin_record(out, store.id, store.created, store.number);
  out.member("owner", store.owner).member("name", store.name).key("metadata").begin_object();
  for (const auto& [key, value] : store.metadata) out.member(key, value);
  out.end_object();
  if (store.expires_days > 0) {
    out.member("expires_days", int64_t{store.expires_days});
    out.member("last_active", store.last_active).member("is_emptied", store.is_emptied);
  }
  return out.end_object().take() + "\n";
}

std::string write_record(const Entry& entry) {
  json::Writer out;
  begin_record(out, entry.id, entry.created, entry.number);
  out.member("store", entry.store).member("file", entry.file);
  out.member("chunk_tokens", static_cast<int64_t>(entry.chunking.tokens_max));
  out.member("overlap_tokens", static_cast<int64_t>(entry.chunking.overlap_tokens));
  out.key("attributes");
  write_attributes(out, entry.attributes);
  if (!entry.batch.empty()) out.member("batch", entry.batch);
  if (entry.status == Status::kCancelled) out.member("is_cancelled", true);
  return out.member("error", entry.error).end_object().take() + "\n";
}

std::string write_record(const Embedded& embedded) {
  const std::string body = body_of(embedded);
  json::Writer out;
  out.begin_object().member("model", embedded.model).member("dim", embedded.dim);
  out.member("sha256", sha256_hex(body)).key("sizes").begin_array();
  for (const std::string& chunk : embedded.chunks) out.integer(signed_of(chunk.size()));
  return out.end_array().end_object().take() + "\n" + body;
}

Result<File> read_file_record(std::string_view line) {
  SIGNALBOX_TRY(const json::Document document, parse(line));
  RecordReader in(document.root());
  File out{in.text("id"), in.text("owner"), in.text("name"), in.text("purpose")};
  out.bytes = static_cast<uint64_t>(in.number("bytes", kFileBytesMax));
  out.created = in.number("created");
  out.number = static_cast<uint64_t>(in.number("number", kNumberMax));
  return in.finish(std::move(out));
}

Result<Store> read_store_record(std::string_view text) {
  SIGNALBOX_TRY(const json::Document document, parse(text));
  RecordReader in(document.root());
  Store out{in.text("id"), in.text("owner"), in.text("name"), in.pairs("metadata", read_metadata)};
  out.created = in.number("created");
  out.number = static_cast<uint64_t>(in.number("number", kNumberMax));
  out.last_active = out.created;
  if (in.has("expires_days")) {
    out.expires_days = static_cast<uint32_t>(in.number("expires_days", kExpiresDaysMax));
    out.last_active = in.number("last_active", kSecondsMax);
    out.is_emptied = in.boolean("is_emptied");
  }
  return in.finish(std::move(out));
}

Result<Entry> read_entry_record(std::string_view text) {
  SIGNALBOX_TRY(const json::Document document, parse(text));
  RecordReader in(document.root());
  Entry out{in.text("id"), in.text("store"), in.text("file")};
  const int64_t tokens = in.number("chunk_tokens"), overlap = in.number("overlap_tokens");
  if (tokens < kChunkTokensMin || tokens > kChunkTokensMax || overlap > tokens / 2)
    return damaged("chunk_tokens");
  out.chunking = {static_cast<uint32_t>(tokens), static_cast<uint32_t>(overlap)};
  out.attributes = in.pairs("attributes", read_attributes);
  out.created = in.number("created");
  out.number = static_cast<uint64_t>(in.number("number", kNumberMax));
  out.error = in.text("error");
  if (in.has("batch")) out.batch = in.text("batch");
  if (!out.error.empty()) out.status = Status::kFailed;
  if (in.has("is_cancelled") && in.boolean("is_cancelled")) out.status = Status::kCancelled;
  return in.finish(std::move(out));
}

Result<Embedded> read_embedded(std::string_view bytes) {
  const size_t line = bytes.find('\n');
  if (line == bytes.npos) return damaged("first line");
  SIGNALBOX_TRY(const json::Document document, parse(bytes.substr(0, line)));
  const std::string_view body = bytes.substr(line + 1);
  RecordReader in(document.root());
  Embedded out{in.text("model"), 0};
  const int64_t dim = in.number("dim");
  if (dim < 1 || dim > kDimMax) return damaged("dim");
  out.dim = static_cast<int32_t>(dim);
  const std::string digest = in.text("sha256");
  const auto list = document.root().find("sizes");
  if (!list || !list->is_array()) return damaged("sizes");
  std::vector<size_t> sizes;
  size_t left = body.size();
  for (const json::Value each : list->items()) {
    const auto size = each.integer();
    if (!size || *size < 1 || static_cast<uint64_t>(*size) > left) return damaged("sizes");
    left -= static_cast<size_t>(*size);
    sizes.push_back(static_cast<size_t>(*size));
  }
  if (left != sizes.size() * static_cast<size_t>(dim) * sizeof(float)) return damaged("vectors");
  if (sha256_hex(body) != digest) return fail(Code::kCorrupt, "the checksum is another one");
  SIGNALBOX_TRY(out, in.finish(std::move(out)));
  return take_body(std::move(out), sizes, body);
}

}  // namespace signalbox::vector_stores
