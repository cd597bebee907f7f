// The file is small and our own, but it determines which files are downloaded and loaded. Every
// value is therefore checked, unknown keys are rejected, and errors contain the line.

#include "weights/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/mapped_file.h"
#include "base/yaml.h"
#include "weights/manifest_text.h"

namespace signalbox::weights {
namespace {

using yaml::Entry;
using yaml::Kind;
using yaml::Node;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

/// The reader's position: the file and the current key path.
struct Place {
  std::string_view file;
  std::string path;

  Place key(std::string_view name) const {
    return {file, path.empty() ? std::string(name) : fmt::format("{}.{}", path, name)};
  }
  Place item(size_t index) const { return {file, fmt::format("{}[{}]", path, index)}; }
};

tl::unexpected<Error> expected(const Place& place, const Node& node, std::string_view what) {
  if (node.kind == Kind::kScalar) {
    return fail(Code::kInvalid, "{}:{}: {}: expected {}, found \"{}\"", place.file, node.line,
                place.path, what, node.scalar);
  }
  return fail(Code::kInvalid, "{}:{}: {}: expected {}", place.file, node.line, place.path, what);
}

bool consists_of(std::string_view text, std::initializer_list<std::string_view> alphabets) {
  return std::all_of(text.begin(), text.end(), [alphabets](char c) {
    return std::any_of(alphabets.begin(), alphabets.end(), [c](std::string_view letters) {
      return letters.find(c) != std::string_view::npos;
    });
  });
}

/// Accepts one path component that is not hidden, does not lead to a parent directory and cannot be
/// parsed as an option.
bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= 200 && text[0] != '.' && text[0] != '-' &&
         consists_of(text, {kLower, kUpper, kDigits, "._-"});
}

bool is_plain_path(std::string_view text) {
  for (;;) {
    const size_t slash = text.find('/');
    if (!is_plain_name(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_package_name(std::string_view text) {
  if (!text.starts_with('@')) return is_plain_name(text);
  return is_plain_path(text.substr(1)) && std::count(text.begin(), text.end(), '/') == 1;
}

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && consists_of(text, {kDigits, "abcdef"});
}

Result<std::string> text(const Place& place, const Node& node, std::string_view what,
                         bool (*accepts)(std::string_view)) {
  if (node.kind != Kind::kScalar || !accepts(node.scalar)) return expected(place, node, what);
  return node.scalar;
}

Result<void> only_keys(const Place& place, const Node& node,
                       std::initializer_list<std::string_view> keys,
                       std::initializer_list<std::string_view> optional = {}) {
  if (node.kind != Kind::kMapping) return expected(place, node, "a mapping");
  std::vector<std::string_view> known(keys);
  known.insert(known.end(), optional);
  for (const Entry& entry : node.entries) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      return fail(Code::kInvalid, "{}:{}: {}: unknown key (known: {})", place.file, entry.line,
                  place.key(entry.key).path, fmt::join(known, ", "));
    }
  }
  for (const std::string_view key : keys) {
    if (node.find(key) == nullptr) {
      return fail(Code::kInvalid, "{}:{}: {}: missing", place.file, node.line, place.key(key).path);
    }
  }
  return {};
}

/// The readers below require that only_keys() has succeeded, so that every find() succeeds.
Result<ManifestFile> read_file(const Place& place, const Node& node) {
  SIGNALBOX_TRY_VOID(only_keys(place, node, {"name", "path", "bytes", "sha256"}));
  ManifestFile file;
  SIGNALBOX_TRY(file.name, text(place.key("name"), *node.find("name"),
                                "a relative path of plain names", is_plain_path));
  SIGNALBOX_TRY(file.path, text(place.key("path"), *node.find("path"),
                                "a relative path of plain names", is_plain_path));
  SIGNALBOX_TRY(file.sha256,
                text(place.key("sha256"), *node.find("sha256"), "64 lower-case hexadecimal digits",
                     [](std::string_view hex) { return is_hex(hex, 64); }));
  const Node& bytes = *node.find("bytes");
  const char* const end = bytes.scalar.data() + bytes.scalar.size();
  const auto parsed = std::from_chars(bytes.scalar.data(), end, file.bytes);
  if (bytes.kind != Kind::kScalar || parsed.ec != std::errc() || parsed.ptr != end ||
      file.bytes == 0) {
    return expected(place.key("bytes"), bytes, "a whole number of bytes, at least 1");
  }
  return file;
}

Result<std::vector<ManifestFile>> read_files(const Place& place, const Node& node) {
  if (node.kind != Kind::kSequence || node.items.empty()) {
    return expected(place, node, "a list of files");
  }
  std::vector<ManifestFile> files;
  for (size_t i = 0; i < node.items.size(); ++i) {
    SIGNALBOX_TRY(auto file, read_file(place.item(i), node.items[i]));
    for (const ManifestFile& other : files) {
      if (other.name == file.name) return expected(place.item(i), node.items[i], "a new name");
    }
    files.push_back(std::move(file));
  }
  return files;
}

Result<ManifestSource> read_source(const Place& place, const Node& node) {
  ManifestSource source;
  if (node.find("built-in") != nullptr) {
    SIGNALBOX_TRY_VOID(only_keys(place, node, {"built-in", "files"}));
    source.kind = ManifestSource::Kind::kBuiltIn;
    SIGNALBOX_TRY(source.origin, text(place.key("built-in"), *node.find("built-in"),
                                      "a directory of weights/adapters", is_plain_name));
  } else if (node.find("hub") != nullptr) {
    const bool is_pinned = node.find("revision") != nullptr || node.find("files") != nullptr;
    SIGNALBOX_TRY_VOID(is_pinned ? only_keys(place, node, {"hub", "revision", "files"})
                                 : only_keys(place, node, {"hub"}));
    source.kind = ManifestSource::Kind::kHub;
    SIGNALBOX_TRY(source.origin,
                  text(place.key("hub"), *node.find("hub"), "owner/repository", is_plain_path));
    if (!is_pinned) return source;
    SIGNALBOX_TRY(source.version, text(place.key("revision"), *node.find("revision"),
                                       "a commit of 40 hexadecimal digits",
                                       [](std::string_view hex) { return is_hex(hex, 40); }));
  } else {
    SIGNALBOX_TRY_VOID(only_keys(place, node, {"npm", "version", "files"}));
    SIGNALBOX_TRY(source.origin,
                  text(place.key("npm"), *node.find("npm"), "a package name", is_package_name));
    SIGNALBOX_TRY(source.version, text(place.key("version"), *node.find("version"),
                                       "an exact version such as 0.1.0", is_plain_name));
  }
  SIGNALBOX_TRY(source.files, read_files(place.key("files"), *node.find("files")));
  return source;
}

Result<std::vector<std::string>> read_names(const Place& place, const Node& node) {
  if (node.kind != Kind::kSequence) return expected(place, node, "a list of names");
  std::vector<std::string> names;
  for (size_t i = 0; i < node.items.size(); ++i) {
    SIGNALBOX_TRY(names.emplace_back(),
                  text(place.item(i), node.items[i], "a plain name", is_plain_name));
  }
  return names;
}

bool is_any_text(std::string_view value) {
  return !value.empty();
}

Result<void> read_prompts(const Place& place, const Node& node, ManifestModel& model) {
  SIGNALBOX_TRY_VOID(only_keys(place, node, {}, {"query", "passage"}));
  for (const Entry& entry : node.entries) {
    SIGNALBOX_TRY(std::string prefix, text(place.key(entry.key), entry.value, "text",
                                           [](std::string_view) { return true; }));
    model.prompts.emplace_back(entry.key, std::move(prefix));
  }
  return {};
}

// Reads the keys that a model may leave out.
Result<void> read_optional(const Place& place, const Node& node, ManifestModel& model) {
  const std::pair<const char*, std::string*> texts[] = {
      {"purpose", &model.purpose}, {"parameters", &model.parameters}, {"quality", &model.quality}};
  for (const auto& [key, out] : texts) {
    const Node* const value = node.find(key);
    if (value == nullptr) continue;
    SIGNALBOX_TRY(*out, text(place.key(key), *value, "text", is_any_text));
  }
  if (const Node* base = node.find("base"); base != nullptr) {
    SIGNALBOX_TRY(model.base, text(place.key("base"), *base, "a plain name", is_plain_name));
  }
  if (const Node* heads = node.find("heads"); heads != nullptr) {
    SIGNALBOX_TRY(model.heads, read_names(place.key("heads"), *heads));
  }
  if (const Node* aliases = node.find("aliases"); aliases != nullptr) {
    SIGNALBOX_TRY(model.aliases, read_names(place.key("aliases"), *aliases));
  }
  if (const Node* gated = node.find("gated"); gated != nullptr) {
    if (gated->scalar != "true" && gated->scalar != "false")
      return expected(place.key("gated"), *gated, "true or false");
    model.is_gated = gated->scalar == "true";
  }
  const Node* const prompts = node.find("prompts");
  return prompts == nullptr ? Result<void>() : read_prompts(place.key("prompts"), *prompts, model);
}

Result<ManifestModel> read_model(const Place& place, const Entry& entry) {
  const Node& node = entry.value;
  if (!is_plain_name(entry.key)) return expected(place, node, "a plain name for the model");
  SIGNALBOX_TRY_VOID(only_keys(
      place, node, {"summary", "licence", "sources"},
      {"base", "heads", "aliases", "purpose", "parameters", "quality", "gated", "prompts"}));
  ManifestModel model;
  model.name = entry.key;
  SIGNALBOX_TRY(model.summary,
                text(place.key("summary"), *node.find("summary"), "text", is_any_text));
  SIGNALBOX_TRY(model.licence,
                text(place.key("licence"), *node.find("licence"), "text", is_any_text));
  SIGNALBOX_TRY_VOID(read_optional(place, node, model));
  const Place at = place.key("sources");
  const Node& sources = *node.find("sources");
  if (sources.kind != Kind::kSequence || sources.items.empty()) {
    return expected(at, sources, "a list of sources");
  }
  for (size_t i = 0; i < sources.items.size(); ++i) {
    SIGNALBOX_TRY(auto source, read_source(at.item(i), sources.items[i]));
    if (model.find(kind_name(source.kind)) != nullptr) {
      return expected(at.item(i), sources.items[i], "one source of a kind");
    }
    // `signalbox models pull hf:OWNER/NAME` and `... pull NAME` must use the same directory.
    if (!source.is_pinned() && source.origin.substr(source.origin.find('/') + 1) != model.name) {
      return expected(at.item(i).key("hub"), *sources.items[i].find("hub"),
                      "a repository with the name of the model, because no files are listed");
    }
    model.sources.push_back(std::move(source));
  }
  return model;
}

}  // namespace

std::string_view kind_name(ManifestSource::Kind kind) {
  switch (kind) {
    case ManifestSource::Kind::kNpm:
      return "npm";
    case ManifestSource::Kind::kHub:
      return "hub";
    case ManifestSource::Kind::kBuiltIn:
      return "built-in";
  }
  return "";
}

uint64_t ManifestSource::bytes() const {
  uint64_t sum = 0;
  for (const ManifestFile& file : files) sum += file.bytes;
  return sum;
}

const ManifestSource* ManifestModel::find(std::string_view kind) const {
  for (const ManifestSource& source : sources) {
    if (kind_name(source.kind) == kind) return &source;
  }
  return nullptr;
}

const std::string* ManifestModel::prompt(std::string_view role) const {
  for (const auto& [known, text] : prompts) {
    if (known == role) return &text;
  }
  return nullptr;
}

const ManifestModel* Manifest::find(std::string_view name) const {
  const auto is_named = [&](const ManifestModel& model) {
    return model.name == name || std::ranges::find(model.heads, name) != model.heads.end() ||
           std::ranges::find(model.aliases, name) != model.aliases.end();
  };
  const auto found = std::ranges::find_if(models, is_named);
  return found == models.end() ? nullptr : &*found;
}

const ManifestModel* Manifest::find_repository(std::string_view id) const {
  const auto found = std::ranges::find_if(models, [id](const ManifestModel& model) {
    const ManifestSource* const hub = model.find("hub");
    return hub != nullptr && ascii::iequals(hub->origin, id);
  });
  return found == models.end() ? nullptr : &*found;
}

Result<Manifest> Manifest::parse(std::string_view yaml, std::string_view name) {
  SIGNALBOX_TRY(const Node root, yaml::parse(yaml, name));
  const Place place{name, ""};
  SIGNALBOX_TRY_VOID(only_keys(place, root, {"default", "models"}));
  Manifest manifest;
  const Node& models = *root.find("models");
  if (models.kind != Kind::kMapping) return expected(place.key("models"), models, "a mapping");
  for (const Entry& entry : models.entries) {
    SIGNALBOX_TRY(auto model, read_model(place.key("models").key(entry.key), entry));
    if (!model.base.empty() && manifest.find(model.base) == nullptr) {
      return expected(place.key("models").key(entry.key).key("base"), *entry.value.find("base"),
                      "a model before this one");
    }
    manifest.models.push_back(std::move(model));
  }
  const Node& defaults = *root.find("default");
  if (defaults.kind != Kind::kSequence) {
    return expected(place.key("default"), defaults, "a list of models");
  }
  for (size_t i = 0; i < defaults.items.size(); ++i) {
    const Node& item = defaults.items[i];
    if (manifest.find(item.scalar) == nullptr) {
      return expected(place.key("default").item(i), item, "the name of a model of this file");
    }
    manifest.defaults.push_back(item.scalar);
  }
  return manifest;
}

Result<Manifest> Manifest::load(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const auto file, MappedFile::open(path));
  return parse(file.text(), path.string());
}

Result<Manifest> Manifest::built_in() {
  return parse(manifest_text(), "weights/manifest.yaml");
}

}  // namespace signalbox::weights
