#pragma once
// Labelled rows of files as `signalbox eval` reads them, all before a model runs: a mistake in the
// last line should not show after an hour.

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/marked.h"

namespace signalbox::tools {

/// What rows hold beside their text.
enum class RowKind : uint8_t {
  kLabel,      // {"text", "pair"?, "label"}
  kPairLabel,  // {"text", "pair", "label"}
  kSpans,      // {"text", "entities": [{"type", "start", "end"}]}
  kScore,      // {"text", "pair", "score"}
  kAnswer,     // {"context", "question", "answer", "spans"}, or HaluEval's {"query", "response",
               // "hallucination", "spans"}: spans are what the context does not support
};

struct LabelledRow {
  std::string text;  // of kAnswer the answer
  std::optional<std::string> pair = {};
  std::string context = {}, question = {};  // of kAnswer
  std::string label = {};  // of kAnswer "yes" for one that says more than its context, or "no"
  std::vector<Marked> spans = {};
  double score = 0;
  uint32_t file = 0;  // of LabelledRows::files
  uint64_t line = 0;  // from 1 on
};

struct LabelledRows {
  std::vector<std::string> files;
  std::vector<LabelledRow> rows;

  /// "held_out.jsonl: line 12".
  std::string place(size_t row) const;
};

struct RowOptions {
  RowKind kind = RowKind::kLabel;
  /// Files, each alone or as LABEL=FILE: all rows of that file have that label whatever they say;
  /// with kSpans "none=FILE", rows without spans.
  std::vector<std::string> data = {};
  /// Names of members. Empty: "text" and "label"; of pairs also what published sets call them, a
  /// and b, premise and hypothesis, sentence1 and sentence2.
  std::string text_field = {}, pair_field = {}, label_field = {};
  /// Labels, or types of spans, of the files to those of the model; of "*" every other one. An
  /// empty new label leaves the row out (not with kSpans).
  std::map<std::string, std::string, std::less<>> labels = {};
};

/// Labels may be written as strings, integers or booleans. At most two million rows and a gigabyte
/// of text. Errors name file, line and value: kNotFound, kInvalid, kTooLarge; kInvalid for no rows.
Result<LabelledRows> read_labelled(const RowOptions& options);

/// The same of a stream, which errors call "lines", whatever `options.data` says.
Result<LabelledRows> read_labelled(std::istream& in, const RowOptions& options);

}  // namespace signalbox::tools
