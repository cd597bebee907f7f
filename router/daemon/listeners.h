#pragma once
// The listeners of the management API and of the separate port for metrics.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::daemon {

inline constexpr std::string_view kManagement = "management";
inline constexpr std::string_view kMetrics = "metrics";

struct OwnListener {
  config::Listener listener;
  std::string_view section;  // of the configuration, which has its keys
};

/// Returns the listeners in the order in which they are opened. Error: kInvalid if other machines
/// could reach the management API and the configuration does not permit it.
Result<std::vector<OwnListener>> operators_listeners(const config::Config& config);

/// The section of a listener for clients, by its place in the list.
std::string section_of_listener(size_t place);

}  // namespace signalbox::daemon
