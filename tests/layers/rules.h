#pragma once
// The rules about the tree itself: which way includes point, how files open, what never stands in
// one. Each rule is a function from one file to its problems, so that a test can show a rule
// failing on a string.

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

/// One line each: "engine/bert.cc:7: includes router/router.h: engine may include base, kernels,
/// ...".
using Problems = std::vector<std::string>;

/// A data file of "key: value value ..." lines; '#' opens a comment.
using Table = std::map<std::string, std::set<std::string>, std::less<>>;
Table parse_table(std::string_view text);

/// Every file of the tree that people wrote, sorted by path. Build trees, models and fetched
/// packages are left out.
std::vector<File> read_tree(const std::filesystem::path& root);

/// `#include "..."` names a file by its path from the root, and only of rooms that `rooms` allows.
Problems check_arrows(const File& file, const Table& rooms);
/// The rooms that include each other in a circle, one line a circle; "*" counts as no arrow.
Problems check_acyclic(const Table& rooms);
/// Every source file of `root` ("router") lies in a room below it, and no room has more than 45.
Problems check_rooms(const std::vector<File>& tree, const Table& rooms, std::string_view root);
/// `#include <...>` of a header that `libraries` confines happens only there.
Problems check_libraries(const File& file, const Table& libraries);
/// No room includes a header that `purity` denies to it.
Problems check_purity(const File& file, const Table& purity);

/// Each .cc is named by the CMakeLists.txt of a directory above it, or lies in a folder that such a
/// list names beside a file(GLOB): a test that nobody builds passes.
Problems check_built(const std::vector<File>& tree);
/// At most 600 lines of source.
Problems check_length(const File& file);
/// No function defined at the left margin is longer than 80 lines.
Problems check_functions(const File& file);
/// Headers start with `#pragma once`; then, in every source file, a comment says what the file is.
Problems check_opening(const File& file);
/// No note to self, no path of one machine, no emoji.
Problems check_words(const File& file);

}  // namespace signalbox::layers
