#pragma once
// The models that the project knows by name: where each comes from and what its files must be. Read
// from weights/manifest.yaml, of which every build carries a copy, so that an installed program
// knows them too.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::weights {

struct ManifestFile {
  std::string name;    // in the model's directory: "config.json", "pii/config.json"
  std::string path;    // at the source, relative, with '/'
  uint64_t bytes = 0;  // at least 1
  std::string sha256;  // 64 lower-case hexadecimal digits
};

struct ManifestSource {
  enum class Kind { kNpm, kHub, kBuiltIn };
  Kind kind = Kind::kNpm;
  std::string
      origin;  // npm: the package; hub: "owner/repository"; built-in: below weights/adapters
  std::string version;  // npm: an exact version; hub: a commit, 40 hexadecimal digits; built-in: ""
  std::vector<ManifestFile> files;  // at least one; names are unique

  uint64_t bytes() const;  // of all files
};

/// "npm", "hub" or "built-in".
std::string_view kind_name(ManifestSource::Kind kind);

struct ManifestModel {
  std::string name;
  std::string summary;
  std::string licence;                  // of the weights, an SPDX identifier
  std::string base = {};                // the model that this one is an adapter of; "": none
  std::vector<std::string> heads = {};  // of an adapter; each is a name of the model too
  std::vector<ManifestSource> sources;  // at least one; the first is the default; one of a kind

  const ManifestSource* find(std::string_view kind) const;
};

struct Manifest {
  std::vector<std::string> defaults;  // names of models
  std::vector<ManifestModel> models;  // in the order of the file

  /// By its name or that of one of its heads.
  const ManifestModel* find(std::string_view name) const;

  /// Errors: kInvalid with "name:line: key path: what was expected". Names and paths that could
  /// lead out of a model's directory or be taken for an option are refused, so the rest of the
  /// program may use them as they are.
  static Result<Manifest> parse(std::string_view yaml, std::string_view name);
  /// parse() over a file; also kNotFound and kIo.
  static Result<Manifest> load(const std::filesystem::path& path);
  /// The copy of weights/manifest.yaml that was compiled in.
  static Result<Manifest> built_in();
};

}  // namespace signalbox::weights
