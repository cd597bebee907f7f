#pragma once
// Reads the labels of a row of labelled text: one label for the whole text, or labelled spans in
// it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::tools {

/// A labelled span of a text.
struct LabelledSpan {
  std::string type;
  uint32_t begin = 0;  // bytes, half-open
  uint32_t end = 0;
  bool operator==(const LabelledSpan&) const = default;
};

struct SpanForm {
  const char* member = "entities";
  bool has_types = true;  // false: types stay empty
};

/// Reads a row's "entities": [{"type", "start", "end"}]. Offsets count code points of `text`; the
/// end is exclusive. Returns the spans sorted by where they begin. kInvalid, which names the
/// entity, if a member is missing or wrong, or if spans lie outside the text or overlap.
Result<std::vector<LabelledSpan>> read_spans(const json::Value& row, std::string_view text,
                                             const SpanForm& form = {});

/// Reads a label: a nonempty string, an integer or a boolean, returned as it is written. kInvalid
/// names the member.
Result<std::string> label_member(const json::Value& row, std::string_view name);

}  // namespace signalbox::tools
