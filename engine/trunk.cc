// Dispatches on model_type, and code shared by all trunks.

#include "engine/trunk.h"

#include <algorithm>

#include "engine/bert.h"
#include "engine/gemma3.h"
#include "engine/modern_bert.h"
#include "engine/qwen3.h"

namespace signalbox::engine {

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
  if (type == "bert" || type == "roberta" || type == "xlm-roberta") {
    return open_bert(config, file, options);
  }
  if (type == "qwen3") return open_qwen3(config, file, options);
  if (type == "gemma3_text") return open_gemma3(config, file, options);
  return fail(
      Code::kUnsupported,
      "{}: \"{}\" is not supported (supported: bert, gemma3_text, modernbert, qwen3, roberta, "
      "xlm-roberta)",
      config.root().where("model_type"), type);
}

}  // namespace signalbox::engine
