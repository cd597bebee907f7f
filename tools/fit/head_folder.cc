// A folder is taken over only where a head of ours is, which its configuration says, or what is
// left of one: weights of a classifier alone.

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

// The engine finds the trunk by it (engine/model_path), and a head that was fitted is known by it.
constexpr const char* kTrunkKey = "signalbox_trunk";

constexpr const char *kConfig = "config.json", *kWeights = "model.safetensors";
constexpr const char *kBias = "classifier.bias", *kMatrix = "classifier.weight";

// Seen from the head.
std::string trunk_from(const FitOptions& options, const engine::ModelPath& path) {
  const auto trunk = fs::absolute(path.base()).lexically_normal();
  return trunk.lexically_relative(fs::absolute(options.out).lexically_normal()).string();
}

/// A file beside the one that it shall replace; gone when it does not.
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

// Without a configuration nothing is opened, so a fit that ends between the two leaves no old names
// on new weights.
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

// Of a fit that ended between its two files.
bool is_rest_of_a_head(const fs::path& head) {
  const auto file = weights::SafeTensors::open(head / kWeights);
  return file && file->tensors().size() == 2 && file->tensors()[0].name == kBias &&
         file->tensors()[1].name == kMatrix;
}

// Whether a fit may not write here: something is there that none has written.
bool is_foreign(const fs::path& out) {
  std::error_code error;
  if (fs::exists(out / kConfig, error)) return !was_fitted(out);
  return fs::exists(out / kWeights, error) && !is_rest_of_a_head(out);
}

}  // namespace

bool was_fitted(const fs::path& head) {
  const auto config = weights::HfConfig::open(head / kConfig);
  return config && !config->root().string(kTrunkKey, "").value_or("").empty();
}

Result<void> check_out(const FitOptions& options) {
  const fs::path& out = options.out;
  std::error_code error;
  if (fs::exists(out / "adapter_config.json", error))
    return fail(Code::kInvalid, "{}: an adapter is there, expected a folder for the head alone",
                out.string());
  if (is_foreign(out)) {
    return fail(Code::kInvalid,
                "{}: a model is there that `signalbox fit` has not written, expected a folder for "
                "the head alone",
                out.string());
  }
  // It would be taken for a head of that adapter, by whatever link it was named.
  fs::path real = fs::absolute(out).lexically_normal();
  if (!real.has_filename()) real = real.parent_path();
  const fs::path parent = fs::weakly_canonical(real, error).parent_path();
  SIGNALBOX_TRY(const auto path, engine::find_model(options.trunk));
  if (fs::exists(parent / "adapter_config.json", error) &&
      !fs::equivalent(parent, path.base(), error)) {
    return fail(Code::kInvalid, "{}: lies in an adapter, and the head would be for {}",
                out.string(), path.base().string());
  }
  // Nothing is made yet: the data may turn out wrong.
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
