#pragma once
// The state of reading one file: the current path in it, scalars with their ${VARIABLES} replaced,
// and the errors and notices so far. Errors are collected, not thrown, so one run reports them all.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/yaml.h"
#include "router/config/config.h"
#include "router/config/load.h"

namespace signalbox::config {

/// A scalar after substitution. `quoted` text is a string even if it looks like a number.
struct Scalar {
  std::string text;
  bool quoted = false;
};

/// The known name closest to an unknown one, or "" if none is close enough to be a misspelling.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

/// The end of a message about an unknown name: "; did you mean \"keywords\"?" or " (known: a, b)".
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

/// "a, b, c", each name once, or "none".
std::string join(std::span<const std::string_view> names);

/// A node in words, to follow "found": "nothing", "\"abc\"", "a list", "a mapping".
std::string found(const yaml::Node& node);

/// An environment variable that the file uses.
struct FromEnvironment {
  std::string value;
  std::string name;
};

/// Replaces ${NAME} by the variable's value, and ${NAME:-text} by its value or, if it is unset or
/// empty, by the text. $${ stands for a literal ${. Values are not expanded again. `used` gets each
/// variable that has a value. Errors: kInvalid for an unset variable without a default, and for a
/// ${ without its } or without a name.
Result<std::string> substitute_environment(std::string_view text,
                                           std::vector<FromEnvironment>* used = nullptr);

/// Collects what is read and what is wrong. One per load; not thread-safe. Logs and clients read
/// the messages, so they show environment variables by name and hide the passwords of URLs.
class Reader {
 public:
  Reader(std::string_view source, const LoadOptions& options)
      : source_(source), options_(options) {}

  // --- reporting, at the current path ---

  void error(uint32_t line, std::string text);
  void expected(const yaml::Node& node, std::string_view what);
  /// Equal notices at other elements of a list are counted, not repeated.
  void notice(uint32_t line, std::string text);
  /// A notice about a part of the Semantic Router's format that this router does without. It names
  /// the page that has the reasons.
  void does_without(uint32_t line, std::string_view consequence);
  /// `known` are the keys that the section has.
  void unknown_key(const yaml::Entry& entry, std::span<const std::string_view> known);
  /// The entries reported as unknown, each with the path of the section around it.
  const std::vector<std::pair<std::string, const yaml::Entry*>>& unknown() const {
    return unknown_;
  }

  bool requires_keys() const { return options_.keys_required; }
  bool failed() const { return !errors_.empty(); }
  /// All errors, one a line, in the order of the file. Precondition: failed().
  Error take_errors();
  std::vector<std::string> take_notices();

  // --- place ---

  std::string_view path() const { return path_; }
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

  /// Runs body() over a part of the file that has no effect: inner keys without an effect get no
  /// notice of their own, and an unset variable is a notice instead of an error.
  template <class Body>
  void in_not_built(Body&& body) {
    ++not_built_depth_;
    body();
    --not_built_depth_;
  }

  /// Runs body() over a part of the file that only a later part may need: settle() reports its
  /// unset variables.
  template <class Body>
  void in_optional(Body&& body) {
    is_optional_ = true;
    body();
    is_optional_ = false;
  }
  /// Reports these variables as errors if the parts are needed, otherwise as notices.
  void settle(bool are_needed);

  // --- values ---

  /// Reports an error and returns nullopt if the node is not a scalar or names an unset variable.
  std::optional<Scalar> scalar(const yaml::Node& node, std::string_view expected);

  /// The result so far. Sections are read in the order providers, global, routing, so that each
  /// reference can be checked where it is read.
  Config config;
  /// The routing being read: config.routing or a recipe's. Its signals and projections are complete
  /// before its decisions are read.
  const Routing* routing = nullptr;

 private:
  struct Remark {
    uint32_t line;
    std::string path;
    std::string text;
    std::string pattern;  // the path without indices
    size_t more = 0;      // number of equal notices that follow
  };
  std::string render(const Remark& remark) const;
  void sort_variables();  // the longest value first, as one may contain another; without duplicates
  std::string without_secrets(std::string text) const;
  static void sort_by_line(std::vector<Remark>& remarks);

  std::string source_;
  LoadOptions options_;
  std::string path_;
  int not_built_depth_ = 0;
  bool is_optional_ = false;
  std::vector<std::pair<std::string, const yaml::Entry*>> unknown_;
  std::vector<FromEnvironment> variables_;  // used by the file
  std::vector<Remark> unset_;               // variables, until settle()
  std::vector<Remark> errors_;
  std::vector<Remark> notices_;
};

/// Gives a notice with the consequence if the environment variable that a key names has no text, or
/// an error if the options require keys. The reader is at the mapping `node`, which has the key.
void note_unset(Reader& reader, const yaml::Node& node, std::string_view key,
                const std::string& variable, std::string_view consequence);

// --- values of the file as C++ values: a function that finds an error reports it and does not
// change `out` ---

/// True for a value that requests nothing: null, empty, or a mapping that is switched off or has
/// `mode: disabled`.
bool is_idle(const yaml::Node& node);

/// True for a mapping whose `enabled` is an unquoted false, no or off.
bool is_switched_off(const yaml::Node& node);

/// The value of a key; null if the file does not have the key or leaves it empty.
const yaml::Node* given(const yaml::Node& node, std::string_view key);

constexpr size_t kTableNameBytesMax = 59;   // PostgreSQL cuts names after 63
constexpr size_t kTablesNameBytesMax = 48;  // "_shadows_by_day" may follow
/// True for a name of a table that PostgreSQL takes without quotes, unless it is a reserved word:
/// at most kTableNameBytesMax of a-z, 0-9 and _, not a digit at its beginning.
bool is_table_name(std::string_view text);

/// A scalar that is not empty.
void read_text(Reader& reader, const yaml::Node& node, std::string& out);
/// A list of scalars that are not empty; null is an empty list.
void read_texts(Reader& reader, const yaml::Node& node, std::vector<std::string>& out);
bool read_boolean(Reader& reader, const yaml::Node& node, bool& out);
/// Bounds are inclusive; `expected` is the same in words.
bool read_integer(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                  int64_t high, int64_t& out);
bool read_number(Reader& reader, const yaml::Node& node, std::string_view expected, double low,
                 double high, double& out);
/// An integer, or one with KiB, MiB or GiB behind it, which may be quoted.
bool read_bytes(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                int64_t high, int64_t& out);
/// A number with ms, s, m or h behind it, or several: "1m30s"; or 0; quoted or not, and with or
/// without spaces around it.
bool read_milliseconds(Reader& reader, const yaml::Node& node, std::string_view expected,
                       int64_t low, int64_t high, int64_t& out);
/// A number of tokens, in thousands with K and in millions with M behind it; quoted or not.
bool read_tokens(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t& out);
/// A price, which some files have as a string.
void read_price(Reader& reader, const yaml::Node& node, double& out);
/// A list of numbers; null is an empty list.
void read_numbers(Reader& reader, const yaml::Node& node, std::vector<double>& out);
/// Mappings from names to scalars or lists of strings; null is an empty one.
void read_text_map(Reader& reader, const yaml::Node& node, std::map<std::string, std::string>& out);
void read_number_map(Reader& reader, const yaml::Node& node, std::map<std::string, double>& out);
void read_texts_map(Reader& reader, const yaml::Node& node,
                    std::map<std::string, std::vector<std::string>>& out);
/// The index of the word, compared without case.
std::optional<size_t> read_choice(Reader& reader, const yaml::Node& node, std::string_view expected,
                                  const std::vector<std::string_view>& words);

}  // namespace signalbox::config
