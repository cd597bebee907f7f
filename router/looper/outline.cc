// A rehearsal: the algorithm runs as always, with replies that say nothing. So the outline cannot
// differ from what the algorithm does. A cascade of System One reads its replies, which a rehearsal
// cannot write for it, and its stages are in the file.

#include "router/looper/outline.h"

#include <algorithm>

#include "router/looper/run.h"

namespace signalbox::looper {
namespace {

constexpr size_t kCallsMax = 1000;  // of an outline, whatever the file allows

Reply nothing_said() {
  Reply out;
  out.body = R"({"choices":[{"index":0,"message":{"role":"assistant","content":"-"}}]})";
  out.text = "-";
  return out;
}

std::vector<OutlinedCall> outline_stages(const std::vector<config::Stage>& stages,
                                         std::span<const Voice> voices, size_t calls_max) {
  std::vector<OutlinedCall> out;
  for (const config::Stage& stage : stages) {
    if (out.size() == calls_max) break;
    if (!stage.enabled || std::ranges::find(voices, stage.model, &Voice::model) == voices.end())
      continue;
    const Purpose purpose = stage.kind == "judge" ? Purpose::kChoose : Purpose::kAnswer;
    out.push_back({out.size() + 1, stage.model, purpose, stage.name});
  }
  return out;
}

}  // namespace

std::vector<OutlinedCall> outline(const Algorithm& algorithm, size_t calls_max) {
  std::vector<OutlinedCall> out;
  std::vector<Turn> turns;
  for (size_t step = 1;; ++step) {
    Step next = algorithm.next(turns, true);
    if (next.answer || next.calls.empty()) return out;
    for (Call& call : next.calls) {
      if (turns.size() == calls_max) return out;
      out.push_back({step, call.model, call.purpose, call.label});
      turns.push_back({std::move(call), Turn::State::kDone, nothing_said()});
    }
  }
}

std::vector<OutlinedCall> outline(const config::Decision& decision, std::span<const Voice> voices,
                                  const config::Looper& looper) {
  const uint32_t bound = bounds_of(decision.algorithm, looper).calls;
  const size_t calls_max = bound == 0 ? kCallsMax : std::min<size_t>(bound, kCallsMax);
  if (decision.algorithm.is_native())
    return outline_stages(decision.algorithm.stages, voices, calls_max);
  return outline(*make_algorithm(decision, {voices.begin(), voices.end()}, {}), calls_max);
}

}  // namespace signalbox::looper
