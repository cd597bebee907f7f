#pragma once
// Reads labelled texts from JSON Lines and splits them into the parts that fitting needs.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/labels.h"

namespace signalbox::tools {

struct Example {
  std::string text;
  int32_t label = 0;                  // for rows {"text", "label"}: index into labels
  std::vector<LabelledSpan> spans{};  // for rows {"text", "entities": [{"type", "start", "end"}]}
  int32_t fold = 0;                   // less than Examples::folds
};

/// Labelled texts, split into three parts: most are for training, a tenth (validation) selects the
/// settings, and a tenth is held out for the report. If the validation part is too small to select
/// them, it is joined with the training part and redistributed into folds with equal shares of each
/// label. Each fold is then left out of training once.
struct Examples {
  std::vector<std::string> labels;  // sorted; classes or span types
  std::vector<Example> train;
  std::vector<Example> validation;
  std::vector<Example> held_out;
  int32_t folds = 0;  // folds of train and validation; 0: validation is large enough
};

/// Reads a file. A row's part depends on its text alone, so equal texts always share a part, and a
/// growing file keeps its split. Errors name the file and the line: kNotFound, kTooLarge, and
/// kInvalid (a missing or wrong member; spans outside the text or overlapping). kInvalid also if a
/// part would be empty or a label does not occur in training.
Result<Examples> read_classified(const std::filesystem::path& file);
Result<Examples> read_tagged(const std::filesystem::path& file);

}  // namespace signalbox::tools
