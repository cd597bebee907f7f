// Dispatches on model_type, and code shared by all trunks.

#include "engine/trunk.h"

#include <algorithm>

#include "engine/bert.h"
#include "engine/bert_config.h"
#include "engine/gemma3.h"
#include "engine/modern_bert.h"
#include "engine/qwen3.h"

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

double attended_pairs(int32_t tokens, int32_t window, bool causal) {
  const double n = tokens, reach = std::min(window, tokens - 1);
  // Without the pairs before and after the sequence.
  const double pairs = n * (2 * reach + 1) - reach * (reach + 1);
  return causal ? (pairs + n) / 2 : pairs;
}

Result<std::unique_ptr<const Trunk>> open_trunk(const weights::HfConfig& config,
                                                const weights::SafeTensors& file,
                                                const TrunkOptions& options) {
  SIGNALBOX_TRY(const std::string type, config.root().string("model_type", ""));
  if (type == "modernbert") return open_modern_bert(config, file, options);
  if (type == "qwen3") return open_qwen3(config, file, options);
  if (type == "gemma3_text") return open_gemma3(config, file, options);
  if (is_bert_family(type)) return open_bert(config, file, options);
  return fail(Code::kUnsupported,
              "{}: \"{}\" is not supported (supported: albert, bert, distilbert, electra, "
              "gemma3_text, modernbert, qwen3, roberta, xlm-roberta)",
              config.root().where("model_type"), type);
}

}  // namespace signalbox::engine
