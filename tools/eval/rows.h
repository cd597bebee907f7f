#pragma once
// Reads the labelled rows of `signalbox eval`. All rows are read before a model runs, so that a
// mistake in the last line does not show up only after an hour.

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/labels.h"

namespace signalbox::tools {

/// The members that a row has in addition to its text.
enum class RowKind : uint8_t {
  kLabel,      // {"text", "pair"?, "label"}
  kPairLabel,  // {"text", "pair", "label"}
  kSpans,      // {"text", "entities": [{"type", "start", "end"}]}
  kScore,      // {"text", "pair", "score"}
  // {"context", "question", "answer", "spans"}, or HaluEval's {"query", "response",
  // "hallucination", "spans"}; spans mark what the context does not support
  kAnswer,
};

struct LabelledRow {
  std::string text;  // for kAnswer, the answer
  std::optional<std::string> pair = {};
  std::string context = {}, question = {};  // for kAnswer
  std::string label = {};  // for kAnswer: "yes" for an unsupported answer, otherwise "no"
  std::vector<LabelledSpan> spans = {};
  double score = 0;
  bool is_document = false;  // the member "document"; for guards
  uint32_t file = 0;         // index into LabelledRows::files
  uint64_t line = 0;         // counted from 1
};

struct LabelledRows {
  std::vector<std::string> files;
  std::vector<LabelledRow> rows;

  /// A row's place: "held_out.jsonl: line 12".
  std::string place(size_t row) const;
};

struct RowOptions {
  RowKind kind = RowKind::kLabel;
  /// Files, each as FILE or as LABEL=FILE, which gives all rows of the file that label whatever
  /// they contain. With kSpans, "none=FILE" gives rows without spans.
  std::vector<std::string> data = {};
  /// Member names. If empty: "text" and "label"; for pairs also the names used by published sets, a
  /// and b, premise and hypothesis, sentence1 and sentence2.
  std::string text_field = {}, pair_field = {}, label_field = {};
  /// Maps labels (or span types) of the files to those of the model; "*" stands for all others. An
  /// empty new label leaves the row out (not with kSpans).
  std::map<std::string, std::string, std::less<>> labels = {};
};

/// Labels may be strings, integers or booleans. Limits: two million rows and a gigabyte of text.
/// Errors name file, line and value: kNotFound, kTooLarge, and kInvalid, also if there are no rows.
Result<LabelledRows> read_labelled(const RowOptions& options);

/// Reads a stream in the same way and ignores `options.data`. Errors name the stream "lines".
Result<LabelledRows> read_labelled(std::istream& in, const RowOptions& options);

}  // namespace signalbox::tools
