// Overwrites a folder only if its configuration shows that a fit wrote the head in it, or if it
// contains the remains of a fit, which are a weights file with only a classifier.

#include "tools/fit/head_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "engine/model_path.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"
#include "weights/safetensors_writer.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

// The engine finds the trunk by this key (engine/model_path). The key also marks heads that a fit
// wrote.
constexpr const char* kTrunkKey = "signalbox_trunk";

constexpr const char *kConfig = "config.json", *kWeights = "model.safetensors";
constexpr const char *kBias = "classifier.bias", *kMatrix = "classifier.weight";

// The path of the trunk relative to the head.
std::string trunk_from(const FitOptions& options, const engine::ModelPath& path) {
  const auto trunk = fs::absolute(path.base()).lexically_normal();
  return trunk.lexically_relative(fs::absolute(options.out).lexically_normal()).string();
}

/// A temporary file next to the file that it will replace; removed if it does not replace it.
class NewFile {
 public:
  explicit NewFile(const fs::path& target)
      : target_(target),
        path_(target.parent_path() / fmt::format(".{}.fit", target.filename().string())) {}
  ~NewFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const fs::path& path() const { return path_; }
  Result<void> put() const {
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error) return fail(Code::kIo, "{}: {}", target_.string(), error.message());
    return {};
  }

 private:
  fs::path target_, path_;
};

// Removes the old configuration first. A head without a configuration cannot be opened, so a fit
// that stops halfway never leaves the old label names with the new weights.
Result<void> replace_head(const fs::path& head, const NewFile& weights, const NewFile& config) {
  const fs::path current = head / kConfig, aside = head / ".config.json.old";
  std::error_code error;
  fs::rename(current, aside, error);
  const bool was_there = !error;
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(Code::kIo, "{}: {}", current.string(), error.message());
  auto put = weights.put();
  if (put) {
    put = config.put();
    fs::remove(aside, error);
  } else if (was_there) {
    fs::rename(aside, current, error);
  }
  return put;
}

// Recognises the remains of a fit that stopped between its two files.
bool is_partial_head(const fs::path& head) {
  const auto file = weights::SafeTensors::open(head / kWeights);
  return file && file->tensors().size() == 2 && file->tensors()[0].name == kBias &&
         file->tensors()[1].name == kMatrix;
}

// Returns true if a fit must not write here, because the folder contains files of another origin.
bool is_foreign(const fs::path& out) {
  std::error_code error;
  if (fs::exists(out / kConfig, error)) return !is_fitted_head(out);
  return fs::exists(out / kWeights, error) && !is_partial_head(out);
}

}  // namespace

bool is_fitted_head(const fs::path& head) {
  const auto config = weights::HfConfig::open(head / kConfig);
  return config && !config->root().string(kTrunkKey, "").value_or("").empty();
}

Result<void> check_output(const FitOptions& options) {
  const fs::path& out = options.out;
  std::error_code error;
  if (fs::exists(out / "adapter_config.json", error))
    return fail(Code::kInvalid, "{}: contains an adapter; expected a folder for the head alone",
                out.string());
  if (is_foreign(out)) {
    return fail(
        Code::kInvalid,
        "{}: contains a model that `signalbox fit` did not write; expected a folder for the "
        "head alone",
        out.string());
  }
  // In an adapter's folder, the engine would take the head for one of that adapter, even through a
  // link.
  fs::path real = fs::absolute(out).lexically_normal();
  if (!real.has_filename()) real = real.parent_path();
  const fs::path parent = fs::weakly_canonical(real, error).parent_path();
  SIGNALBOX_TRY(const auto path, engine::find_model(options.trunk));
  if (fs::exists(parent / "adapter_config.json", error) &&
      !fs::equivalent(parent, path.base(), error)) {
    return fail(Code::kInvalid, "{}: lies in an adapter's folder, but the head is for {}",
                out.string(), path.base().string());
  }
  // Do not create anything yet: the data may turn out to be invalid.
  fs::path there = fs::absolute(out).lexically_normal();
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    return fail(Code::kInvalid, "{}: {} is a file, expected a directory", out.string(),
                there.string());
  if (::access(there.c_str(), W_OK | X_OK) == 0) return {};
  return fail(Code::kIo, "{}: {}: {}", out.string(), there.string(), std::strerror(errno));
}

Result<void> write_head(const FitOptions& options, const char* architecture,
                        const std::vector<std::string>& labels, const LinearClassifier& layer) {
  SIGNALBOX_TRY(const auto path, engine::find_model(options.trunk));
  SIGNALBOX_TRY(const auto trunk, weights::HfConfig::open(path.trunk / "config.json"));
  SIGNALBOX_TRY(const std::string type, trunk.root().string("model_type", ""));
  json::Writer config;
  config.begin_object().member("model_type", type);
  config.key("architectures").begin_array().string(architecture).end_array();
  config.member(kTrunkKey, trunk_from(options, path));
  config.member("hidden_size", layer.dim).member("num_labels", layer.classes);
  config.member("classifier_pooling", options.first_token ? "cls" : "mean");
  config.member("classifier_normalize", true);
  config.key("id2label").begin_object();
  for (size_t i = 0; i < labels.size(); ++i) config.member(std::to_string(i), labels[i]);
  config.end_object().end_object();
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error) return fail(Code::kIo, "{}: {}", options.out.string(), error.message());
  const std::array<int64_t, 2> shape{layer.classes, layer.dim};
  const auto bytes = [](const std::vector<float>& v) { return std::as_bytes(std::span(v)); };
  const std::array tensors{
      weights::Tensor{kBias, weights::Dtype::kF32, std::span(shape).first(1), bytes(layer.bias)},
      weights::Tensor{kMatrix, weights::Dtype::kF32, shape, bytes(layer.weight)}};
  const NewFile weights_file(options.out / kWeights), config_file(options.out / kConfig);
  auto written = weights::write_safetensors(weights_file.path(), tensors);
  if (written) written = write_file(config_file.path(), config.take() + "\n");
  if (!written) return fail_in(options.out.string(), std::move(written).error());
  return replace_head(options.out, weights_file, config_file);
}

}  // namespace signalbox::tools
