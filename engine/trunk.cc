// Dispatches on model_type, and code shared by all trunks.

#include "engine/trunk.h"

#include <algorithm>

#include "base/error.h"
#include "engine/families.h"

namespace signalbox::engine {

TensorReader read_weights(const weights::SafeTensors& file, const TrunkOptions& options,
                          std::string prefix) {
  TensorReader reader(file, options.kernels, std::move(prefix), options.format, options.merge);
  if (options.packed != nullptr) reader.record();
  return reader;
}

Result<WeightsMemory> finish_weights(TensorReader& reader, const TrunkOptions& options) {
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  if (options.packed != nullptr) *options.packed = reader.take_packed();
  if (options.linears != nullptr) *options.linears = reader.take_linears();
  return WeightsMemory{reader.take_arena(), reader.held_bytes()};
}

void Trunk::resume(Scratch&, int32_t, int32_t, Workers&) const {
  SIGNALBOX_CHECK(shape_.resumes);
}

double attended_pairs(int32_t tokens, int32_t window, bool causal) {
  const double n = tokens, reach = std::min(window, tokens - 1);
  // Without the pairs before and after the sequence.
  const double pairs = n * (2 * reach + 1) - reach * (reach + 1);
  return causal ? (pairs + n) / 2 : pairs;
}

Result<std::unique_ptr<const Trunk>> open_trunk(const weights::HfConfig& config,
                                                const weights::SafeTensors& file,
                                                const TrunkOptions& options) {
  SIGNALBOX_TRY(const Family* family, find_family(config.root()));
  return family->open(config, file, options);
}

}  // namespace signalbox::engine
