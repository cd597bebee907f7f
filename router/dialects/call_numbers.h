#pragma once
// Numbers the tool calls of a stream in the order in which they begin. The index alone does not
// identify a call, because Ollama and NVIDIA Dynamo have had versions that give all parallel calls
// the index 0. Neither does the id: older versions of vLLM give each piece of a call that the
// client requires by name a new one, also the empty piece that comes with the finish reason.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"

namespace signalbox::dialects {

class CallNumbers {
 public:
  /// The number of the call that a piece belongs to. A piece begins a call if its index is new, or
  /// if it has a name and another id than the last call with its index, which has another name or
  /// is complete. `is_last`: the chunk has a finish reason.
  size_t of(int64_t index, std::string_view id, std::string_view name, std::string_view arguments,
            bool is_last) {
    size_t at = begun_.size();
    while (at > 0 && begun_[at - 1].index != index) --at;
    const bool is_empty_end = is_last && arguments.empty();
    if (at == 0 || begun_[at - 1].ends_before(id, name, is_empty_end)) {
      begun_.push_back({index, std::string(id), std::string(name)});
      at = begun_.size();
    }
    begun_[at - 1].add(arguments);
    return at - 1;
  }

  /// True if the call's arguments so far are a whole JSON value.
  bool is_complete(size_t number) const { return begun_[number].is_complete(); }

 private:
  struct Call {
    int64_t index;
    std::string id, name;
    int64_t depth = 0;  // of open objects and lists in the arguments
    bool in_text = false, is_escaped = false, is_begun = false;

    bool ends_before(std::string_view next_id, std::string_view next_name,
                     bool is_empty_end) const {
      if (id.empty() || next_id.empty() || next_name.empty() || next_id == id) return false;
      return next_name != name || (is_complete() && !is_empty_end);
    }

    bool is_complete() const { return is_begun && depth == 0 && !in_text; }

    void add(std::string_view arguments) {
      for (const char c : arguments) {
        if (in_text) {
          if (c == '"' && !is_escaped) in_text = false;
          is_escaped = c == '\\' && !is_escaped;
        } else if (c == '"') {
          in_text = true;
        } else if (c == '{' || c == '[') {
          ++depth;
        } else if (c == '}' || c == ']') {
          --depth;
        }
      }
      is_begun = is_begun || !ascii::trimmed(arguments).empty();
    }
  };
  std::vector<Call> begun_;
};

}  // namespace signalbox::dialects
