#pragma once
// Writes the JSON Schema of the file from the tables that the reader walks. Each section becomes
// one definition, named after the first path that leads to it, so that sections may contain
// themselves and nobody has to think of names.

#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace signalbox::config {

/// One a document. Calls add members to the schema object that is open. Every value may be null,
/// which stands for a key that is not given, and every scalar may hold a ${VARIABLE}.
class Schema {
 public:
  /// "type": [names..., "null"]
  void type(std::initializer_list<std::string_view> names);
  /// A string, or a scalar that YAML takes for something else and the reader for text.
  void text();
  /// What `members` adds, or a string with a ${VARIABLE} in it.
  void or_variable(const std::function<void()>& members);
  /// One of the words, upper and lower case alike.
  void words(const std::vector<std::string_view>& words);
  /// "key": { members }
  void nested(std::string_view key, const std::function<void()>& members);
  /// A reference to a section that `describe` describes; `identity` tells sections apart.
  void section(const void* identity, std::function<void(Schema&)> describe);

  /// Runs body() with the path one key longer.
  template <class Body>
  void at_key(std::string_view key, Body&& body) {
    const size_t length = path_.size();
    if (!path_.empty()) path_.push_back('.');
    path_ += key;
    body();
    path_.resize(length);
  }

  json::Writer& out() { return out_; }

  /// The whole document, from the description of the root.
  static std::string document(const std::function<void(Schema&)>& describe_root);

 private:
  struct Definition {
    std::string name;
    std::function<void(Schema&)> describe;
  };
  void write_definitions();

  json::Writer out_;
  std::string path_;
  std::map<const void*, std::string> names_;
  std::deque<Definition> waiting_;
};

/// A pattern for JSON Schema that matches the word in upper and lower case: "[aA][nN][dD]".
std::string any_case(std::string_view word);

}  // namespace signalbox::config
