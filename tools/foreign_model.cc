// One reader per format; all of them return the same structure.

#include "tools/foreign_model.h"

#include <algorithm>
#include <vector>

#include "base/mapped_file.h"
#include "tools/gguf_to_hf.h"
#include "weights/hf_names.h"
#include "weights/onnx.h"
#include "weights/safetensors.h"
#include "weights/torch_pickle.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

// In the order in which a directory is searched.
constexpr const char* kKnownFiles[] = {"model.safetensors", "model.safetensors.index.json",
                                       "pytorch_model.bin", "pytorch_model.bin.index.json",
                                       "model.onnx",        "onnx/model.onnx"};

Result<ForeignModel> read_gguf(const fs::path& path) {
  SIGNALBOX_TRY(MappedFile mapping, MappedFile::open(path));
  SIGNALBOX_TRY(const auto file,
                weights::Gguf::parse({mapping.data(), mapping.size()}, path.string()));
  ForeignModel out;
  SIGNALBOX_TRY(out.tensors, weights::gguf_tensors(file));
  SIGNALBOX_TRY_VOID(weights::rename_gguf_tensors(file, out.tensors));
  SIGNALBOX_TRY(out.files, gguf_to_hf(file, out.tensors));
  out.tensors.keep(std::move(mapping));
  return out;
}

Result<weights::TensorList> read_tensors(const fs::path& file, ModelFormat format) {
  switch (format) {
    case ModelFormat::kOnnx:
      return weights::open_onnx(file);
    case ModelFormat::kTorch:
      return weights::open_torch(file);
    case ModelFormat::kTorchIndex:
      return weights::open_torch_index(file);
    case ModelFormat::kSafetensorsIndex: {
      SIGNALBOX_TRY(auto opened, weights::SafeTensors::open_index(file));
      return std::move(opened).take();
    }
    default: {
      SIGNALBOX_TRY(auto opened, weights::SafeTensors::open(file));
      return std::move(opened).take();
    }
  }
}

}  // namespace

std::string_view format_name(ModelFormat format) {
  switch (format) {
    case ModelFormat::kOnnx:
      return "onnx";
    case ModelFormat::kGguf:
      return "gguf";
    case ModelFormat::kTorch:
    case ModelFormat::kTorchIndex:
      return "pytorch";
    default:
      return "safetensors";
  }
}

Result<fs::path> weights_file(const fs::path& in) {
  if (!fs::is_directory(in)) return in;
  for (const char* name : kKnownFiles) {
    if (fs::exists(in / name)) return in / name;
  }
  std::vector<fs::path> gguf;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(in, error)) {
    if (entry.path().extension() == ".gguf") gguf.push_back(entry.path());
  }
  if (gguf.size() == 1) return gguf[0];
  return fail(Code::kNotFound, "{}: {}", in.string(),
              gguf.empty() ? "no weights file with a known name in it"
                           : "several GGUF files in it; name one of them");
}

std::optional<ModelFormat> model_format(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".onnx")) return ModelFormat::kOnnx;
  if (name.ends_with(".safetensors.index.json")) return ModelFormat::kSafetensorsIndex;
  if (name.ends_with(".bin.index.json")) return ModelFormat::kTorchIndex;
  const auto mapped = MappedFile::open(file);
  if (!mapped) return std::nullopt;
  const std::string_view head = mapped->text().substr(0, 9);
  if (head.starts_with("GGUF")) return ModelFormat::kGguf;
  if (head.starts_with("PK\x03\x04") || head.starts_with("\x80\x02")) return ModelFormat::kTorch;
  if (name.ends_with(".safetensors") || (head.size() == 9 && head[8] == '{' && head[7] == '\0')) {
    return ModelFormat::kSafetensors;
  }
  return std::nullopt;
}

Result<ForeignModel> read_foreign_model(const fs::path& file, ModelFormat format) {
  ForeignModel out;
  if (format == ModelFormat::kGguf) {
    SIGNALBOX_TRY(out, read_gguf(file));
  } else {
    SIGNALBOX_TRY(out.tensors, read_tensors(file, format));
  }
  if (auto named = weights::to_hf_names(out.tensors); !named) {
    return fail_in(file.string(), std::move(named).error());
  }
  return out;
}

}  // namespace signalbox::tools
