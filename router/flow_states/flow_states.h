#pragma once
// The states of workflows that wait for the results of tools: in memory, in a folder that outlives
// the process, or in Redis, which several routers share. A state is never changed. It ends after
// its lifetime, or earlier if there is no room for it.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/config/services.h"

namespace signalbox::flow_states {

struct Limits {
  std::chrono::seconds lifetime{1800};
  size_t state_bytes = size_t{1} << 20;  // of one state
  // The limits of all states of this process together.
  size_t bytes = size_t{64} << 20;
  size_t count = 10'000;
};

/// Thread-safe. Calls may block, for a disk or a server.
class FlowStates {
 public:
  virtual ~FlowStates() = default;
  /// `id` has letters, digits and hyphens. Errors: kTooLarge, kIo, those of the server.
  virtual Result<void> put(std::string_view id, std::string text) = 0;
  /// The id may be anything. Errors: kNotFound if there is no such state any more; kIo, those of
  /// the server.
  virtual Result<std::string> get(std::string_view id) = 0;
};

using Clock = std::function<std::chrono::system_clock::time_point()>;

/// In memory, or in files of that folder, which it creates; "": in memory. The oldest states make
/// room for new ones. Errors: kIo.
Result<std::unique_ptr<FlowStates>> open_local(const std::string& folder, const Limits& limits,
                                               Clock clock = std::chrono::system_clock::now);

/// As configured. Errors: with the key in the file.
Result<std::unique_ptr<FlowStates>> open(const config::Looper::FlowState& config);

}  // namespace signalbox::flow_states
