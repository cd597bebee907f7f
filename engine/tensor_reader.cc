// Every step is skipped once one has failed.

#include "engine/tensor_reader.h"

#include <algorithm>

namespace signalbox::engine {

bool TensorReader::expect(const std::string& name, const weights::Shape& shape) {
  if (status_) status_ = file_.find(prefix_ + name, shape).map([](const auto&) {});
  return status_.has_value();
}

void TensorReader::read(const std::string& name, const weights::Shape& shape,
                        std::span<float> out) {
  if (status_) status_ = file_.read(prefix_ + name, shape, kernels_, out);
}

Buffer<float> TensorReader::read(const std::string& name, const weights::Shape& shape) {
  if (!expect(name, shape)) return {};
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  Buffer<float> out(size);
  read(name, shape, out.span());
  return out;
}

Linear TensorReader::linear(const std::string& name, int32_t in, int32_t out, bool bias) {
  const Buffer<float> w = read(name + ".weight", {out, in});
  Buffer<float> b = bias ? read(name + ".bias", {out}) : Buffer<float>();
  if (!status_) return {};
  return {kernels_, in, out, w, std::move(b)};
}

Linear TensorReader::linear(const std::string& name, int32_t in, int32_t out, bool bias,
                            std::span<float>& room) {
  const Buffer<float> w = read(name + ".weight", {out, in});
  return pack(in, out, w, bias ? read(name + ".bias", {out}) : Buffer<float>(), room);
}

Linear TensorReader::pack(int32_t in, int32_t out, const Buffer<float>& w, Buffer<float> bias,
                          std::span<float>& room) {
  if (!status_) return {};
  const size_t size = Linear::packed_size(kernels_, in, out);
  const std::span<float> packed = room.first(size);
  room = room.subspan(size);
  return {kernels_, in, out, w, std::move(bias), packed};
}

Norm TensorReader::norm(const std::string& name, int32_t width, bool bias) {
  Norm out;
  out.gamma = read(name + ".weight", {width});
  if (bias) {
    out.beta = read(name + ".bias", {width});
  } else {
    out.beta = Buffer<float>(width);
    std::ranges::fill(out.beta.span(), 0.0f);
  }
  return out;
}

weights::Tensor TensorReader::table(const std::string& name, const weights::Shape& shape) {
  if (!status_) return {};
  const auto found = file_.find(prefix_ + name, shape);
  if (!found) {
    status_ = tl::unexpected<Error>(found.error());
    return {};
  }
  const weights::Dtype dtype = found->dtype;
  if (dtype != weights::Dtype::kF32 && dtype != weights::Dtype::kF16 &&
      dtype != weights::Dtype::kBF16) {
    status_ = fail(Code::kUnsupported, "{}: tensor \"{}\" is {}; F32, F16 and BF16 are read",
                   file_.name(), found->name, weights::dtype_name(dtype));
  }
  return *found;
}

int64_t rows_of(const weights::SafeTensors& file, std::string_view name) {
  const auto found = std::ranges::lower_bound(file.tensors(), name, {}, &weights::Tensor::name);
  if (found == file.tensors().end() || found->name != name || found->shape.empty()) return 0;
  return found->shape[0];
}

std::string prefix_of(const weights::SafeTensors& file, std::initializer_list<const char*> prefixes,
                      std::string_view name) {
  for (const char* prefix : prefixes) {
    if (rows_of(file, fmt::format("{}{}", prefix, name)) > 0) return prefix;
  }
  return *(prefixes.end() - 1);
}

}  // namespace signalbox::engine
