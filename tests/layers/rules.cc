// Checks rules line by line, without parsing C++. An include in a comment or a raw string counts as
// an include; so far this has not mattered, and it keeps the code readable.

#include "tests/layers/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/utf8.h"

namespace signalbox::layers {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLinesMax = 600;
constexpr size_t kFunctionLinesMax = 80;
constexpr size_t kRoomFilesMax = 45;
constexpr size_t kTermsMax = 60;
constexpr std::string_view kList = "CMakeLists.txt";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_cpp(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cc") || path.ends_with(".cc.in");
}

bool is_source(const File& file) {
  return is_cpp(file.path) || file.path.ends_with(".mjs") || file.text.starts_with("#!");
}

/// Returns whether a path is at or below a prefix: "router/decision" contains
/// router/decision/rule.h and router/decision.h, but not router/decisions/x.h. A prefix that ends
/// in '_' contains every path that begins with it.
bool is_under(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  const std::string_view rest = path.substr(prefix.size());
  return rest.empty() || prefix.ends_with('_') || rest.starts_with('/') || rest.starts_with('.');
}

/// Returns the longest key for which `fits` is true, or the end of the table.
template <class Fits>
Table::const_iterator longest(const Table& table, Fits fits) {
  auto best = table.end();
  for (auto it = table.begin(); it != table.end(); ++it) {
    if (fits(it->first) && (best == table.end() || it->first.size() > best->first.size()))
      best = it;
  }
  return best;
}

struct Include {
  size_t line;
  std::string_view header;
  bool quoted;
};

std::vector<Include> includes_of(const File& file) {
  std::vector<Include> includes;
  if (!is_cpp(file.path)) return includes;
  const auto lines = lines_of(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    const auto skip_blanks = [&line] {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    };
    skip_blanks();
    if (!line.starts_with('#')) continue;
    line.remove_prefix(1);
    skip_blanks();
    if (!line.starts_with("include")) continue;
    line.remove_prefix(std::string_view("include").size());
    skip_blanks();
    if (line.empty() || (line[0] != '"' && line[0] != '<')) continue;
    const bool quoted = line[0] == '"';
    const size_t end = line.find(quoted ? '"' : '>', 1);
    includes.push_back(
        {i + 1, line.substr(1, end == std::string_view::npos ? end : end - 1), quoted});
  }
  return includes;
}

std::string joined(const std::set<std::string>& names) {
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

std::string at(const File& file, size_t line, std::string_view message) {
  return fmt::format("{}:{}: {}", file.path, line, message);
}

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool has_word(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word_byte(line[at - 1])) &&
        (end == line.size() || !is_word_byte(line[end]))) {
      return true;
    }
  }
  return false;
}

bool is_emoji(char32_t c) {
  return (c >= 0x1F000 && c <= 0x1FAFF) || (c >= 0x2600 && c <= 0x27BF) || c == 0xFE0F ||
         (c >= 0x2B05 && c <= 0x2B55);
}

std::optional<char32_t> first_emoji(std::string_view line) {
  for (size_t i = 0; i < line.size();) {
    const auto decoded = utf8::decode(line, i);
    if (is_emoji(decoded.code_point)) return decoded.code_point;
    i += decoded.bytes;
  }
  return {};
}

}  // namespace

Table parse_table(std::string_view text) {
  Table table;
  for (std::string_view line : lines_of(text)) {
    line = line.substr(0, line.find('#'));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::istringstream values{std::string(line.substr(colon + 1))};
    auto& row = table[std::string(line.substr(0, colon))];
    for (std::string value; values >> value;) row.insert(value);
  }
  return table;
}

std::vector<File> read_tree(const fs::path& root) {
  static const std::set<std::string> kSkipped{".git", "build", "models", "node_modules", ".cache"};
  std::vector<File> files;
  for (fs::recursive_directory_iterator it(root), end; it != end; ++it) {
    if (kSkipped.count(it->path().filename().string()) > 0) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    std::ifstream in(it->path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    files.push_back({fs::relative(it->path(), root).generic_string(), std::move(text).str()});
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

Problems check_arrows(const File& file, const Table& rooms) {
  Problems problems;
  const auto room_of = [&rooms](std::string_view path) {
    return longest(rooms, [path](std::string_view room) { return is_under(path, room); });
  };
  const auto from = room_of(file.path);
  for (const Include& include : includes_of(file)) {
    if (!include.quoted) continue;
    const auto to = room_of(include.header);
    if (to == rooms.end()) {
      problems.push_back(at(file, include.line,
                            fmt::format("includes \"{}\": expected a path from the root, in one of "
                                        "the rooms of tests/layers/rooms.txt",
                                        include.header)));
    } else if (from == rooms.end()) {
      problems.push_back(at(file, include.line, "stands in no room of tests/layers/rooms.txt"));
    } else if (from != to && from->second.count("*") == 0 && from->second.count(to->first) == 0) {
      problems.push_back(at(file, include.line,
                            fmt::format("includes {}: {} may include {}", include.header,
                                        from->first, joined(from->second))));
    }
  }
  return problems;
}

Problems check_libraries(const File& file, const Table& libraries) {
  Problems problems;
  for (const Include& include : includes_of(file)) {
    const auto row = longest(libraries, [&include](std::string_view prefix) {
      return include.header.starts_with(prefix);
    });
    if (row == libraries.end()) continue;
    const bool allowed =
        std::any_of(row->second.begin(), row->second.end(),
                    [&file](const std::string& place) { return is_under(file.path, place); });
    if (!allowed) {
      problems.push_back(
          at(file, include.line,
             fmt::format("includes <{}>, which only {} may", include.header, joined(row->second))));
    }
  }
  return problems;
}

Problems check_purity(const File& file, const Table& purity) {
  Problems problems;
  const auto row =
      longest(purity, [&file](std::string_view room) { return is_under(file.path, room); });
  if (row == purity.end()) return problems;
  for (const Include& include : includes_of(file)) {
    for (const std::string& prefix : row->second) {
      const bool denied =
          prefix.ends_with('/') ? include.header.starts_with(prefix) : include.header == prefix;
      if (denied && !include.quoted) {
        problems.push_back(
            at(file, include.line,
               fmt::format("includes <{}>, which {} does without", include.header, row->first)));
      }
    }
  }
  return problems;
}

Problems check_length(const File& file) {
  if (!is_source(file)) return {};
  const size_t lines = lines_of(file.text).size();
  if (lines <= kLinesMax) return {};
  return {at(file, lines, fmt::format("{} lines, at most {} expected", lines, kLinesMax))};
}

Problems check_functions(const File& file) {
  if (!file.path.ends_with(".cc")) return {};
  Problems problems;
  const auto lines = lines_of(file.text);
  size_t begin = lines.size();
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (line == "}" && begin < i && i - begin + 1 > kFunctionLinesMax) {
      problems.push_back(at(file, begin + 1,
                            fmt::format("a function of {} lines, at most {} expected",
                                        i - begin + 1, kFunctionLinesMax)));
    }
    if (line.empty() || line[0] == ' ') continue;
    const bool opens = line[0] != '}' && line[0] != '#' && line[0] != '/' &&
                       !line.starts_with("namespace") && !line.starts_with("struct") &&
                       !line.starts_with("class") && !line.starts_with("enum");
    // A constructor's list of initialisers is data.
    const bool lists = i + 1 < lines.size() && lines[i + 1].starts_with("    : ");
    begin = opens && !lists ? i : lines.size();
  }
  return problems;
}

namespace {

/// Follows the arrows from `room`; `path` holds the rooms on the way.
void find_circles(const Table& rooms, const std::string& room, std::vector<std::string>& path,
                  std::set<std::string>& done, Problems& problems) {
  if (const auto first = std::find(path.begin(), path.end(), room); first != path.end()) {
    problems.push_back(fmt::format("rooms include each other: {} -> {}",
                                   fmt::join(first, path.end(), " -> "), room));
    return;
  }
  const auto found = rooms.find(room);
  if (found == rooms.end() || done.contains(room)) return;
  path.push_back(room);
  for (const std::string& next : found->second) {
    if (next != room) find_circles(rooms, next, path, done, problems);
  }
  path.pop_back();
  done.insert(room);
}

}  // namespace

Problems check_acyclic(const Table& rooms) {
  Problems problems;
  std::set<std::string> done;
  std::vector<std::string> path;
  for (const auto& [room, allowed] : rooms) find_circles(rooms, room, path, done, problems);
  return problems;
}

Problems check_rooms(const std::vector<File>& tree, const Table& rooms, std::string_view root) {
  Problems problems;
  std::map<std::string, size_t> files;  // by room
  for (const File& file : tree) {
    if (!is_cpp(file.path) || !file.path.starts_with(fmt::format("{}/", root))) continue;
    const auto room =
        longest(rooms, [&](std::string_view prefix) { return is_under(file.path, prefix); });
    if (room == rooms.end() || file.path.find('/', root.size() + 1) == std::string::npos) {
      problems.push_back(at(file, 1, "the file lies in no room"));
    } else if (++files[room->first] == kRoomFilesMax + 1) {
      problems.push_back(fmt::format("{}: more than {} files", room->first, kRoomFilesMax));
    }
  }
  return problems;
}

Problems check_built(const std::vector<File>& tree) {
  Problems problems;
  const auto names = [](const File& list, std::string_view path) {
    if (!list.path.ends_with(kList)) return false;
    const std::string_view directory =
        std::string_view(list.path).substr(0, list.path.size() - kList.size());
    if (!path.starts_with(directory)) return false;
    path.remove_prefix(directory.size());
    if (list.text.find(path) != std::string::npos) return true;
    // signalbox_fuzz(a_fuzz LINKS ...) takes fuzz/a_fuzz.cc.
    if (path.starts_with("fuzz/") && path.find('/', 5) == std::string_view::npos &&
        list.text.find(fmt::format("signalbox_fuzz({} LINKS", path.substr(5, path.size() - 8))) !=
            std::string::npos)
      return true;
    if (list.text.find("file(GLOB") == std::string::npos) return false;
    if (path.find('/') == std::string::npos) return list.text.find(" *.cc") != std::string::npos;
    const std::string_view folder = path.substr(0, path.rfind('/'));
    const std::string_view above =
        folder.substr(0, folder.rfind('/'));  // its folders may be globbed
    return list.text.find(fmt::format("room({} ", folder)) != std::string::npos ||
           list.text.find(fmt::format(" {}", folder)) != std::string::npos ||
           list.text.find(fmt::format(" {}/*", above)) != std::string::npos;
  };
  for (const File& file : tree) {
    if (!file.path.ends_with(".cc")) continue;
    if (std::none_of(tree.begin(), tree.end(),
                     [&](const File& list) { return names(list, file.path); })) {
      problems.push_back(at(file, 1, fmt::format("no {} above it names it", kList)));
    }
  }
  return problems;
}

Problems check_opening(const File& file) {
  if (!is_source(file)) return {};
  const auto lines = lines_of(file.text);
  size_t line = 0;
  if (file.path.ends_with(".h")) {
    if (lines.empty() || lines[0] != "#pragma once") {
      return {at(file, 1, "a header starts with \"#pragma once\"")};
    }
    line = 1;
  } else if (file.text.starts_with("#!")) {
    line = 1;
  }
  const std::string_view mark =
      file.text.starts_with("#!") && !file.path.ends_with(".mjs") ? "# " : "// ";
  if (line < lines.size() && lines[line].starts_with(mark)) return {};
  return {
      at(file, line + 1,
         fmt::format("a comment (\"{}...\") that says what the file is was expected here", mark))};
}

Problems check_words(const File& file) {
  // Each note is split in two, so that this file obeys the rule, too.
  static const std::array<std::string, 4> kNotes{
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X",
      "HA"
      "CK"};
  static const std::array<std::string, 3> kMachinePaths{
      "/ho"
      "me/",
      "/ro"
      "ot/",
      "/wo"
      "rk/"};
  Problems problems;
  const auto lines = lines_of(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& note : kNotes) {
      if (is_source(file) && has_word(lines[i], note)) {
        problems.push_back(at(file, i + 1, fmt::format("\"{}\": no notes to self", note)));
      }
    }
    for (const std::string& path : kMachinePaths) {
      const size_t found = lines[i].find(path);
      const bool is_root =
          found == 0 || (found != std::string_view::npos && !is_word_byte(lines[i][found - 1]));
      if (found != std::string_view::npos && is_root) {
        problems.push_back(at(file, i + 1, fmt::format("\"{}\": a path of one machine", path)));
      }
    }
    if (const auto emoji = is_source(file) ? first_emoji(lines[i]) : std::nullopt) {
      problems.push_back(
          at(file, i + 1,
             fmt::format("U+{:04X}: no emoji in source; in a test's string write it as an escape",
                         static_cast<uint32_t>(*emoji))));
    }
  }
  return problems;
}

Problems check_glossary(const File& file) {
  if (file.path != "docs/glossary.md") return {};
  Problems problems;
  const auto lines = lines_of(file.text);
  size_t terms = 0;
  std::string before;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("| ") || lines[i].starts_with("| term ") ||
        lines[i].starts_with("| ---"))
      continue;
    const std::string_view row = lines[i].substr(2);
    const size_t bar = std::min(row.find(" | "), row.size());
    std::string term(row.substr(0, bar));
    std::ranges::transform(term, term.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string_view meaning = row.substr(std::min(bar + 3, row.size()));
    if (!meaning.ends_with(". |") || meaning.find(". ") != meaning.size() - 3)
      problems.push_back(at(file, i + 1, fmt::format("{}: expected one sentence", term)));
    if (term <= before)
      problems.push_back(at(file, i + 1, fmt::format("{} stands after {}", term, before)));
    if (++terms == kTermsMax + 1)
      problems.push_back(at(file, i + 1, fmt::format("more than {} terms", kTermsMax)));
    before = std::move(term);
  }
  if (terms == 0) problems.push_back(at(file, 1, "no terms were found"));
  return problems;
}

}  // namespace signalbox::layers
