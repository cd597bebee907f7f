#pragma once
// Calls of models' servers in the metrics of OpenTelemetry's conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/), so that dashboards for any
// gateway work with ours. A request without a call of a server is not counted.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "router/observe/account.h"
#include "router/observe/metrics.h"

namespace signalbox::observe {

/// The value of gen_ai.operation.name for a path of the API; "": no model runs for it.
std::string_view operation_of(std::string_view path);

/// One call of a server.
struct Operation {
  std::string_view name;  // of operation_of()
  std::string_view response_model, error;
  double seconds = 0;
  const std::optional<Tokens>& tokens;
  std::optional<double> ttft_s = {}, tpot_s = {};  // of a stream
};

/// The series of one model. Thread-safe.
class Operations {
 public:
  /// `metrics` must outlive it.
  Operations(Metrics& metrics, std::string model, std::string provider)
      : metrics_(metrics), model_(std::move(model)), provider_(std::move(provider)) {}

  const std::string& provider() const { return provider_; }
  void record(const Operation& operation);

 private:
  struct Handles {
    Histogram* duration = nullptr;  // of calls that succeed
    Histogram *input = nullptr, *output = nullptr, *ttft = nullptr, *tpot = nullptr;
  };
  void record_tokens(const Operation& operation, const std::string& response, Handles& handles);

  Metrics& metrics_;
  const std::string model_, provider_;
  std::mutex mutex_;  // guards handles_; held for a look-up
  std::map<std::pair<std::string_view, std::string>, Handles> handles_;  // operation, response
};

}  // namespace signalbox::observe
