// A file is read in pieces, because the verifier may be given any file.

#include "router/audit/verify.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace signalbox::audit {
namespace {

/// The number of a file's first entry; the largest one for a file without a line.
Result<uint64_t> first_entry(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kIo, "{}: cannot be read", path.string());
  std::string line(kLineBytesMax + 1, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  const size_t end = line.find('\n');
  if (end == std::string::npos && line.size() <= kLineBytesMax) return UINT64_MAX;
  const auto read = read_line(std::string_view(line).substr(0, end));
  if (!read) return fail(read.error().code, "{}:1: {}", path.string(), read.error().message);
  return read->number;
}

}  // namespace

Result<void> ChainReader::check(std::string_view line, std::string_view name) {
  ++line_;
  const auto read = read_line(line);
  if (!read) return fail(read.error().code, "{}:{}: {}", name, line_, read.error().message);
  if (first_ == 0) {
    first_ = read->number;
    if (first_ == 1 && read->previous != end_.digest)
      return fail(Code::kCorrupt, "{}:{}: the first entry continues another one", name, line_);
  } else if (read->number != end_.number + 1) {
    return fail(Code::kCorrupt, "{}:{}: entry {} follows entry {}: entries are missing or moved",
                name, line_, read->number, end_.number);
  } else if (read->previous != end_.digest) {
    return fail(Code::kCorrupt,
                "{}: this line or the next one was changed: entry {} does not continue entry {}",
                before_, read->number, end_.number);
  }
  end_ = link_of(line, read->number);
  before_ = fmt::format("{}:{}", name, line_);
  return {};
}

Result<void> ChainReader::add(std::string_view bytes, std::string_view name) {
  name_ = name;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    rest_ += bytes.substr(0, end);
    if (end == std::string_view::npos) {
      if (rest_.size() > kLineBytesMax) return check(rest_, name);  // it is too long
      return {};
    }
    bytes.remove_prefix(end + 1);
    SIGNALBOX_TRY_VOID(check(rest_, name));
    rest_.clear();
  }
  return {};
}

Result<void> ChainReader::next_file() {
  if (!rest_.empty())
    return fail(Code::kCorrupt, "{}:{}: the line is torn, and other files follow", name_,
                line_ + 1);
  line_ = 0;
  return {};
}

Verified ChainReader::result() const {
  return {first_, end_, rest_.size()};
}

Result<Verified> verify(std::vector<std::filesystem::path> files) {
  std::vector<std::pair<uint64_t, std::filesystem::path>> ordered;
  for (std::filesystem::path& file : files) {
    SIGNALBOX_TRY(const uint64_t first, first_entry(file));
    ordered.emplace_back(first, std::move(file));
  }
  std::ranges::sort(ordered);
  ChainReader reader;
  for (const auto& [first, path] : ordered) {
    SIGNALBOX_TRY_VOID(reader.next_file());
    std::ifstream file(path, std::ios::binary);
    std::array<char, 65'536> piece;
    while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
      SIGNALBOX_TRY_VOID(
          reader.add({piece.data(), static_cast<size_t>(file.gcount())}, path.string()));
    }
    if (file.bad()) return fail(Code::kIo, "{}: cannot be read", path.string());
  }
  return reader.result();
}

}  // namespace signalbox::audit
