// Opens the trunk, which packs as it always does, and takes what it packed.

#include "engine/pack_model.h"

#include <set>

#include "engine/precision.h"
#include "engine/trunk.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

// Rows that are picked one by one: as wide as the file has them, or in 16 bits.
bool is_token_table(std::string_view name) {
  return name.ends_with("embeddings.word_embeddings.weight") ||
         name.ends_with("embeddings.tok_embeddings.weight");
}

std::vector<std::byte> narrowed(const weights::Tensor& tensor, const kernels::Table& kernels) {
  std::vector<float> values(tensor.size());
  widen(tensor, 0, kernels, values);
  std::vector<std::byte> out(values.size() * sizeof(uint16_t));
  kernels::narrow_bf16(static_cast<int64_t>(values.size()), values.data(), out.data());
  return out;
}

}  // namespace

Result<PackedModel> pack_model(const std::filesystem::path& directory, Precision precision) {
  SIGNALBOX_TRY(const kernels::Table* kernels, kernels::active_table());
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(directory / "config.json"));
  SIGNALBOX_TRY(const auto file, weights::SafeTensors::open_directory(directory));
  PackedModel out;
  SIGNALBOX_TRY(const auto trunk,
                open_trunk(config, file, {*kernels, format_of(precision), &out.matrices}));
  if (out.matrices.empty()) {
    return fail(Code::kInvalid, "{}: its matrices are packed already", directory.string());
  }
  std::set<std::string, std::less<>> replaced;
  for (PackedMatrix& matrix : out.matrices) {
    replaced.insert(matrix.sources.begin(), matrix.sources.end());
    SIGNALBOX_TRY_VOID(
        out.tensors.add(packed_name(matrix.name, matrix.format), weights::Dtype::kU8,
                        {static_cast<int64_t>(matrix.bytes.size())},
                        std::vector<std::byte>(matrix.bytes.begin(), matrix.bytes.end())));
    matrix.bytes = {};  // the trunk's, which ends here
  }
  for (const weights::Tensor& tensor : file.tensors()) {
    if (replaced.contains(tensor.name)) continue;
    const weights::Shape shape(tensor.shape.begin(), tensor.shape.end());
    if (precision != Precision::kF32 && tensor.dtype == weights::Dtype::kF32 &&
        is_token_table(tensor.name)) {
      SIGNALBOX_TRY_VOID(out.tensors.add(std::string(tensor.name), weights::Dtype::kBF16, shape,
                                         narrowed(tensor, *kernels)));
      continue;
    }
    SIGNALBOX_TRY_VOID(
        out.tensors.add(std::string(tensor.name), tensor.dtype, shape,
                        std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end())));
  }
  return out;
}

}  // namespace signalbox::engine
