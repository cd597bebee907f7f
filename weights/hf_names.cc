// Processes one tensor at a time. Wrappers can be nested, so each prefix is tried in turn.

#include "weights/hf_names.h"

namespace signalbox::weights {
namespace {

void replace_end(std::string& name, std::string_view end, std::string_view by) {
  if (name.ends_with(end)) name.replace(name.size() - end.size(), end.size(), by);
}

std::string hf_name(std::string_view name) {
  for (const std::string_view wrapper : {"module.", "0.", "auto_model."}) {
    if (name.starts_with(wrapper)) name.remove_prefix(wrapper.size());
  }
  std::string out(name);
  replace_end(out, "LayerNorm.gamma", "LayerNorm.weight");
  replace_end(out, "LayerNorm.beta", "LayerNorm.bias");
  return out;
}

}  // namespace

Result<void> to_hf_names(TensorList& tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors.tensors()) names.emplace_back(tensor.name);
  for (const std::string& name : names) SIGNALBOX_TRY_VOID(tensors.rename(name, hf_name(name)));
  return {};
}

}  // namespace signalbox::weights
