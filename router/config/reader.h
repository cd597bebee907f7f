#pragma once
// What every section's reader needs: where in the file it is, scalars with their ${VARIABLES}
// replaced, and a place to put what is wrong. Errors are collected, not thrown: one run over a file
// reports all of them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.h"
#include "router/config/config.h"
#include "router/config/environment.h"
#include "router/config/load.h"

namespace signalbox::config {

/// A scalar after substitution. `quoted` text is a string even if it looks like a number.
struct Scalar {
  std::string text;
  bool quoted = false;
};

/// The known name closest to an unknown one, or "" when none is close enough to be what was meant.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

/// What follows an unknown name: "; did you mean \"keywords\"?" or " (known: a, b, c)".
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

/// "a, b, c", or "none".
std::string join(std::span<const std::string_view> names);

/// A node in words for "found ...": "nothing", "\"abc\"", "a list", "a mapping".
std::string found(const yaml::Node& node);

/// Not thread-safe; one a load. Messages show text as the file has it: variables of the environment
/// by name, and no password of a URL, since logs and clients read them.
class Reader {
 public:
  Reader(std::string_view source, const LoadOptions& options)
      : source_(source), options_(options) {}

  // --- reporting, at the current path ---

  void error(uint32_t line, std::string text);
  void expected(const yaml::Node& node, std::string_view what);
  /// Equal notices at other elements of a list are counted, not repeated.
  void notice(uint32_t line, std::string text);
  /// A notice about something understood that is not built, and what follows.
  void not_built(uint32_t line, std::string_view consequence);
  /// `known` are the keys that the section has.
  void unknown_key(const yaml::Entry& entry, std::span<const std::string_view> known);
  /// The entries that were reported so, with the path of the section around each.
  const std::vector<std::pair<std::string, const yaml::Entry*>>& unknown() const {
    return unknown_;
  }

  bool failed() const { return !errors_.empty(); }
  /// All errors, one a line, in the order of the file. Precondition: failed().
  Error take_errors();
  std::vector<std::string> take_notices();

  // --- place ---

  /// Runs body() with the path one key or one index longer.
  template <class Body>
  void at_key(std::string_view key, Body&& body) {
    const size_t length = path_.size();
    if (!path_.empty()) path_.push_back('.');
    path_ += key;
    body();
    path_.resize(length);
  }
  template <class Body>
  void at_index(size_t index, Body&& body) {
    const size_t length = path_.size();
    path_ += fmt::format("[{}]", index);
    body();
    path_.resize(length);
  }

  /// Runs body() over a part of the file that nothing uses yet: what is not built inside it is not
  /// worth a line of its own, and a variable that is not set there is a notice.
  template <class Body>
  void in_not_built(Body&& body) {
    ++not_built_depth_;
    body();
    --not_built_depth_;
  }

  // --- values ---

  /// Reports and returns nothing when the node is no scalar or names an unset variable.
  std::optional<Scalar> scalar(const yaml::Node& node, std::string_view expected);

  /// What was read so far. Sections are read in the order providers, global, routing, so that a
  /// reference can be checked where it stands.
  Config config;
  /// The routing that is being read: config.routing or that of a recipe. Its signals and
  /// projections are complete when its decisions are read.
  const Routing* routing = nullptr;

 private:
  struct Remark {
    uint32_t line;
    std::string path;
    std::string text;
    std::string pattern;  // the path without indices
    size_t more = 0;      // how many equal ones follow
  };
  std::string render(const Remark& remark) const;
  void sort_variables();  // the longest value first, since one may hold another; each once
  std::string without_secrets(std::string text) const;
  static void sort_by_line(std::vector<Remark>& remarks);

  std::string source_;
  LoadOptions options_;
  std::string path_;
  int not_built_depth_ = 0;
  std::vector<std::pair<std::string, const yaml::Entry*>> unknown_;
  std::vector<FromEnvironment> variables_;  // whose values the file has
  std::vector<Remark> errors_;
  std::vector<Remark> notices_;
};

}  // namespace signalbox::config
