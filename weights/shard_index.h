#pragma once
// Reads "model.safetensors.index.json" and "pytorch_model.bin.index.json", which map each tensor to
// one of several files. File names found inside a file are only resolved within that file's
// directory.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Returns the path of `name` in the directory of `file`. kCorrupt unless `name` is a plain file
/// name: no directory, no "..", no control characters.
Result<std::filesystem::path> file_beside(const std::filesystem::path& file, std::string_view name);

class ShardIndex {
 public:
  /// Errors name the file: kNotFound, kIo, kTooLarge above 64 MB, kCorrupt.
  static Result<ShardIndex> open(const std::filesystem::path& path);
  /// `path` is the location of the index. The listed files are in its directory, and errors name
  /// it.
  static Result<ShardIndex> parse(std::string text, const std::filesystem::path& path);

  /// Each file once, sorted; between one and 1,000 files.
  const std::vector<std::filesystem::path>& files() const { return files_; }

  /// Returns kCorrupt with the tensor's name if a listed tensor is missing.
  Result<void> check(const TensorList& found) const;

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  std::map<std::string, std::string> weight_map_;  // tensor to file
};

}  // namespace signalbox::weights
