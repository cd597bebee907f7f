#pragma once
// `signalbox bench --requests` sends texts of mixed lengths at a given rate through the scheduler
// of the router's models, and measures how long they take.

#include <string>

#include "engine/engine.h"

namespace signalbox::tools {

struct RequestRate {
  double per_second = 0;
  double seconds = 10;
  int32_t workers = 1;
  int32_t threads = 1;  // of each pass, for the report
  std::string dtype;    // for the report
};

/// The most texts of one measurement.
inline constexpr double kRequestsMax = 1e6;

/// First compares every answer of the scheduler with the model's own to the last bit, then
/// measures. Returns one line of JSON. The texts have 20 to 400 tokens, or as many as the model
/// accepts. Texts arrive independently of answers, so the times include the wait behind earlier
/// texts. Errors: kCorrupt if an answer differs; kTooLarge for a model that accepts no 20 tokens;
/// those of the scheduler and of TextModel::tokens().
Result<std::string> bench_requests(const engine::TextModel& model, const RequestRate& rate);

}  // namespace signalbox::tools
