// Reads from the end: the end record (and its 64-bit form, which torch always writes), then the
// directory it refers to, then each entry's local header. Only the sizes in the directory are used.
// Checksums are not verified, because a model's files are compared by SHA-256 when they are
// fetched.

#include "weights/zip.h"

#include <algorithm>
#include <cstring>

namespace signalbox::weights {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint64_t kEntriesMax = 1 << 18;
constexpr size_t kEndBytes = 22;
constexpr size_t kCommentMax = 0xFFFF;
constexpr size_t kLocatorBytes = 20;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kEntryBytes = 46;
constexpr size_t kLocalBytes = 30;
constexpr uint32_t kEndMark = 0x06054B50;
constexpr uint32_t kLocatorMark = 0x07064B50;
constexpr uint32_t kEnd64Mark = 0x06064B50;
constexpr uint32_t kEntryMark = 0x02014B50;
constexpr uint32_t kLocalMark = 0x04034B50;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the value is in the 64-bit field

// Requires that the bytes exist.
template <class T>
T at(Bytes bytes, size_t position) {
  T out;
  std::memcpy(&out, bytes.data() + position, sizeof out);
  return out;
}

// Returns `size` bytes from `position` on.
Result<Bytes> piece(Bytes file, uint64_t position, uint64_t size, std::string_view what) {
  if (position > file.size() || size > file.size() - position) {
    return fail(Code::kCorrupt, "{}: {} bytes at offset {}, the file has {}", what, size, position,
                file.size());
  }
  return file.subspan(position, size);
}

struct Directory {
  uint64_t entries;
  uint64_t bytes;
  uint64_t offset;
};

Result<size_t> find_end(Bytes file) {
  const size_t most = std::min(file.size(), kEndBytes + kCommentMax);
  for (size_t back = kEndBytes; back <= most; ++back) {
    if (at<uint32_t>(file, file.size() - back) == kEndMark) return file.size() - back;
  }
  return fail(Code::kCorrupt, "no zip end record in the last {} bytes", most);
}

Result<Directory> find_directory(Bytes file) {
  SIGNALBOX_TRY(const size_t end, find_end(file));
  const Bytes record = file.subspan(end);
  if (at<uint16_t>(record, 4) != 0 || at<uint16_t>(record, 6) != 0) {
    return fail(Code::kUnsupported, "a zip file in several parts is not supported");
  }
  if (end < kLocatorBytes || at<uint32_t>(file, end - kLocatorBytes) != kLocatorMark) {
    return Directory{at<uint16_t>(record, 10), at<uint32_t>(record, 12), at<uint32_t>(record, 16)};
  }
  const auto place = at<uint64_t>(file, end - kLocatorBytes + 8);
  SIGNALBOX_TRY(const Bytes wide, piece(file, place, kEnd64Bytes, "zip64 end record"));
  if (at<uint32_t>(wide, 0) != kEnd64Mark) {
    return fail(Code::kCorrupt, "no zip64 end record at offset {}", place);
  }
  return Directory{at<uint64_t>(wide, 32), at<uint64_t>(wide, 40), at<uint64_t>(wide, 48)};
}

struct ZipEntry {
  std::string_view name;
  uint64_t bytes;   // stored size
  uint64_t offset;  // of its local header
  size_t taken;     // bytes occupied in the directory
};

// Reads the sizes and the offset that did not fit into 32 bits. They are stored in this order, each
// only if needed.
Result<void> read_zip64(Bytes extra, uint64_t& plain, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const auto id = at<uint16_t>(extra, 0);
    const auto size = at<uint16_t>(extra, 2);
    if (size > extra.size() - 4) break;
    Bytes field = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
    if (id != 1) continue;
    for (uint64_t* value : {&plain, &entry.bytes, &entry.offset}) {
      if (*value != kIn64) continue;
      if (field.size() < sizeof(uint64_t)) break;
      *value = at<uint64_t>(field, 0);
      field = field.subspan(sizeof(uint64_t));
    }
    return {};
  }
  return fail(Code::kCorrupt, "its zip64 sizes are missing");
}

Result<ZipEntry> read_zip_entry(Bytes rest) {
  if (rest.size() < kEntryBytes || at<uint32_t>(rest, 0) != kEntryMark) {
    return fail(Code::kCorrupt, "an entry of the directory is missing");
  }
  const auto flags = at<uint16_t>(rest, 8);
  const auto method = at<uint16_t>(rest, 10);
  const size_t name = at<uint16_t>(rest, 28);
  const size_t extra = at<uint16_t>(rest, 30);
  const size_t comment = at<uint16_t>(rest, 32);
  SIGNALBOX_TRY(const Bytes texts,
                piece(rest, kEntryBytes, name + extra + comment, "an entry of the directory"));
  ZipEntry out{{reinterpret_cast<const char*>(texts.data()), name},
               at<uint32_t>(rest, 20),
               at<uint32_t>(rest, 42),
               kEntryBytes + texts.size()};
  uint64_t plain = at<uint32_t>(rest, 24);
  const auto check = [&]() -> Result<void> {
    if (plain == kIn64 || out.bytes == kIn64 || out.offset == kIn64) {
      SIGNALBOX_TRY_VOID(read_zip64(texts.subspan(name, extra), plain, out));
    }
    if ((flags & 1) != 0) return fail(Code::kUnsupported, "is encrypted, which is not supported");
    if (method != 0) {
      return fail(Code::kUnsupported, "is compressed (method {}), which is not supported", method);
    }
    if (plain == out.bytes) return {};
    return fail(Code::kCorrupt, "is stored and has {} bytes of {}", out.bytes, plain);
  };
  if (auto good = check(); !good) {
    return fail_in(fmt::format("entry \"{}\"", out.name), std::move(good).error());
  }
  return out;
}

Result<Bytes> content(Bytes file, const ZipEntry& entry) {
  SIGNALBOX_TRY(const Bytes header, piece(file, entry.offset, kLocalBytes, "its header"));
  if (at<uint32_t>(header, 0) != kLocalMark) {
    return fail(Code::kCorrupt, "no header at offset {}", entry.offset);
  }
  const uint64_t begin =
      entry.offset + kLocalBytes + at<uint16_t>(header, 26) + at<uint16_t>(header, 28);
  return piece(file, begin, entry.bytes, "its content");
}

}  // namespace

Result<std::map<std::string_view, Bytes>> read_zip(Bytes file) {
  SIGNALBOX_TRY(const Directory directory, find_directory(file));
  if (directory.entries > kEntriesMax) {
    return fail(Code::kTooLarge, "{} entries, at most {} are read", directory.entries, kEntriesMax);
  }
  SIGNALBOX_TRY(Bytes rest, piece(file, directory.offset, directory.bytes, "the zip directory"));
  std::map<std::string_view, Bytes> out;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    SIGNALBOX_TRY(const ZipEntry entry, read_zip_entry(rest));
    auto bytes = content(file, entry);
    if (!bytes) {
      return fail_in(fmt::format("entry \"{}\"", entry.name), std::move(bytes).error());
    }
    if (!out.emplace(entry.name, *bytes).second) {
      return fail(Code::kCorrupt, "entry \"{}\" appears twice", entry.name);
    }
    rest = rest.subspan(entry.taken);
  }
  return out;
}

}  // namespace signalbox::weights
