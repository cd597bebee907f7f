// Determines the kind of a directory from its configuration files, and reads those of adapters.

#include "engine/model_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "weights/hf_config.h"

namespace signalbox::engine {
namespace {

namespace fs = std::filesystem;

bool has(const fs::path& directory, const char* file) {
  std::error_code ignored;
  return fs::exists(directory / file, ignored);
}

bool is_model(const fs::path& directory) {
  return has(directory, "config.json");
}

bool is_adapter(const fs::path& directory) {
  return has(directory, "adapter_config.json") && !is_model(directory);
}

// Returns the last component of a path; handles "models/signals/pii/" too.
std::string name_of(const fs::path& path) {
  return (path / "").lexically_normal().parent_path().filename().string();
}

fs::path parent_of(const fs::path& path) {
  return (path / "..").lexically_normal();
}

Result<fs::path> trunk_of(const fs::path& adapter) {
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(adapter / "adapter_config.json"));
  SIGNALBOX_TRY(const std::string own, config.root().string("signalbox_trunk", ""));
  SIGNALBOX_TRY(const std::string base, config.root().string("base_model_name_or_path", ""));
  std::vector<fs::path> places;
  if (!own.empty()) {
    places = {(adapter / own).lexically_normal()};
  } else if (!base.empty()) {
    places = {base, (adapter / base).lexically_normal(), parent_of(adapter) / name_of(base)};
  } else {
    return fail(Code::kNotFound, "{}: does not name a base model",
                config.root().where("base_model_name_or_path"));
  }
  const auto found = std::ranges::find_if(places, is_model);
  if (found != places.end()) return *found;
  std::string looked;
  for (const fs::path& place : places)
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", place.string());
  return fail(Code::kNotFound, "{}: the adapter's base model was not found; searched: {}",
              adapter.string(), looked);
}

std::vector<fs::path> heads_of(const fs::path& adapter) {
  std::vector<fs::path> heads;
  std::error_code error;
  for (fs::directory_iterator at(adapter, error), end; !error && at != end; at.increment(error)) {
    if (is_model(at->path())) heads.push_back(at->path());
  }
  std::ranges::sort(heads);
  return heads;
}

// Resolves a model, an adapter, or a head inside an adapter.
Result<ModelPath> find_together(const fs::path& path) {
  const fs::path parent = parent_of(path);
  const bool is_head = !is_adapter(path) && is_model(path) && is_adapter(parent);
  if (!is_head && !is_adapter(path)) return ModelPath{.trunk = path, .heads = {}};
  const fs::path& adapter = is_head ? parent : path;
  ModelPath out{.trunk = {}, .adapter = adapter, .heads = heads_of(adapter)};
  SIGNALBOX_TRY(out.trunk, trunk_of(adapter));
  if (is_head) out.head = name_of(path);
  return out;
}

// Returns the trunk named by a separate head, or "" for other directories.
Result<std::string> named_trunk(const fs::path& path) {
  if (!is_model(path) || is_adapter(parent_of(path))) return std::string();
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(path / "config.json"));
  return config.root().string("signalbox_trunk", "");
}

// Returns the model that a head is declared for, or "" if there is no declaration or no such model.
Result<fs::path> base_of(const fs::path& head) {
  if (!is_model(head)) return fs::path();
  const fs::path parent = parent_of(head);
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(head / "config.json"));
  SIGNALBOX_TRY(const std::string named, config.root().string("signalbox_trunk", ""));
  if (named.empty()) return is_adapter(parent) ? parent : fs::path();
  const fs::path trunk = (head / named).lexically_normal();
  if (!is_model(trunk) && !is_adapter(trunk)) return fs::path();
  SIGNALBOX_TRY(const ModelPath found, find_model(trunk));
  return found.base();
}

// An explicitly named head comes after those of its trunk, and one of those may have the same name.
std::optional<size_t> place_of(std::span<const HeadInfo> heads, std::string_view name,
                               HeadKind kind) {
  for (size_t i = 0; i < heads.size(); ++i) {
    const size_t at = name.empty() ? i : heads.size() - 1 - i;
    const bool is_kind = heads[at].kind == kind;
    if (name.empty() ? is_kind && heads[at].clears_below == 0 : heads[at].name == name)
      return is_kind ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<ModelPath> find_model(const fs::path& path) {
  SIGNALBOX_TRY(const std::string named, named_trunk(path));
  if (named.empty()) return find_together(path);
  const fs::path trunk = (path / named).lexically_normal();
  SIGNALBOX_TRY(const std::string further, named_trunk(trunk));
  if (!further.empty() || !(is_model(trunk) || is_adapter(trunk))) {
    return fail(Code::kNotFound, "{}: signalbox_trunk: there is no model at {}",
                (path / "config.json").string(), trunk.string());
  }
  SIGNALBOX_TRY(ModelPath out, find_together(trunk));
  out.heads.push_back(path);
  out.head = name_of(path);
  out.apart = path;
  return out;
}

Result<void> check_head(const fs::path& head, const fs::path& base) {
  SIGNALBOX_TRY(const fs::path own, base_of(head));
  std::error_code ignored;
  if (own.empty() || fs::equivalent(own, base, ignored)) return {};
  return fail(Code::kInvalid,
              "{}: a head for {}, not for {} (if both are the same network, change the head's "
              "signalbox_trunk)",
              head.string(), own.string(), base.string());
}

Result<size_t> find_head(const TextModel& model, std::string_view name, HeadKind kind) {
  if (const auto place = place_of(model.heads(), name, kind)) return *place;
  std::string known;
  for (const HeadInfo& head : model.heads()) {
    const bool tokens = head.kind == HeadKind::kTokens;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", head.name,
                         tokens ? "labels tokens" : "classifies texts");
  }
  return fail(Code::kInvalid, "the model has no head{}{} that {}; its heads: {}",
              name.empty() ? "" : " ", name,
              kind == HeadKind::kTokens ? "labels tokens" : "classifies texts",
              known.empty() ? "none" : known);
}

}  // namespace signalbox::engine
