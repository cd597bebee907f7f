// Checks in file order: header, metadata, each tensor's description, and finally that no two
// tensors overlap.

#include "weights/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "weights/ggml_blocks.h"

namespace signalbox::weights {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint64_t kKeysMax = 1 << 16;
constexpr uint64_t kTensorsMax = 1 << 16;
constexpr uint64_t kArrayMax = 1 << 22;  // elements, enough for a vocabulary
constexpr uint32_t kDimensionsMax = 4;
constexpr int64_t kAlignmentDefault = 32;
constexpr int64_t kAlignmentMax = 1 << 20;

namespace metadata {
enum Type : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};
}  // namespace metadata

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> file) : file_(file) {}

  size_t position() const { return position_; }

  template <class T>
  Result<T> number() {
    if (file_.size() - position_ < sizeof(T)) {
      return fail(Code::kCorrupt, "offset {}: expected {} bytes, found {}", position_, sizeof(T),
                  file_.size() - position_);
    }
    T value;
    std::memcpy(&value, file_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }

  Result<std::string_view> string() {
    SIGNALBOX_TRY(const uint64_t size, number<uint64_t>());
    if (size > file_.size() - position_) {
      return fail(Code::kCorrupt, "offset {}: a string claims {} bytes of the {} that follow",
                  position_, size, file_.size() - position_);
    }
    const std::string_view out(reinterpret_cast<const char*>(file_.data()) + position_, size);
    position_ += size;
    return out;
  }

  // Reads a number of `things` and rejects it above `limit`.
  Result<uint64_t> count(std::string_view things, uint64_t limit) {
    const size_t at = position_;
    SIGNALBOX_TRY(const uint64_t n, number<uint64_t>());
    if (n > limit) {
      return fail(Code::kCorrupt, "offset {}: {} {}, at most {} are read", at, n, things, limit);
    }
    return n;
  }

 private:
  std::span<const std::byte> file_;
  size_t position_ = 0;
};

template <class T>
Result<int64_t> integer(Cursor& in) {
  SIGNALBOX_TRY(const T value, in.number<T>());
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (value > INT64_MAX) return fail(Code::kCorrupt, "{} does not fit 63 bits", value);
  }
  return static_cast<int64_t>(value);
}

// Returns nullopt if the type is not an integer type.
Result<std::optional<int64_t>> read_integer(Cursor& in, uint32_t type) {
  const auto some = [](Result<int64_t> value) {
    return value.map([](int64_t x) { return std::optional(x); });
  };
  switch (type) {
    case metadata::kU8:
      return some(integer<uint8_t>(in));
    case metadata::kI8:
      return some(integer<int8_t>(in));
    case metadata::kU16:
      return some(integer<uint16_t>(in));
    case metadata::kI16:
      return some(integer<int16_t>(in));
    case metadata::kU32:
      return some(integer<uint32_t>(in));
    case metadata::kI32:
      return some(integer<int32_t>(in));
    case metadata::kU64:
      return some(integer<uint64_t>(in));
    case metadata::kI64:
      return some(integer<int64_t>(in));
    default:
      return std::optional<int64_t>();
  }
}

Result<double> read_real(Cursor& in, uint32_t type) {
  if (type == metadata::kF64) return in.number<double>();
  SIGNALBOX_TRY(const float value, in.number<float>());
  return double{value};
}

Result<bool> read_bool(Cursor& in) {
  const size_t at = in.position();
  SIGNALBOX_TRY(const auto value, in.number<uint8_t>());
  if (value > 1) return fail(Code::kCorrupt, "offset {}: expected 0 or 1, found {}", at, value);
  return value == 1;
}

Result<GgufValue> read_array(Cursor& in) {
  SIGNALBOX_TRY(const auto type, in.number<uint32_t>());
  SIGNALBOX_TRY(const uint64_t n, in.count("elements of an array", kArrayMax));
  std::vector<std::string_view> strings;
  std::vector<double> reals;
  std::vector<int64_t> integers;
  for (uint64_t i = 0; i < n; ++i) {
    if (type == metadata::kString) {
      SIGNALBOX_TRY(strings.emplace_back(), in.string());
    } else if (type == metadata::kF32 || type == metadata::kF64) {
      SIGNALBOX_TRY(reals.emplace_back(), read_real(in, type));
    } else if (type == metadata::kBool) {
      SIGNALBOX_TRY(integers.emplace_back(), read_bool(in));
    } else {
      SIGNALBOX_TRY(const auto value, read_integer(in, type));
      if (!value) return fail(Code::kUnsupported, "an array of type {} is not supported", type);
      integers.push_back(*value);
    }
  }
  if (type == metadata::kString) return strings;
  if (type == metadata::kF32 || type == metadata::kF64) return reals;
  return integers;
}

Result<GgufValue> read_value(Cursor& in) {
  SIGNALBOX_TRY(const auto type, in.number<uint32_t>());
  if (type == metadata::kString) return in.string();
  if (type == metadata::kArray) return read_array(in);
  if (type == metadata::kBool) return read_bool(in);
  if (type == metadata::kF32 || type == metadata::kF64) return read_real(in, type);
  SIGNALBOX_TRY(const auto value, read_integer(in, type));
  if (!value) return fail(Code::kCorrupt, "type {} is not a type of the format", type);
  return *value;
}

struct Claim {
  GgufTensor tensor;
  uint64_t offset;  // relative to the start of the data
  uint64_t bytes;
};

Result<Claim> read_claim(Cursor& in) {
  Claim out{};
  SIGNALBOX_TRY(out.tensor.name, in.string());
  const auto rest = [&]() -> Result<void> {
    SIGNALBOX_TRY(const auto dimensions, in.number<uint32_t>());
    if (dimensions > kDimensionsMax) {
      return fail(Code::kCorrupt, "{} dimensions, at most {}", dimensions, kDimensionsMax);
    }
    for (uint32_t i = 0; i < dimensions; ++i) {
      SIGNALBOX_TRY(out.tensor.shape.emplace_back(), integer<uint64_t>(in));
    }
    std::ranges::reverse(out.tensor.shape);  // the file stores the fastest dimension first
    SIGNALBOX_TRY(out.tensor.type, in.number<uint32_t>());
    SIGNALBOX_TRY(out.offset, in.number<uint64_t>());
    SIGNALBOX_TRY(out.bytes, ggml_bytes(out.tensor.type, out.tensor.shape));
    return {};
  };
  if (auto read = rest(); !read) {
    return fail_in(fmt::format("tensor \"{}\"", out.tensor.name), std::move(read).error());
  }
  return out;
}

// Overlapping tensors are rejected: a small file could otherwise widen to a very large result.
Result<void> place(std::vector<Claim>& claims, std::span<const std::byte> data, int64_t alignment) {
  std::ranges::sort(claims, {}, &Claim::offset);
  uint64_t end = 0;
  for (Claim& claim : claims) {
    const std::string_view name = claim.tensor.name;
    if (claim.offset % alignment != 0) {
      return fail(Code::kCorrupt, "tensor \"{}\": offset {} is not a multiple of {}", name,
                  claim.offset, alignment);
    }
    if (claim.offset > data.size() || claim.bytes > data.size() - claim.offset) {
      return fail(Code::kCorrupt, "tensor \"{}\": {} bytes from {} on, the data has {}", name,
                  claim.bytes, claim.offset, data.size());
    }
    if (claim.offset < end) {
      return fail(Code::kCorrupt, "tensor \"{}\": begins at {} of the data, inside another", name,
                  claim.offset);
    }
    claim.tensor.bytes = data.subspan(claim.offset, claim.bytes);
    end = claim.offset + claim.bytes;
  }
  return {};
}

// Reads up to the first metadata key. Fails for unsupported files.
Result<void> read_preamble(Cursor& in) {
  SIGNALBOX_TRY(const auto magic, in.number<uint32_t>());
  if (std::memcmp(&magic, kMagic.data(), kMagic.size()) != 0) {
    return fail(Code::kCorrupt, "does not begin with \"GGUF\"");
  }
  SIGNALBOX_TRY(const auto version, in.number<uint32_t>());
  if (version != 2 && version != 3) {
    return fail(Code::kUnsupported,
                "version {} is not supported (supported: 2 and 3, little-endian)", version);
  }
  return {};
}

}  // namespace

const GgufValue* Gguf::find(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

Result<Gguf> Gguf::parse(std::span<const std::byte> file, std::string_view name) {
  Gguf out;
  out.name_ = name;
  const auto read = [&]() -> Result<void> {
    Cursor in(file);
    SIGNALBOX_TRY_VOID(read_preamble(in));
    SIGNALBOX_TRY(const uint64_t tensors, in.count("tensors", kTensorsMax));
    SIGNALBOX_TRY(const uint64_t keys, in.count("keys", kKeysMax));
    for (uint64_t i = 0; i < keys; ++i) {
      SIGNALBOX_TRY(const std::string_view key, in.string());
      auto value = read_value(in);
      if (!value) return fail_in(fmt::format("metadata \"{}\"", key), std::move(value).error());
      if (!out.metadata_.emplace(key, *std::move(value)).second) {
        return fail(Code::kCorrupt, "metadata \"{}\" appears twice", key);
      }
    }
    std::vector<Claim> claims;
    for (uint64_t i = 0; i < tensors; ++i) {
      SIGNALBOX_TRY(Claim claim, read_claim(in));
      claims.push_back(std::move(claim));
    }
    int64_t alignment = kAlignmentDefault;
    if (const GgufValue* stated = out.find("general.alignment")) {
      const auto* number = std::get_if<int64_t>(stated);
      if (number == nullptr || *number < 1 || *number > kAlignmentMax ||
          !std::has_single_bit(static_cast<uint64_t>(*number))) {
        return fail(Code::kCorrupt, "general.alignment: expected a power of two to {}",
                    kAlignmentMax);
      }
      alignment = *number;
    }
    const size_t step = alignment;
    const size_t begin = std::min(file.size(), (in.position() + step - 1) / step * step);
    SIGNALBOX_TRY_VOID(place(claims, file.subspan(begin), alignment));
    for (Claim& claim : claims) out.tensors_.push_back(std::move(claim.tensor));
    return {};
  }();
  if (!read) return fail_in(name, read.error());
  return out;
}

Result<TensorList> gguf_tensors(const Gguf& file) {
  TensorList out;
  for (const GgufTensor& tensor : file.tensors()) {
    auto added = ggml_plain_dtype(tensor.type)
                     ? out.add(std::string(tensor.name), *ggml_plain_dtype(tensor.type),
                               tensor.shape, tensor.bytes)
                     : out.add(std::string(tensor.name), Dtype::kF32, tensor.shape,
                               ggml_widen(tensor.type, tensor.bytes));
    if (!added) return fail_in(file.name(), std::move(added).error());
  }
  return out;
}

}  // namespace signalbox::weights
