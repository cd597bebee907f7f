#pragma once
// Labels in rows of labelled texts: one of the whole text, or of spans marked in it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::tools {

/// A marked span of a text.
struct Marked {
  std::string type;
  uint32_t begin = 0;  // bytes, half-open
  uint32_t end = 0;
  bool operator==(const Marked&) const = default;
};

struct SpanForm {
  const char* member = "entities";
  bool has_types = true;  // without, they stay empty
};

/// A row's "entities": [{"type", "start", "end"}], offsets in code points of `text`, the end
/// exclusive; sorted by where they begin. kInvalid naming the entity: a member that is missing or
/// wrong, spans out of the text or over one another.
Result<std::vector<Marked>> marked_spans(const json::Value& row, std::string_view text,
                                         const SpanForm& form = {});

/// A label: a string that is not empty, an integer or a boolean, as it is written. kInvalid naming
/// the member.
Result<std::string> label_member(const json::Value& row, std::string_view name);

}  // namespace signalbox::tools
