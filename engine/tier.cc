// The engine's word for kernels::active_table(), which it uses everywhere else.

#include "engine/tier.h"

#include "kernels/kernels.h"

namespace signalbox::engine {

std::string_view kernel_tier() {
  const auto table = kernels::active_table();
  return table ? (*table)->tier : std::string_view();
}

}  // namespace signalbox::engine
