// Tensors that fill whole cache lines come first, so they begin at a cache line. After them, larger
// elements come before smaller ones. Each tensor is then aligned to its element size without gaps,
// which the format does not allow.

#include "weights/safetensors_writer.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/json_writer.h"
#include "weights/safetensors.h"

namespace signalbox::weights {
namespace {

constexpr size_t kAlignment = 64;

std::vector<Tensor> in_file_order(std::span<const Tensor> tensors) {
  std::vector<Tensor> out(tensors.begin(), tensors.end());
  std::ranges::sort(out, [](const Tensor& a, const Tensor& b) {
    const bool a_whole = a.bytes.size() % kAlignment == 0;
    const bool b_whole = b.bytes.size() % kAlignment == 0;
    if (a_whole != b_whole) return a_whole;
    const size_t x = dtype_bytes(a.dtype);
    const size_t y = dtype_bytes(b.dtype);
    return x != y ? x > y : a.name < b.name;
  });
  return out;
}

// Pads the header with spaces to align the data.
std::string header_of(std::span<const Tensor> tensors) {
  json::Writer out;
  out.begin_object();
  out.key("__metadata__").begin_object().member("format", "pt").end_object();
  int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    out.key(tensor.name).begin_object().member("dtype", dtype_name(tensor.dtype));
    out.key("shape").begin_array();
    for (const int64_t extent : tensor.shape) out.integer(extent);
    out.end_array().key("data_offsets").begin_array().integer(offset);
    offset += static_cast<int64_t>(tensor.bytes.size());
    out.integer(offset).end_array().end_object();
  }
  std::string header = out.end_object().take();
  header.append((kAlignment - (sizeof(uint64_t) + header.size()) % kAlignment) % kAlignment, ' ');
  return header;
}

bool write_file(const std::filesystem::path& path, const std::string& header,
                std::span<const Tensor> tensors) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const Tensor& tensor : tensors) {
    file.write(reinterpret_cast<const char*>(tensor.bytes.data()),
               static_cast<std::streamsize>(tensor.bytes.size()));
  }
  file.close();
  return file.good();
}

Result<void> compare(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  SIGNALBOX_TRY(const SafeTensors written, SafeTensors::open(path));
  if (written.tensors().size() != tensors.size()) {
    return fail(Code::kInternal, "{} tensors were written, {} are read back", tensors.size(),
                written.tensors().size());
  }
  for (const Tensor& tensor : tensors) {
    const Shape shape(tensor.shape.begin(), tensor.shape.end());
    SIGNALBOX_TRY(const Tensor back, written.find(tensor.name, shape));
    if (back.dtype != tensor.dtype || !std::ranges::equal(back.bytes, tensor.bytes)) {
      return fail(Code::kInternal, "tensor \"{}\" differs from the written one", tensor.name);
    }
  }
  return {};
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  const std::vector<Tensor> ordered = in_file_order(tensors);
  const std::string header = header_of(ordered);
  if (header.size() > kHeaderBytesMax) {
    return fail(Code::kTooLarge, "{}: a header of {} bytes, the format allows {}", path.string(),
                header.size(), kHeaderBytesMax);
  }
  std::filesystem::path partial = path;
  partial += ".partial";
  std::error_code error;
  if (!write_file(partial, header, ordered)) {
    std::filesystem::remove(partial, error);
    return fail(Code::kIo, "{}: cannot be written", path.string());
  }
  if (auto same = compare(partial, ordered); !same) {
    std::filesystem::remove(partial, error);
    return fail_in(path.string(), std::move(same).error());
  }
  std::filesystem::rename(partial, path, error);
  if (!error) return {};
  const std::string reason = error.message();
  std::filesystem::remove(partial, error);
  return fail(Code::kIo, "{}: {}", path.string(), reason);
}

}  // namespace signalbox::weights
