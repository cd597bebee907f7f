// Implements the order of preference and checks that a directory is complete.

#include "engine/discover.h"

#include <algorithm>
#include <filesystem>

namespace signalbox::engine {
namespace {

bool has(const ModelListing& model, std::string_view file) {
  return std::ranges::find(model.files, file) != model.files.end();
}

// The kind of a directory, or the file that it lacks.
struct Contents {
  Discovery::Kind kind;
  std::string_view missing;
};

Contents contents_of(const ModelListing& model) {
  using Kind = Discovery::Kind;
  if (has(model, "adapter_config.json")) {
    constexpr std::string_view kWeights = "adapter_model.safetensors";
    return {Kind::kAdapter, has(model, kWeights) ? "" : kWeights};
  }
  for (const std::string_view file : {"config.json", "model.safetensors"}) {
    if (!has(model, file)) return {Kind::kModel, file};
  }
  return {Kind::kModel, ""};
}

}  // namespace

Discovery discover_classifier(std::string_view task, std::span<const ModelListing> listing) {
  std::vector<std::string> order;
  for (const char* network :
       {"bert", "bert-base-uncased", "roberta", "roberta-base", "modernbert", "modernbert-base"})
    order.push_back(fmt::format("lora_{}_classifier_{}_model", task, network));
  order.push_back(fmt::format("{}_classifier_modernbert-base_model", task));
  Discovery out;
  for (std::string& name : order) {
    const auto found = std::ranges::find(listing, name, &ModelListing::name);
    if (found == listing.end()) {
      out.others.push_back({std::move(name), "is not there"});
      continue;
    }
    const Contents contents = contents_of(*found);
    if (!contents.missing.empty()) {
      out.others.push_back({std::move(name), fmt::format("has no {}", contents.missing)});
    } else if (out.choice) {
      out.others.push_back({std::move(name), fmt::format("comes after {}", out.choice->directory)});
    } else {
      out.choice = Discovery::Choice{std::move(name), contents.kind};
    }
  }
  return out;
}

Result<std::vector<ModelListing>> list_models(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<ModelListing> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;  // an unreadable entry is not a model
    if (!at->is_directory(ignored)) continue;
    ModelListing& added = out.emplace_back(ModelListing{at->path().filename().string(), {}});
    for (fs::directory_iterator file(at->path(), ignored);
         !ignored && file != fs::directory_iterator(); file.increment(ignored)) {
      added.files.push_back(file->path().filename().string());
    }
  }
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    return fail(missing ? Code::kNotFound : Code::kIo, "{}: {}", directory, error.message());
  }
  std::ranges::sort(out, {}, &ModelListing::name);
  return out;
}

}  // namespace signalbox::engine
