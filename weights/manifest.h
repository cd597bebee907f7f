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
  std::string version;  // npm: an exact version; hub: a commit of 40 hexadecimal digits; built-in:
                        // ""
  std::vector<ManifestFile> files;  // at least one; names are unique

  uint64_t bytes() const;  // total of all files
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
  std::vector<ManifestSource> sources;  // at least one, at most one of each kind; the first is the
                                        // default

  const ManifestSource* find(std::string_view kind) const;
};

struct Manifest {
  std::vector<std::string> defaults;  // model names
  std::vector<ManifestModel> models;  // in file order

  /// Finds a model by its name or the name of one of its heads.
  const ManifestModel* find(std::string_view name) const;

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
