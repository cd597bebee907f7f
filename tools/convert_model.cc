// Writes the small files first and the weights last, so a directory that has weights is complete.

#include "tools/convert_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "engine/engine.h"
#include "engine/pack_model.h"
#include "engine/pooling_config.h"
#include "engine/prompts.h"
#include "tools/vocabulary/make_tokenizer.h"
#include "tools/vocabulary/vocabulary_files.h"
#include "weights/hf_config.h"
#include "weights/lora.h"
#include "weights/safetensors_writer.h"
#include "weights/shard_index.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kGlinerConfig = "gliner_config.json";  // may hold the encoder's config.json
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kTokenizer = "tokenizer.json";
constexpr const char* kModules = "modules.json";
// Names of labels. Those of an adapter replace those of its model.
constexpr const char* kLabelFiles[] = {"category_mapping.json", "pii_type_mapping.json",
                                       "jailbreak_type_mapping.json"};
// Files that are copied if they exist. Only config.json is required, or gliner_config.json.
constexpr const char* kCompanions[] = {
    kTokenizer, kTokenizerConfigFile, kSpecialTokensFile,  kAddedTokensFile,
    kModules,   kGlinerConfig,        engine::kPromptsFile};
// Four-bit weights grow to 32 bits. The limit is needed because tensors that share bytes are each
// written in full, so a small file could otherwise request any amount of output.
constexpr uint64_t kGrowthMax = 16;
constexpr size_t kCompanionBytesMax = size_t{256} << 20;

Result<std::string> read_text(const fs::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  if (file.size() <= kCompanionBytesMax) return std::string(file.text());
  return fail(Code::kTooLarge, "{}: {} bytes, at most {} are read", path.string(), file.size(),
              kCompanionBytesMax);
}

// Model hubs store model.onnx in onnx/, a subfolder of the model's folder.
std::vector<fs::path> search_folders(const fs::path& file, ModelFormat format) {
  const fs::path folder = fs::absolute(file).parent_path();
  if (format == ModelFormat::kOnnx) return {folder, folder.parent_path()};
  return {folder};
}

// Reads one of the model's files into `files`. Returns false if no place contains it.
Result<bool> read_companion(const std::string& name, const std::vector<fs::path>& places,
                            std::map<std::string, std::string>& files) {
  for (const fs::path& place : places) {
    if (!fs::exists(place / name)) continue;
    SIGNALBOX_TRY(files[name], read_text(place / name));
    return true;
  }
  return false;
}

// Reads the files of each step that modules.json names; each step has its own subfolder. The engine
// reads the weights of dense layers only.
Result<void> read_modules(const std::vector<fs::path>& places,
                          std::map<std::string, std::string>& files) {
  const auto modules = json::Document::parse(files.at(kModules));
  if (!modules) return fail_in(kModules, modules.error());
  for (const json::Value& module : modules->root().items()) {
    const auto path = module.find("path");
    if (!path || !path->is_string() || path->text().empty()) continue;
    if (auto beside = weights::file_beside(kModules, path->text()); !beside) {
      return fail_in(fmt::format("{}: path", kModules), std::move(beside).error());
    }
    const std::string folder = fmt::format("{}/", path->text());
    SIGNALBOX_TRY_VOID(read_companion(folder + kConfig, places, files));
    const auto type = module.find("type");
    if (!type || !type->is_string() || engine::module_kind(type->text()) != "Dense") continue;
    SIGNALBOX_TRY(const bool found, read_companion(folder + kWeights, places, files));
    if (!found) SIGNALBOX_TRY_VOID(read_companion(folder + "pytorch_model.bin", places, files));
  }
  return {};
}

// Makes a tokenizer.json from a vocabulary beside the weights, if there is one of a known class.
Result<void> make_tokenizer_file(const std::vector<fs::path>& places,
                                 const ConvertModelOptions& options,
                                 std::map<std::string, std::string>& files) {
  const auto place_of = [&](const std::string& name) {
    return std::ranges::find_if(places,
                                [&](const fs::path& place) { return fs::exists(place / name); });
  };
  const ModelFiles model{.has =
                             [&](const std::string& name) {
                               return files.contains(name) || place_of(name) != places.end();
                             },
                         .read = [&](const std::string& name) -> Result<std::string> {
                           if (const auto found = files.find(name); found != files.end())
                             return found->second;
                           return read_text(*place_of(name) / name);
                         }};
  SIGNALBOX_TRY(const VocabularyChoice choice, choose_vocabulary(model));
  if (choice.found != nullptr) {
    SIGNALBOX_TRY(files[kTokenizer], make_tokenizer(*choice.found, model));
    return {};
  }
  options.print(
      fmt::format("found no tokenizer.json: add one to OUT, or the model can read only token ids, "
                  "not text ({})",
                  choice.reason));
  return {};
}

Result<void> gather_files(const fs::path& file, ModelFormat format,
                          const ConvertModelOptions& options,
                          std::map<std::string, std::string>& files) {
  const std::vector<fs::path> places = search_folders(file, format);
  if (!options.config.empty()) {
    SIGNALBOX_TRY(files[kConfig], read_text(options.config));
  } else if (!files.contains(kConfig)) {
    SIGNALBOX_TRY(const bool found, read_companion(kConfig, places, files));
    SIGNALBOX_TRY(const bool is_gliner, read_companion(kGlinerConfig, places, files));
    if (!found && !is_gliner) {
      return fail(Code::kNotFound, "{}: found no config.json next to it; name one with --config",
                  file.string());
    }
  }
  for (const char* name : kCompanions) {
    // A tokenizer_config.json beside a GGUF states more than the one that is made of the GGUF.
    if (files.contains(name) && name != std::string_view(kTokenizerConfigFile)) continue;
    SIGNALBOX_TRY(const bool found, read_companion(name, places, files));
    if (!found || name != std::string_view(kModules)) continue;
    if (auto done = read_modules(places, files); !done) {
      return fail_in(file.string(), std::move(done).error());
    }
  }
  for (const char* name : engine::kTextLimitFiles)
    SIGNALBOX_TRY_VOID(read_companion(name, places, files));
  for (const char* name : kLabelFiles) SIGNALBOX_TRY_VOID(read_companion(name, places, files));
  if (files.contains(kTokenizer)) return {};
  if (auto done = make_tokenizer_file(places, options, files); !done)
    return fail_in(file.string(), std::move(done).error());
  return {};
}

// Replaces numbers in a tensor name by N: "encoder.layer.11.output.dense.bias" becomes
// "encoder.layer.N.output.dense.bias".
std::string kind_of(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    const bool is_number = !part.empty() && std::ranges::all_of(part, [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    out += is_number ? std::string_view("N") : part;
    name.remove_prefix(part.size());
    if (!name.empty()) {
      out += '.';
      name.remove_prefix(1);
    }
  }
  return out;
}

void print_kinds(std::span<const weights::Tensor> tensors, const ConvertModelOptions& options) {
  std::map<std::string, int> kinds;
  for (const weights::Tensor& tensor : tensors) {
    ++kinds[fmt::format("{}  {} {}", kind_of(tensor.name), weights::dtype_name(tensor.dtype),
                        weights::shape_text(tensor.shape))];
  }
  for (const auto& [kind, count] : kinds) options.print(fmt::format("{} x {}", kind, count));
}

// Opens the result with the engine, which alone decides whether the model is usable. Returns its
// error message, or "".
std::string opening_error(const fs::path& out) {
  const auto model = engine::TextModel::open(out);
  return model ? "" : model.error().message;
}

// Replaces the weights in `out` by their packed form. Reports the largest errors first.
Result<void> pack(const fs::path& out, const ConvertModelOptions& options) {
  SIGNALBOX_TRY(engine::PackedModel packed,
                engine::pack_model(out, {.precision = *options.precision}));
  std::ranges::sort(packed.matrices, std::greater(), &engine::PackedMatrix::error);
  for (const engine::PackedMatrix& matrix : packed.matrices) {
    options.print(fmt::format("{}  relative error of the weights {:.2e}",
                              engine::packed_name(matrix.name, matrix.format), matrix.error));
  }
  if (options.precision == engine::Precision::kI8) {
    options.print(
        fmt::format("relative error of the hidden states {:.2e}; {} layers stay in bf16{}{}",
                    packed.error, packed.wide_layers.size(), packed.wide_layers.empty() ? "" : ": ",
                    fmt::join(packed.wide_layers, ", ")));
  }
  return weights::write_safetensors(out / kWeights, packed.tensors.tensors());
}

Result<void> write_model(const fs::path& out, std::span<const weights::Tensor> tensors,
                         const std::map<std::string, std::string>& files,
                         const ConvertModelOptions& options) {
  for (const weights::Tensor& tensor : tensors) {
    if (options.precision && tensor.name.find(".packed_") != std::string::npos) {
      return fail(Code::kInvalid, "{}: already packed; convert the original model instead",
                  tensor.name);
    }
  }
  print_kinds(tensors, options);
  for (const auto& [name, text] : files) SIGNALBOX_TRY_VOID(write_file(out / name, text));
  SIGNALBOX_TRY_VOID(weights::write_safetensors(out / kWeights, tensors));
  return options.precision ? pack(out, options) : Result<void>();
}

// Removes the labels from a config.json. They are those of a head that an adapter has replaced.
Result<std::string> without_labels(std::string text) {
  SIGNALBOX_TRY(const auto config, json::Document::parse(std::move(text)));
  json::Writer out;
  out.begin_object();
  for (const json::Member member : config.root().members()) {
    if (member.key != "num_labels" && member.key != "id2label" && member.key != "label2id")
      out.key(member.key).raw(member.value.raw());
  }
  return out.end_object().take();
}

// Merges the adapter into the model and writes the result.
Result<void> write_merged(const fs::path& out, ForeignModel& model,
                          const ConvertModelOptions& options) {
  SIGNALBOX_TRY(const weights::LoraAdapter adapter, weights::LoraAdapter::open(options.adapter));
  SIGNALBOX_TRY(const kernels::Table* kernels, kernels::active_table());
  SIGNALBOX_TRY(const weights::TensorList merged,
                weights::merge_lora(model.tensors, adapter, *kernels));
  SIGNALBOX_TRY(const bool has_config, read_companion(kConfig, {options.adapter}, model.files));
  std::map<std::string, std::string> names;
  for (const char* name : kLabelFiles)
    SIGNALBOX_TRY_VOID(read_companion(name, {options.adapter}, names));
  // The model's labels are not those of another head.
  const bool replaces = !adapter.replacements().empty();
  for (const char* name : kLabelFiles)
    if (has_config || replaces || !names.empty()) model.files.erase(name);
  model.files.merge(names);
  if (const auto config = model.files.find(kConfig);
      !has_config && replaces && config != model.files.end()) {
    SIGNALBOX_TRY(config->second, without_labels(std::move(config->second)));
  }
  options.print(fmt::format("merged {} layers of {}; it replaces {} tensors",
                            adapter.layers().size(), options.adapter.string(),
                            adapter.replacements().size()));
  return write_model(out, merged.tensors(), model.files, options);
}

uint64_t bytes_of(std::span<const weights::Tensor> tensors) {
  uint64_t out = 0;
  for (const weights::Tensor& tensor : tensors) out += tensor.bytes.size();
  return out;
}

std::string summary(const fs::path& file, ModelFormat format, const fs::path& out,
                    const ForeignModel& model, const std::string& error) {
  const auto bytes = static_cast<int64_t>(bytes_of(model.tensors.tensors()));
  json::Writer json;
  json.begin_object().member("in", file.string()).member("format", format_name(format));
  json.member("out", out.string());
  json.member("tensors", static_cast<int64_t>(model.tensors.size())).member("bytes", bytes);
  json.key("files").begin_array();
  for (const auto& [name, text] : model.files) json.string(name);
  json.end_array().member("opens", error.empty());
  if (!error.empty()) json.member("error", error);
  return json.end_object().take();
}

}  // namespace

Result<std::string> convert_model(const fs::path& file, ModelFormat format, const fs::path& out,
                                  const ConvertModelOptions& options) {
  const fs::path weights = out / kWeights;
  std::error_code error;
  if (fs::equivalent(file, weights, error)) {
    return fail(Code::kInvalid, "{}: this is the output file itself; choose another OUT",
                file.string());
  }
  SIGNALBOX_TRY(ForeignModel model, read_foreign_model(file, format));
  if (model.tensors.size() == 0) return fail(Code::kCorrupt, "{}: no weights", file.string());
  const std::vector<weights::Tensor> tensors = model.tensors.tensors();
  if (const uint64_t bytes = bytes_of(tensors); bytes > kGrowthMax * model.tensors.kept_bytes()) {
    return fail(Code::kTooLarge,
                "{}: its tensors take {} bytes; the limit is {} times the file's size",
                file.string(), bytes, kGrowthMax);
  }
  SIGNALBOX_TRY_VOID(gather_files(file, format, options, model.files));
  for (const std::string& note : model.tensors.notes()) options.print(note);
  if (options.adapter.empty()) {
    SIGNALBOX_TRY_VOID(write_model(out, tensors, model.files, options));
  } else {
    SIGNALBOX_TRY_VOID(write_merged(out, model, options));
  }
  const std::string problem = opening_error(out);
  if (!problem.empty()) options.print(fmt::format("the engine cannot open it: {}", problem));
  return summary(file, format, out, model, problem);
}

}  // namespace signalbox::tools
