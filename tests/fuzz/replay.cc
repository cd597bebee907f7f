// Runs a fuzz target on the files of its corpus, so that every build tests all inputs that once
// broke a parser. A generated file includes this one after all targets and defines FUZZ_TARGETS.
// usage: fuzz_replay TARGET DIRECTORY

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace {

struct FuzzTarget {
  std::string_view name;
  int (*run)(const uint8_t* data, size_t size);
};
constexpr FuzzTarget kFuzzTargets[] = FUZZ_TARGETS;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s TARGET CORPUS_DIRECTORY\n", argv[0]);
    return 2;
  }
  for (const FuzzTarget& target : kFuzzTargets) {
    if (target.name != argv[1]) continue;
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
      target.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++files;
    }
    std::printf("%d inputs replayed\n", files);
    return files > 0 ? 0 : 1;
  }
  std::fprintf(stderr, "%s: unknown target \"%s\"\n", argv[0], argv[1]);
  return 2;
}
