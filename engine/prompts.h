#pragma once
// The texts that a model's card puts in front of its inputs, from a sentence-transformers
// directory. A model that was trained with them compares queries and passages worse without.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace signalbox::engine {

inline constexpr const char* kPromptsFile = "config_sentence_transformers.json";

struct Prompts {
  std::vector<std::pair<std::string, std::string>> texts = {};  // name and text, in file order
  std::string default_name = {};                                // "": none

  /// Return the text for a kind of input, by the names that are in use; "" if there is none.
  std::string of_query() const;
  std::string of_passage() const;
  /// Returns the text for inputs of no stated kind.
  std::string by_default() const;

  /// Returns whether any text is not empty.
  bool has_any() const;

  /// Returns null for an unknown name.
  const std::string* find(std::string_view name) const;
};

/// Reads `prompts` and `default_prompt_name`; empty without the file. kCorrupt for values of a
/// wrong type, or a default that is not among the prompts; the message names file and key.
Result<Prompts> read_prompts(const std::filesystem::path& directory);

}  // namespace signalbox::engine
