// Checks in file order: length, JSON, each tensor's claims, and finally that the tensors tile the
// data.

#include "weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/json.h"
#include "weights/hf_names.h"
#include "weights/shard_index.h"

namespace signalbox::weights {
namespace {

constexpr size_t kLengthBytes = 8;

struct Entry {
  std::string name;
  Dtype dtype;
  Shape shape;
  uint64_t begin;  // offsets relative to the data
  uint64_t end;
};

Result<uint64_t> unsigned_member(const json::Value& value) {
  SIGNALBOX_TRY(const int64_t number, value.integer());
  if (number < 0) return fail(Code::kCorrupt, "expected at least 0, found {}", number);
  return static_cast<uint64_t>(number);
}

Result<Shape> read_shape(const json::Value& tensor) {
  const auto value = tensor.find("shape");
  if (!value || !value->is_array())
    return fail(Code::kCorrupt, "shape: expected an array of integers");
  Shape shape;
  for (const json::Value& extent : value->items()) {
    auto number = unsigned_member(extent);
    if (!number) return fail_in("shape", std::move(number).error());
    shape.push_back(static_cast<int64_t>(*number));
    if (shape.size() > kRankMax)
      return fail(Code::kCorrupt, "shape: more than {} dimensions", kRankMax);
  }
  return shape;
}

Result<Entry> read_entry(std::string_view name, const json::Value& tensor, uint64_t data_bytes) {
  const auto dtype_value = tensor.find("dtype");
  if (!dtype_value || !dtype_value->is_string())
    return fail(Code::kCorrupt, "dtype: expected a string");
  SIGNALBOX_TRY(const Dtype dtype, parse_dtype(dtype_value->text()));
  SIGNALBOX_TRY(Shape shape, read_shape(tensor));

  std::vector<uint64_t> offsets;
  if (const auto value = tensor.find("data_offsets"); value && value->is_array()) {
    for (const json::Value& item : value->items()) {
      auto number = unsigned_member(item);
      if (!number) return fail_in("data_offsets", std::move(number).error());
      offsets.push_back(*number);
    }
  }
  if (offsets.size() != 2) return fail(Code::kCorrupt, "data_offsets: expected two integers");
  if (offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return fail(Code::kCorrupt, "data_offsets [{}, {}] do not lie within the {} bytes of data",
                offsets[0], offsets[1], data_bytes);
  }
  SIGNALBOX_TRY(const uint64_t bytes, shape_bytes(dtype, shape));
  if (bytes != offsets[1] - offsets[0]) {
    return fail(Code::kCorrupt, "{} of shape {} takes {} bytes, data_offsets [{}, {}] give {}",
                dtype_name(dtype), shape_text(shape), bytes, offsets[0], offsets[1],
                offsets[1] - offsets[0]);
  }
  return Entry{std::string(name), dtype, std::move(shape), offsets[0], offsets[1]};
}

Result<std::vector<Entry>> read_header(std::string_view header, uint64_t data_bytes) {
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::string(header), {.bytes = kHeaderBytesMax, .depth = 4}));
  if (!document.root().is_object()) return fail(Code::kCorrupt, "header: expected a JSON object");
  std::vector<Entry> entries;
  for (const json::Member& member : document.root().members()) {
    if (member.key == "__metadata__") continue;
    auto entry = read_entry(member.key, member.value, data_bytes);
    if (!entry) return fail_in(fmt::format("tensor \"{}\"", member.key), std::move(entry).error());
    entries.push_back(*std::move(entry));
  }
  return entries;
}

// The format allows no gaps and no overlaps: they would hide or share bytes.
Result<void> check_tiling(std::vector<const Entry*> entries, uint64_t data_bytes) {
  std::ranges::sort(entries, {}, [](const Entry* e) { return std::pair(e->begin, e->end); });
  uint64_t end = 0;
  for (const Entry* entry : entries) {
    if (entry->begin != end) {
      return fail(Code::kCorrupt,
                  "tensor \"{}\": data_offsets begin at {}, expected {}: tensors must follow each "
                  "other without gap or overlap",
                  entry->name, entry->begin, end);
    }
    end = entry->end;
  }
  if (end != data_bytes) {
    return fail(Code::kCorrupt, "tensors end at byte {} of the data, the file has {}", end,
                data_bytes);
  }
  return {};
}

}  // namespace

Result<SafeTensors> SafeTensors::open(const std::filesystem::path& path) {
  SIGNALBOX_TRY(MappedFile mapping, MappedFile::open(path));
  TensorList list;
  SIGNALBOX_TRY_VOID(read_into(list, {mapping.data(), mapping.size()}, path.string()));
  list.keep(std::move(mapping));
  return SafeTensors(path.string(), std::move(list));
}

Result<SafeTensors> SafeTensors::open_index(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const ShardIndex index, ShardIndex::open(path));
  TensorList list;
  for (const std::filesystem::path& shard : index.files()) {
    SIGNALBOX_TRY(MappedFile mapping, MappedFile::open(shard));
    SIGNALBOX_TRY_VOID(read_into(list, {mapping.data(), mapping.size()}, shard.string()));
    list.keep(std::move(mapping));
  }
  SIGNALBOX_TRY_VOID(index.check(list));
  return SafeTensors(path.string(), std::move(list));
}

Result<SafeTensors> SafeTensors::open_directory(const std::filesystem::path& directory) {
  const auto index = directory / "model.safetensors.index.json";
  const auto single = directory / "model.safetensors";
  const bool has_index = !std::filesystem::exists(single) && std::filesystem::exists(index);
  SIGNALBOX_TRY(SafeTensors opened, has_index ? open_index(index) : open(single));
  std::string name = opened.name();
  TensorList list = std::move(opened).take();
  if (auto named = to_hf_names(list); !named) return fail_in(name, std::move(named).error());
  return SafeTensors(std::move(name), std::move(list));
}

Result<SafeTensors> SafeTensors::parse(std::span<const std::byte> file, std::string_view name) {
  TensorList list;
  SIGNALBOX_TRY_VOID(read_into(list, file, name));
  return SafeTensors(std::string(name), std::move(list));
}

Result<void> SafeTensors::read_into(TensorList& list, std::span<const std::byte> file,
                                    std::string_view name) {
  if (file.size() < kLengthBytes) {
    return fail(Code::kCorrupt, "{}: {} bytes, a safetensors file has at least {}", name,
                file.size(), kLengthBytes);
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), kLengthBytes);
  const uint64_t rest = file.size() - kLengthBytes;
  if (header_bytes > rest || header_bytes > kHeaderBytesMax) {
    return fail(Code::kCorrupt, "{}: claims a header of {} bytes, the file has {} after the length",
                name, header_bytes, rest);
  }
  const std::span<const std::byte> data = file.subspan(kLengthBytes + header_bytes);
  const std::string_view header{reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                                header_bytes};
  auto entries = read_header(header, data.size());
  if (!entries) return fail_in(name, std::move(entries).error());
  std::vector<const Entry*> pointers;
  for (const Entry& entry : *entries) pointers.push_back(&entry);
  if (auto tiled = check_tiling(std::move(pointers), data.size()); !tiled) {
    return fail_in(name, std::move(tiled).error());
  }
  for (Entry& entry : *entries) {
    auto added = list.add(std::move(entry.name), entry.dtype, std::move(entry.shape),
                          data.subspan(entry.begin, entry.end - entry.begin));
    if (!added) return fail_in(name, std::move(added).error());
  }
  return {};
}

Result<Tensor> SafeTensors::find(std::string_view name, const Shape& shape) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &Tensor::name);
  if (found == tensors_.end() || found->name != name) {
    return fail(Code::kCorrupt, "{}: tensor \"{}\" is missing, expected shape {}", file_name_, name,
                shape_text(shape));
  }
  if (!std::ranges::equal(found->shape, shape)) {
    return fail(Code::kCorrupt, "{}: tensor \"{}\" has shape {}, expected {}", file_name_, name,
                shape_text(found->shape), shape_text(shape));
  }
  return *found;
}

Result<void> SafeTensors::read(std::string_view name, const Shape& shape,
                               const kernels::Table& kernels, std::span<float> out) const {
  SIGNALBOX_TRY(const Tensor tensor, find(name, shape));
  SIGNALBOX_CHECK(tensor.size() == static_cast<int64_t>(out.size()));
  switch (tensor.dtype) {
    case Dtype::kF32:
    case Dtype::kF16:
    case Dtype::kBF16:
      widen(tensor, 0, kernels, out);
      return {};
    default:
      return fail(Code::kUnsupported, "{}: tensor \"{}\" is {}; F32, F16 and BF16 are read",
                  file_name_, name, dtype_name(tensor.dtype));
  }
}

void widen(const Tensor& tensor, int64_t begin, const kernels::Table& kernels,
           std::span<float> out) {
  const std::byte* from = tensor.bytes.data() + begin * dtype_bytes(tensor.dtype);
  const auto n = static_cast<int64_t>(out.size());
  SIGNALBOX_CHECK(begin >= 0 && begin + n <= tensor.size());
  switch (tensor.dtype) {
    case Dtype::kF32:
      std::memcpy(out.data(), from, n * sizeof(float));
      return;
    case Dtype::kF16:
      kernels.widen_f16(n, from, out.data());
      return;
    case Dtype::kBF16:
      kernels.widen_bf16(n, from, out.data());
      return;
    default:
      SIGNALBOX_CHECK(false && "a floating-point tensor");
  }
}

}  // namespace signalbox::weights
