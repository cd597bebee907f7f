// Partitions under their tags, ids under their places, and the locks around both.

#include "router/cache/vector_index.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "router/cache/vector_partition.h"

namespace signalbox::cache {
namespace {

struct Place {
  uint64_t partition;
  Slot slot;
};

// A vector as rows are kept.
struct Quantized {
  std::vector<uint8_t> codes;
  float inverse;
  Point point() const { return {codes.data(), inverse}; }
};

}  // namespace

struct VectorIndex::State {
  VectorIndexOptions options;
  const kernels::Table* table;

  // Who changes anything holds `writing`, and `reading` alone while searches could see it. `places`
  // is of writers only.
  mutable std::mutex writing;
  mutable std::shared_mutex reading;
  std::unordered_map<uint64_t, VectorPartition> partitions;
  std::unordered_map<uint64_t, Place> places;

  Result<Quantized> quantize(std::span<const float> x) const {
    if (x.size() != static_cast<size_t>(options.dim)) {
      return fail(Code::kInvalid, "a vector of {} values in an index of {}", x.size(), options.dim);
    }
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    if (!std::isfinite(squares) || squares == 0) {
      return fail(Code::kInvalid, "a vector of {} values that is zero or not finite", x.size());
    }
    // Values of any size come to where 8 bits have room for them.
    std::vector<float> unit(x.size());
    const double scale = 1 / std::sqrt(squares);
    std::ranges::transform(x, unit.begin(),
                           [&](float value) { return static_cast<float>(value * scale); });
    Quantized out{
        std::vector<uint8_t>(static_cast<size_t>(kernels::quantized_row_bytes(options.dim))), 0};
    float step;
    table->quantize_rows(1, options.dim, unit.data(), out.codes.data(), &step);
    const uint8_t* row = out.codes.data();
    int32_t length;
    table->dots_i8(1, options.dim, row, &row, &length);
    out.inverse = 1 / std::sqrt(static_cast<float>(length));
    return out;
  }
};

Result<std::unique_ptr<VectorIndex>> VectorIndex::create(const VectorIndexOptions& options) {
  if (options.dim < 1 || options.dim > kDimMax) {
    return fail(Code::kInvalid, "a vector index of {} values a row (1 to {})", options.dim,
                kDimMax);
  }
  SIGNALBOX_TRY(const kernels::Table* table, kernels::active_table());
  auto state = std::make_unique<State>();
  state->options = options;
  state->table = table;
  return std::unique_ptr<VectorIndex>(new VectorIndex(std::move(state)));
}

VectorIndex::VectorIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
VectorIndex::~VectorIndex() = default;

Result<void> VectorIndex::add(uint64_t id, uint64_t partition, std::span<const float> x) {
  SIGNALBOX_TRY(const Quantized row, state_->quantize(x));
  const std::lock_guard writing(state_->writing);
  if (state_->places.size() >= state_->options.rows_max) {
    return fail(Code::kTooLarge, "the vector index is full with {} rows", state_->places.size());
  }
  const auto [place, is_new] = state_->places.try_emplace(id, Place{partition, 0});
  if (!is_new) return fail(Code::kInvalid, "id {} is in the vector index already", id);
  const std::lock_guard reading(state_->reading);
  auto& rows =
      state_->partitions.try_emplace(partition, *state_->table, state_->options.dim).first->second;
  place->second.slot = rows.add(id, row.point());
  return {};
}

bool VectorIndex::remove(uint64_t id) {
  const std::lock_guard writing(state_->writing);
  const auto found = state_->places.find(id);
  if (found == state_->places.end()) return false;
  const auto [partition, slot] = found->second;
  state_->places.erase(found);
  const std::lock_guard reading(state_->reading);
  const auto at = state_->partitions.find(partition);
  at->second.remove(slot);
  const VectorRows& rows = at->second.rows();
  if (slot < rows.size()) state_->places.at(rows.id(slot)).slot = slot;
  if (rows.size() == 0) state_->partitions.erase(at);
  return true;
}

Result<std::vector<Hit>> VectorIndex::search(uint64_t partition, std::span<const float> x,
                                             size_t k) const {
  SIGNALBOX_TRY(const Quantized query, state_->quantize(x));
  const std::shared_lock reading(state_->reading);
  const auto at = state_->partitions.find(partition);
  if (at == state_->partitions.end()) return std::vector<Hit>{};
  return at->second.search(query.point(), std::min(k, kHitsMax));
}

bool VectorIndex::contains(uint64_t id) const {
  const std::lock_guard writing(state_->writing);
  return state_->places.contains(id);
}

std::vector<uint64_t> VectorIndex::ids() const {
  const std::lock_guard writing(state_->writing);
  std::vector<uint64_t> out;
  out.reserve(state_->places.size());
  for (const auto& [id, place] : state_->places) out.push_back(id);
  return out;
}

size_t VectorIndex::size() const {
  const std::lock_guard writing(state_->writing);
  return state_->places.size();
}

size_t VectorIndex::bytes() const {
  // What a node of a hash table takes beside its value: a link, and a bucket's pointer.
  constexpr size_t kNode = 4 * sizeof(void*);
  const std::lock_guard writing(state_->writing);
  size_t out = sizeof(State) + state_->places.size() * (sizeof(Place) + kNode);
  for (const auto& [tag, partition] : state_->partitions) out += partition.bytes() + kNode;
  return out;
}

}  // namespace signalbox::cache
