#pragma once
// "model.safetensors.index.json" and "pytorch_model.bin.index.json": which of several files beside
// it holds which tensor. Files whose names come out of another file are only ever looked for beside
// that one.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// The file `name` beside `file`. kCorrupt unless the name is that of a file: no folder, no "..",
/// no control characters.
Result<std::filesystem::path> file_beside(const std::filesystem::path& file, std::string_view name);

class ShardIndex {
 public:
  /// Errors name the file: kNotFound, kIo, kTooLarge over 64 MB, kCorrupt.
  static Result<ShardIndex> open(const std::filesystem::path& path);
  /// `path` is where the text lies: the files are beside it, and errors name it.
  static Result<ShardIndex> parse(std::string text, const std::filesystem::path& path);

  /// Each file once, sorted; at least one and at most 1,000.
  const std::vector<std::filesystem::path>& files() const { return files_; }

  /// kCorrupt, naming the tensor, when one that the index promises is missing.
  Result<void> check(const TensorList& found) const;

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  std::map<std::string, std::string> weight_map_;  // tensor to file
};

}  // namespace signalbox::weights
