// Opens the trunk, which packs its matrices, and takes the packed matrices. For 8 bits it first
// determines which layers need a wider format.

#include "engine/pack_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/batch.h"
#include "engine/gliner_config.h"
#include "engine/parallel.h"
#include "engine/precision.h"
#include "engine/scratch.h"
#include "engine/trunk.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

// Rows of this table are read individually, so it is not packed. It is stored as in the file, or in
// 16 bits.
bool is_token_table(std::string_view name) {
  return name.ends_with("embeddings.word_embeddings.weight") ||
         name.ends_with("embeddings.tok_embeddings.weight") ||
         name.ends_with("embed_tokens.weight") || name.ends_with("shared.weight");
}

std::vector<std::byte> narrowed(const weights::Tensor& tensor, const kernels::Table& kernels) {
  std::vector<float> values(tensor.size());
  widen(tensor, 0, kernels, values);
  std::vector<std::byte> out(values.size() * sizeof(uint16_t));
  kernels::narrow_bf16(static_cast<int64_t>(values.size()), values.data(), out.data());
  return out;
}

// Returns sequences of several lengths with ids from a fixed generator.
Batch made_up_texts(const TrunkShape& shape) {
  Batch out;
  uint64_t state = 1;
  for (const int32_t length : {8, 24, 64, 128}) {
    std::vector<int32_t> ids(std::min(length, shape.tokens_max));
    for (int32_t& id : ids) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<int32_t>((state >> 33) % shape.vocabulary);
    }
    out.add(ids, {});
  }
  return out;
}

// Determines which layers of a model can use 8 bits.
class Mixer {
 public:
  Mixer(const weights::HfConfig& config, const weights::SafeTensors& file,
        const kernels::Table& kernels)
      : config_(config), file_(file), kernels_(kernels) {}

  // Returns the layers that need a wider format, and sets `error` to the remaining error.
  Result<std::set<int32_t>> wide_layers(double error_max, double& error) {
    SIGNALBOX_TRY(exact_, hidden_states(kernels::Format::kF32, {}));
    std::set<int32_t> wide;
    SIGNALBOX_TRY(error, error_with(wide));
    while (error > error_max && static_cast<int32_t>(wide.size()) < layers_ / 2) {
      int32_t best = -1;
      for (int32_t layer = 0; layer < layers_; ++layer) {
        if (wide.contains(layer)) continue;
        std::set<int32_t> tried = wide;
        tried.insert(layer);
        SIGNALBOX_TRY(const double found, error_with(tried));
        if (found >= error) continue;
        error = found;
        best = layer;
      }
      if (best < 0) break;
      wide.insert(best);
    }
    return wide;
  }

 private:
  Result<std::vector<float>> hidden_states(kernels::Format format, const std::set<int32_t>& wide) {
    SIGNALBOX_TRY(
        const auto trunk,
        open_trunk(config_, file_, {.kernels = kernels_, .format = format, .wide_layers = wide}));
    layers_ = trunk->shape().layers;
    Scratch scratch;
    scratch.batch = made_up_texts(trunk->shape());
    scratch.reserve(trunk->shape(), 1);
    Workers workers(1);
    trunk->encode(scratch, layers_, workers);
    const float* x = scratch.x.data();  // (tokens, hidden)
    return std::vector<float>(x, x + int64_t{scratch.batch.tokens()} * trunk->shape().hidden);
  }

  Result<double> error_with(const std::set<int32_t>& wide) {
    SIGNALBOX_TRY(const auto found, hidden_states(kernels::Format::kI8, wide));
    double errors = 0, squares = 0;
    for (size_t i = 0; i < exact_.size(); ++i) {
      errors += (double{found[i]} - exact_[i]) * (double{found[i]} - exact_[i]);
      squares += double{exact_[i]} * exact_[i];
    }
    return squares > 0 ? std::sqrt(errors / squares) : 0;
  }

  const weights::HfConfig& config_;
  const weights::SafeTensors& file_;
  const kernels::Table& kernels_;
  std::vector<float> exact_;  // hidden states in single precision
  int32_t layers_ = 0;
};

}  // namespace

Result<PackedModel> pack_model(const std::filesystem::path& directory, const PackOptions& options) {
  const Precision precision = options.precision;
  SIGNALBOX_TRY(const kernels::Table* kernels, kernels::active_table());
  SIGNALBOX_TRY(const auto file, weights::SafeTensors::open_directory(directory));
  SIGNALBOX_TRY(const auto config, open_encoder_config(directory, file));
  PackedModel out;
  std::set<int32_t> wide;
  if (precision == Precision::kI8) {
    SIGNALBOX_TRY(wide, Mixer(config, file, *kernels).wide_layers(options.error_max, out.error));
  }
  out.wide_layers.assign(wide.begin(), wide.end());
  SIGNALBOX_TRY(const auto trunk, open_trunk(config, file,
                                             {.kernels = *kernels,
                                              .format = format_of(precision),
                                              .wide_layers = wide,
                                              .packed = &out.matrices}));
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
    matrix.bytes = {};  // owned by the trunk, which ends here
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
