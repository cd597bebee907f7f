// Numbers have the byte order of x86 and ARM. Texts and vectors follow their lengths.

#include "router/cache/entry_codec.h"

#include <cstring>

#include "router/vector_index/index.h"

namespace signalbox::cache {
namespace {

using std::chrono::milliseconds;
using vector_index::SnapshotReader;

constexpr uint32_t kEntryVersion = 1;
constexpr uint64_t kVectorMax = vector_index::VectorIndex::kDimMax;

int64_t to_wall(TimePoint at, const Clocks& now) {
  const auto wall = now.wall.time_since_epoch() + (at - now.steady);
  return std::chrono::duration_cast<milliseconds>(wall).count();
}

void append(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}

void append_number(std::string& out, uint64_t number) {
  append(out, &number, sizeof number);
}

Result<std::string> take_text(SnapshotReader& in) {
  SIGNALBOX_TRY(const uint64_t size, in.get<uint64_t>());
  if (size > in.left())
    return fail(Code::kCorrupt, "a text of {} bytes, but only {} remain", size, in.left());
  SIGNALBOX_TRY(const std::string_view text, in.take(size));
  return std::string(text);
}

Result<std::vector<float>> take_vector(SnapshotReader& in) {
  SIGNALBOX_TRY(const uint64_t size, in.get<uint64_t>());
  if (size > kVectorMax) return fail(Code::kCorrupt, "a vector of {} values", size);
  SIGNALBOX_TRY(const std::string_view bytes, in.take(size * sizeof(float)));
  std::vector<float> out(size);
  if (size != 0) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Rejects times more than a century from `now`, which a steady clock may be unable to represent.
Result<TimePoint> take_time(SnapshotReader& in, const Clocks& now) {
  SIGNALBOX_TRY(const int64_t wall_ms, in.get<int64_t>());
  constexpr int64_t kCenturyMs = int64_t{100} * 365 * 24 * 3600 * 1000;
  const int64_t now_ms =
      std::chrono::duration_cast<milliseconds>(now.wall.time_since_epoch()).count();
  if (wall_ms < now_ms - kCenturyMs || wall_ms > now_ms + kCenturyMs)
    return fail(Code::kCorrupt, "a time of {} ms since 1970", wall_ms);
  return now.steady + milliseconds(wall_ms - now_ms);
}

}  // namespace

Clocks clocks_now() {
  return {TimePoint::clock::now(), std::chrono::system_clock::now()};
}

void append_entry(std::string& out, const Entry& entry, const Clocks& now) {
  for (const std::string* text : {&entry.id, &entry.partition, &entry.question, &entry.reply,
                                  &entry.recipe, &entry.decision, &entry.model}) {
    append_number(out, text->size());
    out += *text;
  }
  append_number(out, entry.vector.size());
  append(out, entry.vector.data(), entry.vector.size() * sizeof(float));
  append_number(out, static_cast<uint64_t>(to_wall(entry.created, now)));
  append_number(out, static_cast<uint64_t>(to_wall(entry.expires, now)));
}

Result<Entry> take_entry(SnapshotReader& in, const Clocks& now) {
  Entry out;
  for (std::string* text : {&out.id, &out.partition, &out.question, &out.reply, &out.recipe,
                            &out.decision, &out.model}) {
    SIGNALBOX_TRY(*text, take_text(in));
  }
  SIGNALBOX_TRY(out.vector, take_vector(in));
  SIGNALBOX_TRY(out.created, take_time(in, now));
  SIGNALBOX_TRY(out.expires, take_time(in, now));
  return out;
}

std::string to_bytes(const Entry& entry, const Clocks& now) {
  std::string out;
  append(out, &kEntryVersion, sizeof kEntryVersion);
  append_entry(out, entry, now);
  return out;
}

Result<Entry> from_bytes(std::string_view bytes, const Clocks& now) {
  SnapshotReader in(bytes);
  SIGNALBOX_TRY(const uint32_t version, in.get<uint32_t>());
  if (version != kEntryVersion)
    return fail(Code::kUnsupported, "version {} of an entry; this program reads {}", version,
                kEntryVersion);
  SIGNALBOX_TRY(Entry out, take_entry(in, now));
  if (in.left() != 0) return fail(Code::kCorrupt, "{} bytes after an entry", in.left());
  return out;
}

}  // namespace signalbox::cache
