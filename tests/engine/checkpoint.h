#pragma once
// Model directories for tests: a folder that goes away, weights in a safetensors file, and a
// tokenizer whose tokens are letters.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace signalbox::engine {

/// An empty folder of its own under the system's, removed with all in it on destruction.
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

/// Values with seven significant bits and a small exponent range: exact in half precision and in
/// bfloat16.
float coarse(float x);

/// `dtype` is "F32", "F16" or "BF16", for values that are exact in it; `prefix` goes in front of
/// every name.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& tensors,
                      const std::string& dtype, const std::string& prefix = "");

/// A WordPiece vocabulary of [PAD], [UNK], [CLS], [SEP], the letters, and their continuations, as
/// many as fit.
void write_letter_tokenizer(const std::filesystem::path& path, int32_t vocabulary);

}  // namespace signalbox::engine
