// Feeds parts of arbitrary bytes as an entry of the stream of learning, and each part as sums.
// Writing an entry or sums that were read must give the same bytes.

#include <cstdint>
#include <string>

#include "base/error.h"
#include "router/shared_learning/changes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace shared = signalbox::shared_learning;
  shared::Fields entry{""};
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\0') {
      entry.emplace_back();
    } else {
      entry.back() += static_cast<char>(data[i]);
    }
  }
  for (const std::string& each : entry) {
    if (const auto sums = shared::read_sums(each)) SIGNALBOX_CHECK(shared::sums_of(*sums) == each);
  }
  const auto change = shared::read_change(entry);
  if (!change) return 0;
  using Kind = shared::Change::Kind;
  if (change->kind == Kind::kConversation) {
    shared::Fields out{"key", change->key};
    const auto fields = shared::fields_of(change->conversation, change->used_ms);
    SIGNALBOX_CHECK(fields.has_value());
    out.insert(out.end(), fields->begin(), fields->end());
    SIGNALBOX_CHECK(out == entry);
  }
  if (change->kind == Kind::kVerdicts) {
    SIGNALBOX_CHECK(shared::verdicts_name(change->decision, change->model) == entry[1]);
    SIGNALBOX_CHECK(shared::counts_of(change->tally) == entry[3]);
  }
  if (change->kind == Kind::kSums)
    SIGNALBOX_CHECK(shared::verdicts_name(change->decision, change->model) == entry[1]);
  return 0;
}
