// The index has one relevant object, "weight_map"; its sizes are not needed.

#include "weights/shard_index.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/mapped_file.h"

namespace signalbox::weights {
namespace {

constexpr size_t kIndexBytesMax = size_t{64} << 20;
constexpr size_t kFilesMax = 1000;
constexpr size_t kNameBytesMax = 255;  // limit of common file systems

}  // namespace

Result<std::filesystem::path> file_beside(const std::filesystem::path& file,
                                          std::string_view name) {
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(name, is_bad)) {
    return fail(Code::kCorrupt, "a file's name has control characters");
  }
  if (name.empty() || name == "." || name == ".." || name.size() > kNameBytesMax ||
      name.find_first_of("/\\") != std::string_view::npos) {
    return fail(Code::kCorrupt, "\"{}\" is not a plain file name", name);
  }
  return file.parent_path() / name;
}

Result<ShardIndex> ShardIndex::open(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  if (file.size() > kIndexBytesMax) {
    return fail(Code::kTooLarge, "{}: {} bytes, at most {} are read", path.string(), file.size(),
                kIndexBytesMax);
  }
  return parse(std::string(file.text()), path);
}

Result<ShardIndex> ShardIndex::parse(std::string text, const std::filesystem::path& path) {
  const auto document =
      json::Document::parse(std::move(text), {.bytes = kIndexBytesMax, .depth = 8});
  if (!document) return fail(Code::kCorrupt, "{}: {}", path.string(), document.error().message);
  const auto map = document->root().find("weight_map");
  if (!map || !map->is_object()) {
    return fail(Code::kCorrupt, "{}: weight_map: expected an object", path.string());
  }
  ShardIndex out;
  out.path_ = path;
  std::set<std::filesystem::path> files;
  for (const json::Member& member : map->members()) {
    const std::string where = fmt::format("{}: weight_map: \"{}\"", path.string(), member.key);
    if (!member.value.is_string()) return fail(Code::kCorrupt, "{}: expected a string", where);
    auto file = file_beside(path, member.value.text());
    if (!file) return fail_in(where, std::move(file).error());
    files.insert(*std::move(file));
    if (files.size() > kFilesMax) {
      return fail(Code::kCorrupt, "{}: more than {} files", path.string(), kFilesMax);
    }
    if (!out.weight_map_.emplace(member.key, member.value.text()).second) {
      return fail(Code::kCorrupt, "{}: appears twice", where);
    }
  }
  if (files.empty())
    return fail(Code::kCorrupt, "{}: weight_map: does not name a tensor", path.string());
  out.files_.assign(files.begin(), files.end());
  return out;
}

Result<void> ShardIndex::check(const TensorList& found) const {
  for (const auto& [tensor, file] : weight_map_) {
    if (found.has(tensor)) continue;
    return fail(Code::kCorrupt, "{}: tensor \"{}\" is missing, expected in \"{}\"", path_.string(),
                tensor, file);
  }
  return {};
}

}  // namespace signalbox::weights
