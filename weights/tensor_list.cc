// Uses a map because its nodes do not move: tensors view the names and shapes in place.

#include "weights/tensor_list.h"

#include <algorithm>
#include <utility>

namespace signalbox::weights {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

Result<void> TensorList::check_name(std::string_view name) const {
  if (name.empty()) return fail(Code::kCorrupt, "a tensor without a name");
  if (const auto found = std::ranges::find_if(name, is_control); found != name.end()) {
    return fail(Code::kCorrupt, "a tensor's name has the byte {:#04x} at {}",
                static_cast<int>(*found), found - name.begin());
  }
  if (has(name)) return fail(Code::kCorrupt, "tensor \"{}\" appears twice", name);
  return {};
}

Result<void> TensorList::add(std::string name, Dtype dtype, Shape shape,
                             std::span<const std::byte> bytes) {
  SIGNALBOX_TRY_VOID(check_name(name));
  const auto expected = shape_bytes(dtype, shape);
  if (!expected) return fail_in(fmt::format("tensor \"{}\"", name), expected.error());
  if (*expected != bytes.size()) {
    return fail(Code::kCorrupt, "tensor \"{}\": {} of shape {} takes {} bytes, found {}", name,
                dtype_name(dtype), shape_text(shape), *expected, bytes.size());
  }
  entries_.emplace(std::move(name), Entry{dtype, std::move(shape), bytes, {}});
  return {};
}

Result<void> TensorList::add(std::string name, Dtype dtype, Shape shape,
                             std::vector<std::byte> bytes) {
  const std::string key = name;
  SIGNALBOX_TRY_VOID(add(std::move(name), dtype, std::move(shape), std::span(bytes)));
  entries_.find(key)->second.own = std::move(bytes);
  return {};
}

Result<void> TensorList::rename(const std::string& from, std::string to) {
  if (from == to) return {};
  SIGNALBOX_TRY_VOID(check_name(to));
  auto node = entries_.extract(from);
  SIGNALBOX_CHECK(!node.empty());
  node.key() = std::move(to);
  entries_.insert(std::move(node));
  return {};
}

uint64_t TensorList::kept_bytes() const {
  uint64_t out = 0;
  for (const MappedFile& file : files_) out += file.size();
  return out;
}

std::vector<Tensor> TensorList::tensors() const {
  std::vector<Tensor> out;
  out.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    out.push_back({name, entry.dtype, entry.shape, entry.bytes});
  }
  return out;
}

}  // namespace signalbox::weights
