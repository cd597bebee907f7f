// After a failure all further steps are skipped.

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

// Turns w (rows, in / taps, taps) into (rows, taps, in / taps) in place.
void group_by_tap(const LinearSpec& spec, std::span<float> w) {
  std::vector<float> row(spec.in);
  const int32_t width = spec.in / spec.taps;
  for (size_t at = 0; at < w.size(); at += row.size()) {
    std::copy_n(w.begin() + at, row.size(), row.begin());
    for (int32_t i = 0; i < spec.in; ++i)
      w[at + int64_t{i % spec.taps} * width + i / spec.taps] = row[i];
  }
}

}  // namespace

std::string packed_name(std::string_view layer, kernels::Format format) {
  const char* suffix = format == kernels::Format::kI8     ? "int8"
                       : format == kernels::Format::kBF16 ? "bf16"
                                                          : "f32";
  return fmt::format("{}.packed_{}", layer, suffix);
}

TensorReader::Place TensorReader::place_of(const std::string& name) const {
  if (merge_ != nullptr) {
    const weights::Tensor* replacement = merge_->replacement(prefix_ + name);
    if (replacement != nullptr) return {merge_->adapter().file(), std::string(replacement->name)};
  }
  return {file_, prefix_ + name};
}

bool TensorReader::expect(const std::string& name, const weights::Shape& shape) {
  const Place at = place_of(name);
  if (status_) status_ = at.file.find(at.name, shape).map([](const auto&) {});
  return status_.has_value();
}

int64_t TensorReader::rows(const std::string& name) const {
  const Place at = place_of(name);
  return rows_of(at.file, at.name);
}

void TensorReader::read(const std::string& name, const weights::Shape& shape,
                        std::span<float> out) {
  const Place at = place_of(name);
  if (status_) status_ = at.file.read(at.name, shape, kernels_, out);
  if (!status_) return;
  const auto wrong = std::ranges::find_if(out, [](float x) { return !std::isfinite(x); });
  if (wrong == out.end()) return;
  status_ = fail(Code::kCorrupt, "{}: tensor \"{}\": value {} is not finite", at.file.name(),
                 at.name, wrong - out.begin());
}

Buffer<float> TensorReader::read(const std::string& name, const weights::Shape& shape) {
  if (!expect(name, shape)) return {};
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  Buffer<float> out(size);
  read(name, shape, out.span());
  held_bytes_ += out.span().size_bytes();
  return out;
}

Linear TensorReader::linear(const LinearSpec& spec) {
  kernels::Format format = format_;
  const void* packed = find_packed(spec, format);
  if (packed == nullptr) packed = pack(spec);
  Buffer<float> bias = spec.bias ? read_bias(spec) : Buffer<float>();
  if (!status_) return {};
  const auto place = static_cast<int32_t>(linears_.size());
  linears_.push_back(spec);
  for (std::string& part : linears_.back().parts) part.insert(0, prefix_);
  return {format, spec.in, spec.out, packed, std::move(bias), place};
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
    for (const std::string& part : spec.parts) {
      if (merge_ == nullptr || merge_->layer(prefix_ + part) == nullptr) continue;
      status_ = fail(Code::kUnsupported,
                     "{}: tensor \"{}\" is packed: \"{}\" of {} cannot be merged into it; "
                     "merge the adapter before packing",
                     file_.name(), name, prefix_ + part, merge_->adapter().name());
      return nullptr;
    }
    if (auto sound = check_packed(*found, candidate, spec); !sound) {
      status_ = fail_in(file_.name(), std::move(sound).error());
      return nullptr;
    }
    format = candidate;
    held_bytes_ += found->bytes.size();
    return found->bytes.data();
  }
  return nullptr;
}

// Checks only the scales. Other values can be any bytes, or are detected in the results.
Result<void> TensorReader::check_packed(const weights::Tensor& tensor, kernels::Format format,
                                        const LinearSpec& spec) {
  if (kernels::has_finite_scales(format, spec.in, spec.out, tensor.bytes.data(), spec.gated)) {
    return {};
  }
  return fail(Code::kCorrupt, "tensor \"{}\": a scale is not finite", tensor.name);
}

weights::Shape TensorReader::shape_of(const LinearSpec& spec, size_t part) {
  if (spec.taps > 1) return {spec.rows_of(part), spec.in / spec.taps, spec.taps};
  return {spec.rows_of(part), spec.in};
}

const void* TensorReader::pack(const LinearSpec& spec) {
  std::vector<std::string> sources;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    sources.push_back(prefix_ + spec.parts[i] + ".weight");
    if (!expect(spec.parts[i] + ".weight", shape_of(spec, i))) return nullptr;
  }
  Buffer<float> w(static_cast<size_t>(spec.out) * spec.in);  // (out, in)
  std::span<float> rest = w.span();
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    const int32_t rows = spec.rows_of(i);
    const std::span<float> part = rest.first(static_cast<size_t>(rows) * spec.in);  // (rows, in)
    rest = rest.subspan(part.size());
    read(spec.parts[i] + ".weight", shape_of(spec, i), part);
    if (spec.taps > 1) group_by_tap(spec, part);
    if (status_ && merge_ != nullptr) merge(prefix_ + spec.parts[i], rows, spec.in, part);
  }
  if (!status_) return nullptr;
  const std::span<std::byte> packed =
      arena_.take(kernels::packed_linear_bytes(format_, spec.in, spec.out, spec.gated));
  kernels::pack_linear(format_, spec.in, spec.out, w.data(), packed.data(), spec.gated);
  held_bytes_ += packed.size();
  if (records_) {
    packed_.push_back({prefix_ + spec.name, format_, packed,
                       packing_error(spec, format_, w.span(), packed.data()), std::move(sources)});
  }
  return packed.data();
}

Linear TensorReader::packed(int32_t in, int32_t out, const Buffer<float>& w,
                            const Buffer<float>& bias) {
  if (!status_) return {};
  const size_t bytes = kernels::packed_linear_bytes(kernels::Format::kF32, in, out);
  return pack_f32(in, out, w.span(), bias.span(), arena_.take(bytes).data());
}

void TensorReader::merge(const std::string& path, int32_t out, int32_t in, std::span<float> w) {
  const weights::LoraLayer* layer = merge_->layer(path);
  if (layer == nullptr) return;
  status_ = merge_->adapter().check(*layer, out, in);
  if (status_) weights::add_product(*layer, kernels_, w);
}

Buffer<float> TensorReader::read_bias(const LinearSpec& spec) {
  if (!expect(spec.parts[0] + ".bias", {spec.rows_of(0)})) return {};
  Buffer<float> bias(spec.out);
  std::span<float> rest = bias.span();
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    const int32_t rows = spec.rows_of(i);
    read(spec.parts[i] + ".bias", {rows}, rest.first(rows));
    rest = rest.subspan(rows);
  }
  if (!status_) return {};
  Buffer<float> packed(kernels::packed_bias_size(spec.out, spec.gated));
  kernels::pack_bias(spec.out, bias.data(), packed.data(), spec.gated);
  held_bytes_ += packed.span().size_bytes();
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

RmsNorm TensorReader::rms_norm(const std::string& name, int32_t width, float offset, float factor) {
  RmsNorm out{read(name + ".weight", {width})};
  for (float& gamma : out.gamma.span()) gamma = (offset + gamma) * factor;
  return out;
}

weights::Tensor TensorReader::table(const std::string& name, const weights::Shape& shape) {
  if (!status_) return {};
  const Place at = place_of(name);
  const auto found = at.file.find(at.name, shape);
  if (!found) {
    status_ = tl::unexpected<Error>(found.error());
    return {};
  }
  const weights::Dtype dtype = found->dtype;
  if (dtype != weights::Dtype::kF32 && dtype != weights::Dtype::kF16 &&
      dtype != weights::Dtype::kBF16) {
    status_ = fail(Code::kUnsupported, "{}: tensor \"{}\" is {}; F32, F16 and BF16 are read",
                   at.file.name(), found->name, weights::dtype_name(dtype));
  }
  held_bytes_ += found->bytes.size();
  return *found;
}

int64_t rows_of(const weights::SafeTensors& file, std::string_view name) {
  const auto found = std::ranges::lower_bound(file.tensors(), name, {}, &weights::Tensor::name);
  if (found == file.tensors().end() || found->name != name || found->shape.empty()) return 0;
  return found->shape[0];
}

std::string prefix_of(const weights::SafeTensors& file, const std::vector<const char*>& prefixes,
                      std::string_view name) {
  for (const char* prefix : prefixes) {
    if (rows_of(file, fmt::format("{}{}", prefix, name)) > 0) return prefix;
  }
  return prefixes.back();
}

}  // namespace signalbox::engine
