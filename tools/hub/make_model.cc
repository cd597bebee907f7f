// The engine alone decides what is supported: this file opens the model instead of repeating the
// engine's rules.

#include "tools/hub/make_model.h"

#include <algorithm>
#include <system_error>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "engine/engine.h"
#include "tools/convert_model.h"
#include "weights/safetensors_writer.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

/// Returns the error without the path of a folder that the user never sees.
tl::unexpected<Error> fail_without(const fs::path& folder, std::string_view what, Error error) {
  const std::string path = (folder / "").string();
  if (const size_t at = error.message.find(path); at != std::string::npos)
    error.message.erase(at, path.size());
  return fail_in(what, std::move(error));
}

// Adds a file that the conversion has made to the receipt.
Result<void> add_to_receipt(const fs::path& folder, const char* name, PullReceipt& receipt) {
  SIGNALBOX_TRY(const auto content, MappedFile::open(folder / name));
  receipt.files.push_back({name, content.size(), sha256_hex(content.text()), ""});
  return {};
}

// Moves the files that the conversion has replaced from the receipt's files to its sources.
void retire_sources(const fs::path& folder, const std::vector<std::string>& weights,
                    PullReceipt& receipt) {
  const auto is_source = [&](const RepositoryFile& file) {
    return std::ranges::find(weights, file.path) != weights.end();
  };
  std::ranges::copy_if(receipt.files, std::back_inserter(receipt.converted_from), is_source);
  std::erase_if(receipt.files, is_source);
  std::error_code ignored;
  for (const std::string& path : weights) {
    if (path != kWeightsFile) fs::remove(folder / path, ignored);
  }
}

}  // namespace

Result<void> check_architecture(const fs::path& folder) {
  const fs::path probe = folder / ".probe";
  std::error_code error;
  fs::create_directories(probe, error);
  for (const char* name : {kConfigFile, kGlinerFile}) {
    std::error_code missing;  // a model has one of them at least
    fs::copy_file(folder / name, probe / name, fs::copy_options::overwrite_existing, missing);
  }
  // Without tensors, the engine gets as far as it can by the configuration alone.
  SIGNALBOX_TRY_VOID(weights::write_safetensors(probe / kWeightsFile, {}));
  const auto opened = engine::TextModel::open(probe);
  fs::remove_all(probe, error);
  const bool is_refused = !opened && (opened.error().code == Code::kUnsupported ||
                                      opened.error().code == Code::kNotFound);
  if (!is_refused) return {};
  return fail_without(probe, "the engine does not support this model", opened.error());
}

Result<VocabularyChoice> vocabulary_of(const fs::path& folder) {
  const ModelFiles files{.has =
                             [&](const std::string& name) {
                               std::error_code ignored;
                               return fs::exists(folder / name, ignored);
                             },
                         .read = [&](const std::string& name) -> Result<std::string> {
                           SIGNALBOX_TRY(const auto file, MappedFile::open(folder / name));
                           return std::string(file.text());
                         }};
  if (files.has(kTokenizerFile)) return VocabularyChoice{};
  return choose_vocabulary(files);
}

bool needs_conversion(const Selection& selection, const VocabularyChoice& vocabulary) {
  return selection.kind == Selection::Weights::kTorch ||
         selection.kind == Selection::Weights::kTorchIndex ||
         selection.kind == Selection::Weights::kOnnx || vocabulary.found != nullptr;
}

Result<void> convert_in_place(const fs::path& folder, const Selection& selection,
                              const std::vector<std::string>& weights, PullReceipt& receipt) {
  const fs::path from = folder / selection.weights;
  const fs::path out = folder / ".converted";
  const auto format = model_format(from);
  if (!format) return fail(Code::kUnsupported, "{}: not a weights file", selection.weights);
  if (const auto converted = convert_model(from, *format, out, {}); !converted)
    return fail_without(folder, "the weights cannot be converted", converted.error());
  std::error_code error;
  const bool had_tokenizer = fs::exists(folder / kTokenizerFile, error);
  for (const char* name : {kTokenizerFile, kWeightsFile}) {
    if (!fs::exists(out / name, error)) continue;
    fs::rename(out / name, folder / name, error);
    if (error) return fail(Code::kIo, "{}: {}", (folder / name).string(), error.message());
  }
  fs::remove_all(out, error);
  std::vector<std::string> sources = weights;
  if (selection.is_index()) sources.push_back(selection.weights);
  retire_sources(folder, sources, receipt);
  SIGNALBOX_TRY_VOID(add_to_receipt(folder, kWeightsFile, receipt));
  const bool made_tokenizer = !had_tokenizer && fs::exists(folder / kTokenizerFile, error);
  return made_tokenizer ? add_to_receipt(folder, kTokenizerFile, receipt) : Result<void>();
}

Result<void> check_opens(const fs::path& folder) {
  const auto opened = engine::TextModel::open(folder);
  if (opened) return {};
  return fail_without(folder, "the engine cannot open this model", opened.error());
}

}  // namespace signalbox::tools
