// Writes the seeds of the fuzz targets for foreign formats, one folder per target in DIRECTORY.
// usage: foreign_seeds DIRECTORY

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/weights/foreign_files.h"

int main(int argc, char** argv) {
  using namespace signalbox::weights;
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::pair<const char*, std::string> seeds[] = {
      {"onnx/small", small_onnx()},
      {"onnx/quantised", small_quantised_onnx()},
      {"gguf/small", small_gguf()},
      {"gguf/other", small_gguf_keys("nomic-bert").file()},
      {"torch_pickle/small", small_torch()},
      {"torch_pickle/old", small_old_torch()},
      {"torch_pickle/pickle", torch_pickle({{"a", "HalfStorage", "0", 4, 1, {2}, {1}}})},
      {"torch_pickle/narrow", zip_file({{"data.pkl", torch_pickle({})}}, false)},
      {"shard_index/small", R"({"metadata": {}, "weight_map": {"a": "1", "b": "2"}})"},
      {"shard_index/outside", R"({"weight_map": {"a": "../1"}})"},
  };
  for (const auto& [name, bytes] : seeds) {
    const auto path = std::filesystem::path(argv[1]) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    if (!(file << bytes)) return 1;
  }
  return 0;
}
