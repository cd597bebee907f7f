#pragma once
// Numbers the tool calls of a stream in the order in which they begin. Ollama and NVIDIA Dynamo
// have had versions that give all parallel calls the index 0, so the index alone does not identify
// a call.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::dialects {

class CallNumbers {
 public:
  /// The number of the call that a piece belongs to. A piece begins a call if its index is new, or
  /// if it has a name and another id than the last call with its index.
  size_t of(int64_t index, std::string_view id, std::string_view name) {
    for (size_t i = begun_.size(); i-- > 0;) {
      Begun& call = begun_[i];
      if (call.index != index) continue;
      if (call.id.empty()) call.id = id;
      if (id.empty() || name.empty() || id == call.id) return i;
      break;
    }
    begun_.push_back({index, std::string(id)});
    return begun_.size() - 1;
  }

 private:
  struct Begun {
    int64_t index;
    std::string id;
  };
  std::vector<Begun> begun_;
};

}  // namespace signalbox::dialects
