// Builds a trie of the patterns, then adds the missing transitions in one breadth-first pass, from
// the longest proper suffix of each state.

#include "router/signals/matching/keyword_automaton.h"

namespace signalbox::signals {
namespace {

constexpr size_t kTableBytesMax = size_t{64} << 20;

}  // namespace

Result<KeywordAutomaton> KeywordAutomaton::build(std::span<const std::string> patterns) {
  KeywordAutomaton out;
  out.classes_ = 1;  // class 0: bytes that occur in no pattern
  size_t states_max = 1;
  for (const std::string& pattern : patterns) {
    states_max += pattern.size();
    for (const char c : pattern) {
      uint16_t& byte_class = out.class_of_[static_cast<unsigned char>(c)];
      if (byte_class == 0) byte_class = static_cast<uint16_t>(out.classes_++);
    }
  }
  if (states_max * out.classes_ * sizeof(uint32_t) > kTableBytesMax) {
    return fail(Code::kTooLarge, "keywords: {} bytes in all need a table of more than {} MiB",
                states_max - 1, kTableBytesMax >> 20);
  }
  if (patterns.empty()) return out;

  const auto add_state = [&] {
    out.next_.resize(out.next_.size() + out.classes_, 0);
    out.outputs_.emplace_back();
    return static_cast<uint32_t>(out.outputs_.size() - 1);
  };
  add_state();
  for (size_t p = 0; p < patterns.size(); ++p) {
    uint32_t state = 0;
    for (const char c : patterns[p]) {
      const size_t edge = state * out.classes_ + out.class_of_[static_cast<unsigned char>(c)];
      if (out.next_[edge] == 0) {
        const uint32_t added = add_state();
        out.next_[edge] = added;
      }
      state = out.next_[edge];
    }
    out.outputs_[state].pattern = static_cast<uint32_t>(p);
  }

  // suffix[s]: the longest proper suffix of s that is a state. It is less deep than s, so its
  // transitions are complete when s is visited.
  std::vector<uint32_t> suffix(out.outputs_.size(), 0);
  std::vector<uint32_t> queue{0};
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t state = queue[head];
    Output& output = out.outputs_[state];
    const uint32_t inherited = state == 0 ? 0 : out.outputs_[suffix[state]].state;
    output.state = output.pattern != kNone ? state : inherited;
    output.shorter = inherited;
    for (uint32_t c = 0; c < out.classes_; ++c) {
      uint32_t& child = out.next_[state * out.classes_ + c];
      const uint32_t fallback = state == 0 ? 0 : out.next_[suffix[state] * out.classes_ + c];
      if (child == 0) {
        child = fallback;
      } else {
        suffix[child] = fallback;
        queue.push_back(child);
      }
    }
  }
  for (uint32_t& next : out.next_)
    next = next * out.classes_ << 1 | (out.outputs_[next].state != 0 ? 1 : 0);
  return out;
}

}  // namespace signalbox::signals
