#pragma once
// Rules about the source tree itself: the direction of includes, how files open, and words that no
// file may contain. Each rule is a function from one file to its problems, so that tests can show a
// rule failing on a string.

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::layers {

struct File {
  std::string path;  // from the root of the tree, with '/'
  std::string text;
};

/// Problems, one line each: "engine/bert.cc:7: includes router/router.h: engine may include base,
/// kernels, ...".
using Problems = std::vector<std::string>;

/// A data file of "key: value value ..." lines; '#' starts a comment.
using Table = std::map<std::string, std::set<std::string>, std::less<>>;
Table parse_table(std::string_view text);

/// Returns every hand-written file of the tree, sorted by path. Skips build trees, models and
/// fetched packages.
std::vector<File> read_tree(const std::filesystem::path& root);

/// `#include "..."` must give a path from the root, and may only name a file of a room that `rooms`
/// allows.
Problems check_arrows(const File& file, const Table& rooms);
/// Rooms must not include each other in a circle.
Problems check_acyclic(const Table& rooms);
/// Each source file below `root` must lie in a room, and no folder may hold more than 45.
Problems check_rooms(const std::vector<File>& tree, const Table& rooms, std::string_view root);
/// A header that `libraries` confines may be included with `#include <...>` only there.
Problems check_libraries(const File& file, const Table& libraries);
/// A room must not include a header that `purity` denies to it.
Problems check_purity(const File& file, const Table& purity);

/// Each .cc must be named by the CMakeLists.txt of a directory above it, because a test that is
/// never built always passes.
Problems check_built(const std::vector<File>& tree);
/// Source files must not exceed 600 lines.
Problems check_length(const File& file);
/// Functions must not exceed 80 lines.
Problems check_functions(const File& file);
/// Headers must start with `#pragma once`. In every source file, a comment must then describe the
/// file.
Problems check_opening(const File& file);
/// Files must not contain notes to self, paths of one machine, or emoji.
Problems check_words(const File& file);
/// The glossary must have at most 60 terms in alphabetical order, each with one sentence.
Problems check_glossary(const File& file);

}  // namespace signalbox::layers
