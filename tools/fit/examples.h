#pragma once
// Labelled texts from JSON Lines, in the parts that fitting needs.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/marked.h"

namespace signalbox::tools {

struct Example {
  std::string text;
  int32_t label = 0;            // of rows {"text", "label"}: index into labels
  std::vector<Marked> spans{};  // of rows {"text", "entities": [{"type", "start", "end"}]}
  int32_t fold = 0;             // below Examples::folds
};

/// Texts with one meaning each, and what becomes of them: most are learnt from, a tenth chooses
/// between settings, a tenth is held out for the report. Where that second tenth is too small to
/// choose by, it and the first part are dealt out again, into folds that have of each label their
/// share: each is left out of learning once.
struct Examples {
  std::vector<std::string> labels;  // sorted: classes, or types of spans
  std::vector<Example> train;
  std::vector<Example> validation;
  std::vector<Example> held_out;
  int32_t folds = 0;  // of train and validation; 0: validation is enough
};

/// Reads a file. A row's part follows from its text alone, so equal texts never stand on both sides
/// and a file that grows keeps its split. Errors name the file and the line: kNotFound, kInvalid
/// (a member that is missing or wrong, spans out of the text or over one another), kTooLarge; and
/// kInvalid when a part would be empty or a label is never learnt from.
Result<Examples> read_classified(const std::filesystem::path& file);
Result<Examples> read_tagged(const std::filesystem::path& file);

}  // namespace signalbox::tools
