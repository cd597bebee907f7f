// Arranges an adapter's matrices in the trunk's order, and multiplies by the first of each pair.

#include "engine/adapter.h"

#include <algorithm>

namespace signalbox::engine {
namespace {

using weights::LoraLayer;

// Returns the adapter's layer for each part of a linear layer, or null for parts without one.
std::vector<const LoraLayer*> parts_of(const LinearSpec& spec, weights::LoraUse& use) {
  std::vector<const LoraLayer*> out;
  for (const std::string& part : spec.parts) out.push_back(use.layer(part));
  return out;
}

// Stacks the first matrices of all parts vertically and applies the scale: (rank, in).
std::vector<float> stack_down(const std::vector<const LoraLayer*>& parts, int64_t rank, int64_t in,
                              const kernels::Table& kernels) {
  std::vector<float> out(rank * in);
  auto to = std::span(out);
  for (const LoraLayer* part : parts) {
    if (part == nullptr) continue;
    const auto own = to.first(part->a.size());
    widen(part->a, 0, kernels, own);
    for (float& x : own) x *= part->scale;
    to = to.subspan(own.size());
  }
  return out;
}

// Combines the second matrices: each part's is at the rows of its outputs and the columns of its
// rank, with zeros elsewhere: (out, rank).
std::vector<float> stack_up(const std::vector<const LoraLayer*>& parts, int64_t rank,
                            const LinearSpec& spec, const kernels::Table& kernels) {
  std::vector<float> all(spec.out * rank), own;
  int64_t row = 0, column = 0;
  for (size_t i = 0; i < parts.size(); row += spec.rows_of(i), ++i) {
    if (parts[i] == nullptr) continue;
    const int64_t rows = spec.rows_of(i);
    const int64_t width = parts[i]->rank();
    own.resize(rows * width);
    widen(parts[i]->b, 0, kernels, own);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(own.begin() + r * width, width, all.begin() + (row + r) * rank + column);
    }
    column += width;
  }
  return all;
}

}  // namespace

Result<Adapter> Adapter::open(weights::LoraUse& use, std::span<const LinearSpec> linears,
                              const kernels::Table& kernels) {
  constexpr auto kFormat = kernels::Format::kF32;
  Adapter out;
  for (const LinearSpec& spec : linears) {
    const auto parts = parts_of(spec, use);
    int32_t rank = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == nullptr) continue;
      SIGNALBOX_TRY_VOID(use.adapter().check(*parts[i], spec.rows_of(i), spec.in));
      if (static_cast<int32_t>(i) < spec.fixed_parts) {
        return fail(Code::kUnsupported,
                    "{}: the model has values computed with \"{}\", so an adapter that changes it "
                    "cannot share the trunk; merge this adapter instead",
                    use.adapter().name(), spec.parts[i]);
      }
      rank += static_cast<int32_t>(parts[i]->rank());
    }
    out.pairs_.emplace_back();
    if (rank == 0) continue;
    const auto down = stack_down(parts, rank, spec.in, kernels);
    const auto up = stack_up(parts, rank, spec, kernels);
    const auto packed_down = out.arena_.take(packed_linear_bytes(kFormat, spec.in, rank));
    const auto packed_up =
        out.arena_.take(packed_linear_bytes(kFormat, rank, spec.out, spec.gated));
    pack_linear(kFormat, spec.in, rank, down.data(), packed_down.data());
    pack_linear(kFormat, rank, spec.out, up.data(), packed_up.data(), spec.gated);
    out.pairs_.back() = Pair{Linear(kFormat, spec.in, rank, packed_down.data(), {}), packed_up};
    out.rank_max_ = std::max(out.rank_max_, rank);
  }
  return out;
}

const kernels::LowRank* reduce_rows(const Linear& layer, const kernels::Table& kernels,
                                    const Batch& batch, int64_t begin, int32_t rows, const float* x,
                                    LowRankScratch& scratch) {
  if (!batch.is_adapted()) return nullptr;
  bool any = false;
  for (int32_t row = 0; row < rows;) {
    int32_t sequence = batch.sequence_of(static_cast<int32_t>(begin) + row);
    const Adapter* adapter = batch.adapters[sequence];
    while (sequence + 1 < batch.sequences() && batch.adapters[sequence + 1] == adapter) ++sequence;
    const auto end =
        static_cast<int32_t>(std::min<int64_t>(rows, batch.starts[sequence + 1] - begin));
    const Adapter::Pair* pair = adapter == nullptr ? nullptr : adapter->pair(layer.place());
    if (pair == nullptr) {
      std::fill(scratch.rows.begin() + row, scratch.rows.begin() + end, kernels::LowRank{});
      row = end;
      continue;
    }
    const int32_t rank = pair->down.out();
    float* reduced = scratch.reduced.data() + int64_t{row} * adapter->rank_max();  // (rows, rank)
    Operands unused;
    pair->down.apply(kernels, end - row, x + int64_t{row} * layer.in(), kernels::Finish::kStore,
                     unused, reduced);
    for (; row < end; ++row, reduced += rank) scratch.rows[row] = {rank, reduced, pair->up.data()};
    any = true;
  }
  return any ? scratch.rows.data() : nullptr;
}

}  // namespace signalbox::engine
