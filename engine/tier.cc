// Wraps kernels::active_table(), which the engine uses directly elsewhere.

#include "engine/tier.h"

#include "kernels/kernels.h"

namespace signalbox::engine {

std::string_view kernel_tier() {
  const auto table = kernels::active_table();
  return table ? (*table)->tier : std::string_view();
}

}  // namespace signalbox::engine
