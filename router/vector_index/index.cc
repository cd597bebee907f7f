// Maps tags to partitions and ids to places, and holds the locks for both.

#include "router/vector_index/index.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/mapped_file.h"
#include "router/vector_index/partition.h"

namespace signalbox::vector_index {
namespace {

constexpr int kLinksPerAdd = 4;

// The beginning of a snapshot. On a machine with the other byte order the version is invalid.
struct Header {
  char magic[8];
  uint32_t version;
  int32_t dim;
  uint64_t seed;
  uint64_t partitions;
  uint64_t rows;
};
constexpr std::string_view kMagic = "sbvector";
constexpr uint32_t kVersion = 1;

struct Place {
  uint64_t partition;
  Slot slot;
};

// A vector in the form in which rows are stored.
struct Quantized {
  std::vector<uint8_t> codes;
  float inverse;
  Point point() const { return {codes.data(), inverse}; }
};

}  // namespace

struct VectorIndex::State {
  VectorIndexOptions options;
  const kernels::Table* table;

  // Every writer holds `writing`, and also holds `reading` exclusively while searches could see the
  // change. `places` grows under `placing` alone, because that takes long for a large table, and
  // searches need not wait for it. cosines() holds both.
  mutable std::mutex writing;
  mutable std::mutex placing;
  mutable std::mutex turn;
  mutable std::shared_mutex reading;
  std::unordered_map<uint64_t, VectorPartition> partitions;
  std::unordered_map<uint64_t, Place> places;

  // Searches that arrive while a change waits go after it. A shared lock alone would let them pass,
  // and under enough load no change would ever get its turn.
  std::shared_lock<std::shared_mutex> lock_shared() const {
    const std::lock_guard turn_lock(turn);
    return std::shared_lock(reading);
  }
  std::unique_lock<std::shared_mutex> lock_exclusive() {
    const std::lock_guard turn_lock(turn);
    return std::unique_lock(reading);
  }

  auto place(uint64_t id, uint64_t partition) {
    const std::lock_guard lock(placing);
    return places.try_emplace(id, Place{partition, 0});
  }
  void displace(std::unordered_map<uint64_t, Place>::iterator at) {
    const std::lock_guard lock(placing);
    places.erase(at);
  }
  // Under `reading`, so that no row moves.
  std::vector<std::optional<Place>> places_of(std::span<const uint64_t> ids) const {
    std::vector<std::optional<Place>> out(ids.size());
    const std::lock_guard lock(placing);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (const auto found = places.find(ids[i]); found != places.end()) out[i] = found->second;
    }
    return out;
  }

  Result<Quantized> quantize(std::span<const float> x) const {
    if (x.size() != static_cast<size_t>(options.dim)) {
      return fail(Code::kInvalid, "a vector of {} values in an index with {} values for each row",
                  x.size(), options.dim);
    }
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    if (!std::isfinite(squares) || squares == 0) {
      return fail(Code::kInvalid, "a vector of {} values that is zero or not finite", x.size());
    }
    // Scales values of any magnitude to the range that 8 bits can hold.
    std::vector<float> unit(x.size());
    const double scale = 1 / std::sqrt(squares);
    std::ranges::transform(x, unit.begin(),
                           [&](float value) { return static_cast<float>(value * scale); });
    Quantized out{
        std::vector<uint8_t>(static_cast<size_t>(kernels::quantized_row_bytes(options.dim))), 0};
    float step;
    table->quantize_rows(1, options.dim, unit.data(), out.codes.data(), &step);
    out.inverse = VectorRows::inverse_of(*table, options.dim, out.codes.data());
    return out;
  }
};

Result<std::unique_ptr<VectorIndex>> VectorIndex::create(const VectorIndexOptions& options) {
  if (options.dim < 1 || options.dim > kDimMax) {
    return fail(Code::kInvalid, "a vector index of {} values for each row (1 to {})", options.dim,
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
  const auto [place, is_new] = state_->place(id, partition);
  if (!is_new) return fail(Code::kInvalid, "id {} is already in the vector index", id);
  VectorPartition* rows;
  {
    const auto exclusive = state_->lock_exclusive();
    rows =
        &state_->partitions.try_emplace(partition, *state_->table, state_->options).first->second;
    place->second.slot = rows->add(id, row.point());
  }
  // Links several rows, so that a graph that is started over many rows catches up with them.
  for (int linked = 0; linked < kLinksPerAdd && rows->has_unlinked_rows(); ++linked) {
    const auto plan = rows->plan_link();
    const auto exclusive = state_->lock_exclusive();
    rows->link(plan);
  }
  return {};
}

bool VectorIndex::remove(uint64_t id) {
  const std::lock_guard writing(state_->writing);
  const auto found = state_->places.find(id);
  if (found == state_->places.end()) return false;
  const auto [partition, slot] = found->second;
  state_->displace(found);
  const auto at = state_->partitions.find(partition);
  const VectorRows& rows = at->second.rows();
  const auto plan = at->second.plan_remove(slot);
  const auto exclusive = state_->lock_exclusive();
  for (const Slot moved : at->second.remove(slot, plan)) {
    if (moved < rows.size()) state_->places.at(rows.id(moved)).slot = moved;
  }
  if (rows.size() == 0) state_->partitions.erase(at);
  return true;
}

Result<std::vector<Hit>> VectorIndex::search(uint64_t partition, std::span<const float> x,
                                             size_t k) const {
  SIGNALBOX_TRY(const Quantized query, state_->quantize(x));
  const auto reading = state_->lock_shared();
  const auto at = state_->partitions.find(partition);
  if (at == state_->partitions.end()) return std::vector<Hit>{};
  return at->second.search(query.point(), std::min(k, kHitsMax));
}

// A place is added before its row and removed before its row. So this function checks the id in the
// row itself.
Result<std::vector<std::optional<float>>> VectorIndex::cosines(std::span<const uint64_t> ids,
                                                               std::span<const float> x) const {
  SIGNALBOX_TRY(const Quantized query, state_->quantize(x));
  std::vector<std::optional<float>> out(ids.size());
  const auto reading = state_->lock_shared();
  const auto places = state_->places_of(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!places[i]) continue;
    const auto at = state_->partitions.find(places[i]->partition);
    if (at == state_->partitions.end()) continue;
    const VectorRows& rows = at->second.rows();
    const Slot slot = places[i]->slot;
    if (slot < rows.size() && rows.id(slot) == ids[i])
      out[i] = std::min(rows.cosine(query.point(), slot), 1.0f);
  }
  return out;
}

Result<void> VectorIndex::save(const std::filesystem::path& path) const {
  SnapshotWriter out(path);
  {
    const std::lock_guard writing(state_->writing);
    Header header{{},
                  kVersion,
                  state_->options.dim,
                  state_->options.seed,
                  state_->partitions.size(),
                  state_->places.size()};
    kMagic.copy(header.magic, kMagic.size());
    out.put(header);
    std::vector<uint64_t> tags;
    for (const auto& [tag, partition] : state_->partitions) tags.push_back(tag);
    std::ranges::sort(tags);
    for (const uint64_t tag : tags) {
      out.put(tag);
      state_->partitions.at(tag).write(out);
    }
  }
  return out.commit();
}

Result<std::unique_ptr<VectorIndex>> VectorIndex::load(const VectorIndexOptions& options,
                                                       const std::filesystem::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  auto index = parse(options, file.text());
  if (!index) return fail_in(path.string(), std::move(index).error());
  return index;
}

Result<std::unique_ptr<VectorIndex>> VectorIndex::parse(const VectorIndexOptions& options,
                                                        std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return fail(Code::kCorrupt, "not a snapshot of vectors");
  SIGNALBOX_TRY(SnapshotReader in, SnapshotReader::open(bytes));
  SIGNALBOX_TRY(const Header header, in.get<Header>());
  if (header.version != kVersion) {
    return fail(Code::kUnsupported, "a snapshot of version {} (known: {})", header.version,
                kVersion);
  }
  if (header.dim != options.dim) {
    return fail(Code::kInvalid, "a snapshot of vectors of {} values, expected {}", header.dim,
                options.dim);
  }
  if (header.rows > options.rows_max) {
    return fail(Code::kTooLarge, "a snapshot of {} rows (at most {})", header.rows,
                options.rows_max);
  }
  VectorIndexOptions loaded = options;
  loaded.seed = header.seed;
  SIGNALBOX_TRY(auto index, create(loaded));
  State& state = *index->state_;
  for (uint64_t i = 0; i < header.partitions; ++i) {
    SIGNALBOX_TRY(const uint64_t tag, in.get<uint64_t>());
    const auto [at, is_new] = state.partitions.try_emplace(tag, *state.table, state.options);
    if (!is_new) return fail(Code::kCorrupt, "partition {} is there twice", tag);
    SIGNALBOX_TRY_VOID(at->second.read(in));
    const VectorRows& rows = at->second.rows();
    for (Slot slot = 0; slot < rows.size(); ++slot) {
      if (!state.places.try_emplace(rows.id(slot), Place{tag, slot}).second)
        return fail(Code::kCorrupt, "id {} is there twice", rows.id(slot));
    }
  }
  if (state.places.size() != header.rows || in.left() > 0) {
    return fail(Code::kCorrupt, "{} rows and {} extra bytes, expected {} rows", state.places.size(),
                in.left(), header.rows);
  }
  return index;
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

int32_t VectorIndex::dim() const {
  return state_->options.dim;
}

size_t VectorIndex::size() const {
  const std::lock_guard writing(state_->writing);
  return state_->places.size();
}

size_t VectorIndex::bytes() const {
  // The overhead of a node of a hash table: a link and a bucket's pointer.
  constexpr size_t kNode = 4 * sizeof(void*);
  const std::lock_guard writing(state_->writing);
  size_t out = sizeof(State) + state_->places.size() * (sizeof(Place) + kNode);
  for (const auto& [tag, partition] : state_->partitions) out += partition.bytes() + kNode;
  return out;
}

}  // namespace signalbox::vector_index
