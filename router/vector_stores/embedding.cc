// Chunks go to the model in small groups as long work, so that requests are served between them.

#include "router/vector_stores/embedding.h"

#include <algorithm>

namespace signalbox::vector_stores {
namespace {

constexpr size_t kEmbeddedAtOnce = 8;
constexpr size_t kHalvedBytesMin = 64;  // a chunk of fewer bytes is cut by the model itself

/// Adds the chunk, in halves if the model would not read all of it.
Result<void> add_read_whole(const engine::TextModel& model, std::string_view chunk,
                            std::vector<std::string_view>& out) {
  SIGNALBOX_TRY(const bool is_cut, model.is_cut({.text = chunk}));
  if (!is_cut || chunk.size() < kHalvedBytesMin) {
    out.push_back(chunk);
    return {};
  }
  for (const std::string_view half : cut(chunk, chunk.size() / 2 + 1, 0))
    SIGNALBOX_TRY_VOID(add_read_whole(model, half, out));
  return {};
}

}  // namespace

Result<std::vector<std::string_view>> cut_for(const engine::TextEmbedder& model,
                                              std::string_view text, const Chunking& chunking,
                                              size_t chunks_max) {
  const auto known_max = static_cast<uint32_t>(std::max(model.tokens_max(), 1));
  const size_t tokens = std::min(chunking.tokens_max, known_max);
  const size_t overlap = std::min<size_t>(chunking.overlap_tokens, tokens / 2);
  std::vector<std::string_view> chunks = cut(text, tokens * kTokenBytes, overlap * kTokenBytes);
  const auto check = [chunks_max](size_t count) -> Result<void> {
    if (count <= chunks_max) return {};
    return fail(Code::kTooLarge, "the file has more than {} chunks", chunks_max);
  };
  SIGNALBOX_TRY_VOID(check(chunks.size()));
  const engine::TextModel* const own = model.text_model();
  if (own == nullptr) return chunks;
  std::vector<std::string_view> out;
  for (const std::string_view chunk : chunks) {
    SIGNALBOX_TRY_VOID(add_read_whole(*own, chunk, out));
    SIGNALBOX_TRY_VOID(check(out.size()));
  }
  return out;
}

Result<Embedded> embed_chunks(const Embedder& embedder, std::span<const std::string_view> chunks,
                              const std::function<bool()>& is_wanted,
                              const engine::Patience& patience) {
  const auto dim = static_cast<size_t>(embedder.model->dim());
  Embedded out{embedder.name, embedder.model->dim()};
  out.vectors.resize(chunks.size() * dim);
  for (size_t begin = 0; begin < chunks.size(); begin += kEmbeddedAtOnce) {
    if (!is_wanted()) return fail(Code::kCancelled, "the chunks are not needed any more");
    const auto some = chunks.subspan(begin, std::min(kEmbeddedAtOnce, chunks.size() - begin));
    SIGNALBOX_TRY_VOID(embedder.model->embed_within(
        patience, some, std::span(out.vectors).subspan(begin * dim, some.size() * dim)));
  }
  out.chunks.assign(chunks.begin(), chunks.end());
  return out;
}

}  // namespace signalbox::vector_stores
