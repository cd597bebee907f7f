// llama.cpp's names for BERT tensors (gguf-py/gguf/constants.py) and Hugging Face's equivalents.

#include <array>
#include <charconv>
#include <optional>

#include "weights/gguf.h"

namespace signalbox::weights {
namespace {

struct Pair {
  std::string_view gguf;
  std::string_view hugging_face;
};

constexpr std::array<Pair, 4> kEmbeddings = {{{"token_embd", "embeddings.word_embeddings"},
                                              {"token_types", "embeddings.token_type_embeddings"},
                                              {"position_embd", "embeddings.position_embeddings"},
                                              {"token_embd_norm", "embeddings.LayerNorm"}}};
constexpr std::array<Pair, 8> kLayer = {{{"attn_q", "attention.self.query"},
                                         {"attn_k", "attention.self.key"},
                                         {"attn_v", "attention.self.value"},
                                         {"attn_output", "attention.output.dense"},
                                         {"attn_output_norm", "attention.output.LayerNorm"},
                                         {"ffn_up", "intermediate.dense"},
                                         {"ffn_down", "output.dense"},
                                         {"layer_output_norm", "output.LayerNorm"}}};
constexpr std::string_view kLayerPrefix = "blk.";

template <size_t N>
std::optional<std::string_view> find(const std::array<Pair, N>& pairs, std::string_view name) {
  for (const Pair& pair : pairs) {
    if (pair.gguf == name) return pair.hugging_face;
  }
  return std::nullopt;
}

// Converts "blk.3.attn_q.weight" to "encoder.layer.3.attention.self.query.weight".
std::optional<std::string> hugging_face_name(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view kind = name.substr(dot);  // ".weight"
  if (kind != ".weight" && kind != ".bias") return std::nullopt;
  std::string_view module = name.substr(0, dot);
  if (!module.starts_with(kLayerPrefix)) {
    const auto found = find(kEmbeddings, module);
    return found ? std::optional(fmt::format("{}{}", *found, kind)) : std::nullopt;
  }
  module.remove_prefix(kLayerPrefix.size());
  uint32_t layer = 0;
  const auto read = std::from_chars(module.data(), module.data() + module.size(), layer);
  if (read.ec != std::errc{}) return std::nullopt;
  module.remove_prefix(read.ptr - module.data());
  if (!module.starts_with('.')) return std::nullopt;
  const auto found = find(kLayer, module.substr(1));
  if (!found) return std::nullopt;
  return fmt::format("encoder.layer.{}.{}{}", layer, *found, kind);
}

}  // namespace

Result<void> rename_gguf_tensors(const Gguf& file, TensorList& tensors) {
  SIGNALBOX_TRY(const auto architecture, file.get<std::string_view>("general.architecture"));
  if (architecture != "bert") {
    return fail(Code::kUnsupported,
                "{}: general.architecture: \"{}\" is not supported (supported: \"bert\")",
                file.name(), architecture);
  }
  for (const GgufTensor& tensor : file.tensors()) {
    auto name = hugging_face_name(tensor.name);
    if (!name) {
      return fail(Code::kUnsupported, "{}: tensor \"{}\" is not part of a supported \"bert\"",
                  file.name(), tensor.name);
    }
    auto done = tensors.rename(std::string(tensor.name), *std::move(name));
    if (!done) return fail_in(file.name(), std::move(done).error());
  }
  return {};
}

}  // namespace signalbox::weights
