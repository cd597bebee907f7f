// Feeds arbitrary bytes as the reply of a guard on a server, in each of its protocols, of a
// decision model, and of a detector of unsupported text. A reply that is accepted must give a score
// from 0 to 1 for each label and for the rest, spans within the text, or its words.

#include <cstdint>
#include <string>

#include "router/models/remote_detector.h"
#include "router/models/remote_replies.h"
#include "router/models/system_one.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string labels[] = {"A", "B"};
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto check = [&](const Result<std::vector<float>>& scores) {
    if (!scores) return SIGNALBOX_CHECK(!scores.error().message.empty());
    SIGNALBOX_CHECK(scores->size() == std::size(labels) + 1);
    for (const float score : *scores) SIGNALBOX_CHECK(score >= 0 && score <= 1);
  };
  check(models::read_label_scores(body, labels));
  check(models::read_class_scores(body, labels, labels));
  check(models::read_verdict(body, labels, true));
  check(models::read_hook_score(body, std::size(labels)));
  using Kind = models::RemoteQuestion::Kind;
  for (const Kind kind : {Kind::kYesNo, Kind::kChoice, Kind::kScore}) {
    const auto scores = models::read_system_one(body, {"", {"A", "B"}, {}, kind});
    if (!scores) continue;
    SIGNALBOX_CHECK(scores->size() == 2);
    for (const float score : *scores) SIGNALBOX_CHECK(score >= 0 && score <= 1);
  }
  if (const auto score = models::read_unbounded_score(body)) SIGNALBOX_CHECK(score->size() == 1);
  const std::string text = "\xC3\xA4 text of some length";
  if (const auto words = models::read_detected(body, text)) {
    SIGNALBOX_CHECK(words->size() == 5);
    for (const auto& word : *words)
      SIGNALBOX_CHECK(word.begin < word.end && word.end <= text.size());
  }
  if (const auto spans = models::read_spans(body, text)) {
    for (const auto& span : *spans)
      SIGNALBOX_CHECK(span.begin < span.end && span.end <= text.size() && span.score <= 1);
  }
  return 0;
}
