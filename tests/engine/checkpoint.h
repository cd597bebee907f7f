#pragma once
// Model directories for tests: a temporary folder, weights in a safetensors file, and a tokenizer
// with letters as tokens.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace signalbox::engine {

/// A new empty folder in the system's temporary folder. The destructor removes it with its
/// contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct TestTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

using Checkpoint = std::map<std::string, TestTensor>;

/// Rounds to seven significant bits and a small exponent range, so that values are exact in half
/// precision and bfloat16.
float coarse(float x);

/// `dtype` is "F32", "F16" or "BF16"; the values must be exact in it. `prefix` is prepended to
/// every name.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& tensors,
                      const std::string& dtype, const std::string& prefix = "");

/// Writes a WordPiece vocabulary of [PAD], [UNK], [CLS], [SEP], the letters and their
/// continuations, up to the given size.
void write_letter_tokenizer(const std::filesystem::path& path, int32_t vocabulary);

}  // namespace signalbox::engine
