// Every step is skipped once one has failed.

#include "engine/tensor_reader.h"

#include <algorithm>
#include <cmath>

namespace signalbox::engine {
namespace {

constexpr kernels::Format kFormats[] = {kernels::Format::kI8, kernels::Format::kBF16,
                                        kernels::Format::kF32};

double packing_error(const LinearSpec& spec, kernels::Format format, std::span<const float> w,
                     const void* packed) {
  Buffer<float> found(w.size());
  kernels::unpack_linear(format, spec.in, spec.out, packed, found.data(), spec.gated);
  double squares = 0, errors = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    squares += double{w[i]} * w[i];
    errors += (double{found[i]} - w[i]) * (double{found[i]} - w[i]);
  }
  return squares > 0 ? std::sqrt(errors / squares) : 0;
}

}  // namespace

std::string packed_name(std::string_view layer, kernels::Format format) {
  const char* suffix = format == kernels::Format::kI8     ? "int8"
                       : format == kernels::Format::kBF16 ? "bf16"
                                                          : "f32";
  return fmt::format("{}.packed_{}", layer, suffix);
}

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

Linear TensorReader::linear(const LinearSpec& spec) {
  kernels::Format format = format_;
  const void* packed = find_packed(spec, format);
  if (packed == nullptr) packed = pack(spec);
  Buffer<float> bias = spec.bias ? read_bias(spec) : Buffer<float>();
  if (!status_) return {};
  return {format, spec.in, spec.out, packed, std::move(bias)};
}

const void* TensorReader::find_packed(const LinearSpec& spec, kernels::Format& format) {
  for (const kernels::Format candidate : kFormats) {
    const std::string name = prefix_ + packed_name(spec.name, candidate);
    if (rows_of(file_, name) == 0 || !status_) continue;
    const auto found =
        file_.find(name, {kernels::packed_linear_bytes(candidate, spec.in, spec.out, spec.gated)});
    if (!found) {
      status_ = tl::unexpected<Error>(found.error());
      return nullptr;
    }
    if (reinterpret_cast<uintptr_t>(found->bytes.data()) % alignof(float) != 0) {
      status_ = fail(Code::kCorrupt, "{}: tensor \"{}\" does not begin at a multiple of 4 bytes",
                     file_.name(), name);
      return nullptr;
    }
    format = candidate;
    return found->bytes.data();
  }
  return nullptr;
}

const void* TensorReader::pack(const LinearSpec& spec) {
  const int32_t rows = spec.out / static_cast<int32_t>(spec.parts.size());  // of a part
  std::vector<std::string> sources;
  for (const std::string& part : spec.parts) {
    sources.push_back(prefix_ + part + ".weight");
    if (!expect(part + ".weight", {rows, spec.in})) return nullptr;
  }
  Buffer<float> w(static_cast<size_t>(spec.out) * spec.in);  // (out, in)
  const size_t size = static_cast<size_t>(rows) * spec.in;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    read(spec.parts[i] + ".weight", {rows, spec.in}, w.span().subspan(i * size, size));
  }
  const std::span<std::byte> packed =
      arena_.take(kernels::packed_linear_bytes(format_, spec.in, spec.out, spec.gated));
  kernels::pack_linear(format_, spec.in, spec.out, w.data(), packed.data(), spec.gated);
  if (records_) {
    packed_.push_back({prefix_ + spec.name, format_, packed,
                       packing_error(spec, format_, w.span(), packed.data()), std::move(sources)});
  }
  return packed.data();
}

Buffer<float> TensorReader::read_bias(const LinearSpec& spec) {
  const int32_t rows = spec.out / static_cast<int32_t>(spec.parts.size());
  if (!expect(spec.parts[0] + ".bias", {rows})) return {};
  Buffer<float> bias(spec.out);
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    read(spec.parts[i] + ".bias", {rows}, bias.span().subspan(i * rows, rows));
  }
  if (!status_) return {};
  Buffer<float> packed(kernels::packed_bias_size(spec.out, spec.gated));
  kernels::pack_bias(spec.out, bias.data(), packed.data(), spec.gated);
  return packed;
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
