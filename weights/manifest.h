#pragma once
// The models known by name, with the source and the expected checksum of each file. The list comes
// from weights/manifest.yaml. Every build contains a copy, so an installed program has it too.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::weights {

struct ManifestFile {
  std::string name;    // within the model's directory: "config.json", "pii/config.json"
  std::string path;    // at the source; relative, with '/'
  uint64_t bytes = 0;  // at least 1
  std::string sha256;  // 64 lower-case hexadecimal digits
};

struct ManifestSource {
  enum class Kind { kNpm, kHub, kBuiltIn };
  Kind kind = Kind::kNpm;
  std::string origin;   // npm: the package; hub: "owner/repository"; built-in: a directory of
                        // weights/adapters
  std::string version;  // npm: an exact version; hub: a commit of 40 hexadecimal digits, or "" for
                        // the hub's default branch; built-in: ""
  /// Names are unique. At least one, except for a hub source without files: the repository's own
  /// metadata then determines the files and their checksums, which are kept on first use.
  std::vector<ManifestFile> files;

  bool is_pinned() const { return !files.empty(); }
  uint64_t bytes() const;  // total of all files; 0: not pinned
};

/// "npm", "hub" or "built-in".
std::string_view kind_name(ManifestSource::Kind kind);

struct ManifestModel {
  std::string name;
  std::string summary;
  std::string licence;                  // of the weights, an SPDX identifier
  std::string base = {};                // the model that this adapter extends; "": not an adapter
  std::vector<std::string> heads = {};  // heads of an adapter; each is also accepted as the model's
                                        // name
  std::vector<std::string> aliases = {};  // further names, which configurations use for it
  std::string purpose = {};               // "embedding", "jailbreak", ...; one word for a table
  std::string parameters = {};            // such as "33.4 M"; "": not known
  std::string quality = {};               // as published, with its source; "": not known
  bool is_gated = false;  // the hub requires an account that has accepted the model's conditions
  /// The text that the model's card puts in front of an input, by the input's role: "query",
  /// "passage".
  std::vector<std::pair<std::string, std::string>> prompts = {};
  std::vector<ManifestSource> sources;  // at least one, at most one of each kind; the first is the
                                        // default

  const ManifestSource* find(std::string_view kind) const;
  /// Returns the text for a role, or nullptr.
  const std::string* prompt(std::string_view role) const;
};

struct Manifest {
  std::vector<std::string> defaults;  // model names
  std::vector<ManifestModel> models;  // in file order

  /// Finds a model by its name, an alias, or the name of one of its heads.
  const ManifestModel* find(std::string_view name) const;
  /// Finds a model by its repository on the hub, such as "BAAI/bge-m3", ignoring case.
  const ManifestModel* find_repository(std::string_view id) const;

  /// Errors: kInvalid with "name:line: key path: expectation". Rejects names and paths that could
  /// leave a model's directory or look like a command-line option, so the rest of the program can
  /// use them safely.
  static Result<Manifest> parse(std::string_view yaml, std::string_view name);
  /// Parses a file; additional errors: kNotFound and kIo.
  static Result<Manifest> load(const std::filesystem::path& path);
  /// Returns the compiled-in copy of weights/manifest.yaml.
  static Result<Manifest> built_in();
};

}  // namespace signalbox::weights
