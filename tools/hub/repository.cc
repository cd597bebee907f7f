// Everything in the metadata is foreign. Only the few members that a download needs are read.

#include "tools/hub/repository.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::tools {
namespace {

constexpr size_t kFilesMax = 20'000;
constexpr size_t kPathBytesMax = 1024;
constexpr size_t kPartBytesMax = 255;  // limit of common file systems
constexpr size_t kNamePartBytesMax = 96;
constexpr size_t kRevisionBytesMax = 200;
constexpr size_t kLicenceBytesMax = 64;
constexpr int64_t kFileBytesMax = int64_t{1} << 42;  // 4 TB, far above any file of a hub

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Accepts an owner or a name. The rules are the hub's own.
bool is_name_part(std::string_view text) {
  return !text.empty() && text.size() <= kNamePartBytesMax && text.front() != '-' &&
         text.front() != '.' && text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_revision(std::string_view text) {
  return !text.empty() && text.size() <= kRevisionBytesMax && text.front() != '-' &&
         is_safe_path(text) && std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

// The place in the metadata that an error names.
struct Place {
  std::string_view name;
  std::string path;

  tl::unexpected<Error> expected(std::string_view what) const {
    return fail(Code::kCorrupt, "{}: the hub's answer: {}: expected {}", name, path, what);
  }
  Place key(std::string_view key) const { return {name, fmt::format("{}.{}", path, key)}; }
};

// Returns a string member; "" if it is missing or null.
Result<std::string> string_of(const Place& place, const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return std::string();
  if (!value->is_string()) return place.key(key).expected("a string");
  return std::string(value->text());
}

Result<std::string> digest_of(const Place& place, const json::Value& object, std::string_view key,
                              size_t digits) {
  SIGNALBOX_TRY(std::string digest, string_of(place, object, key));
  if (digest.empty() || is_hex(digest, digits)) return digest;
  return place.key(key).expected(fmt::format("{} hexadecimal digits", digits));
}

Result<uint64_t> size_of(const Place& place, const json::Value& object) {
  const auto value = object.find("size");
  if (!value) return place.key("size").expected("the file's size in bytes");
  const auto bytes = value->integer();
  if (!bytes || *bytes < 0 || *bytes > kFileBytesMax) {
    return place.key("size").expected(
        fmt::format("a number of bytes, found {}", json::quote_briefly(value->raw())));
  }
  return static_cast<uint64_t>(*bytes);
}

// Large files have a member "lfs" with their SHA-256; "blobId" is then the digest of a pointer.
Result<RepositoryFile> read_file(const Place& place, const json::Value& object) {
  RepositoryFile file;
  SIGNALBOX_TRY(file.path, string_of(place, object, "rfilename"));
  if (!is_safe_path(file.path)) {
    return place.key("rfilename")
        .expected(
            fmt::format("a path inside the repository, found {}", json::quote_briefly(file.path)));
  }
  SIGNALBOX_TRY(file.bytes, size_of(place, object));
  const auto large = object.find("lfs");
  if (!large || large->is_null()) {
    SIGNALBOX_TRY(file.git_sha, digest_of(place, object, "blobId", 40));
    return file;
  }
  if (!large->is_object()) return place.key("lfs").expected("an object");
  SIGNALBOX_TRY(file.sha256, digest_of(place.key("lfs"), *large, "sha256", 64));
  return file;
}

// The licence is only shown, so a value of another form is left out.
std::string licence_of(const json::Value& root) {
  const auto card = root.find("cardData");
  const auto licence = card ? card->find("license") : std::nullopt;
  if (!licence || !licence->is_string() || licence->text().size() > kLicenceBytesMax) return "";
  const bool is_plain =
      std::ranges::all_of(licence->text(), [](char c) { return c > ' ' && c < 127; });
  return is_plain ? std::string(licence->text()) : "";
}

}  // namespace

std::string RepositoryName::name() const {
  return id.substr(id.find('/') + 1);
}

std::string RepositoryName::text() const {
  return fmt::format("{}{}{}{}", kHubPrefix, id, revision.empty() ? "" : "@", revision);
}

Result<RepositoryName> parse_repository_name(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with(kHubPrefix)) rest.remove_prefix(kHubPrefix.size());
  RepositoryName out;
  const size_t at = rest.find('@');
  out.id = rest.substr(0, at);
  const size_t slash = out.id.find('/');
  const std::string_view owner = std::string_view(out.id).substr(0, slash);
  const bool named =
      slash == std::string::npos
          ? is_name_part(owner)
          : is_name_part(owner) && is_name_part(std::string_view(out.id).substr(slash + 1));
  if (at != std::string_view::npos) out.revision = rest.substr(at + 1);
  if (named && (at == std::string_view::npos || is_revision(out.revision))) return out;
  return fail(Code::kInvalid, "{}: expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION",
              json::quote_briefly(text));
}

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_commit(std::string_view revision) {
  return is_hex(revision, 40);
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax) return false;
  if (std::ranges::any_of(path, [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\'; }))
    return false;
  for (;;) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > kPartBytesMax) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

const RepositoryFile* Repository::find(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &RepositoryFile::path);
  return found == files.end() ? nullptr : &*found;
}

Result<Repository> read_repository(std::string json, std::string_view name) {
  const auto document =
      json::Document::parse(std::move(json), {.bytes = kMetadataBytesMax, .depth = 32});
  if (!document) {
    const Code code = document.error().code == Code::kTooLarge ? Code::kTooLarge : Code::kCorrupt;
    return fail(code, "{}: the hub's answer: {}", name, document.error().message);
  }
  const json::Value root = document->root();
  const Place place{name, ""};
  if (!root.is_object()) return place.key("").expected("an object");
  Repository out;
  SIGNALBOX_TRY(out.id, string_of(place, root, "id"));
  SIGNALBOX_TRY(out.commit, digest_of(place, root, "sha", 40));
  if (out.commit.empty()) return place.key("sha").expected("a commit of 40 hexadecimal digits");
  out.licence = licence_of(root);
  const auto siblings = root.find("siblings");
  if (!siblings || !siblings->is_array()) return place.key("siblings").expected("a list of files");
  std::set<std::string, std::less<>> paths;
  size_t index = 0;
  for (const json::Value& sibling : siblings->items()) {
    const Place at{name, fmt::format(".siblings[{}]", index++)};
    if (index > kFilesMax) {
      return fail(Code::kTooLarge, "{}: the hub lists more than {} files", name, kFilesMax);
    }
    SIGNALBOX_TRY(out.files.emplace_back(), read_file(at, sibling));
    if (!paths.insert(out.files.back().path).second) {
      return at.key("rfilename").expected("a file that is not listed twice");
    }
  }
  return out;
}

}  // namespace signalbox::tools
