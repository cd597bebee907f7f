// modules.json is a list of steps: the encoder, the pooling, then dense layers and normalisations.
// embed() always normalises at the end, so only a normalisation before a dense layer counts.

#include "engine/pooling_config.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "weights/hf_config.h"

namespace signalbox::engine {
namespace {

constexpr size_t kBytesMax = 1 << 20;

// The modules of a directory without a modules.json, by the names that sentence-transformers gives
// them.
constexpr std::pair<const char*, const char*> kUsualModules[] = {
    {"1_Pooling", "Pooling"}, {"2_Dense", "Dense"}, {"3_Dense", "Dense"}};

struct Mode {
  const char* key;
  const char* name;                // of the same mode as the value of kModeKey
  std::optional<Pooling> pooling;  // nullopt: not supported
};

constexpr Mode kModes[] = {{"pooling_mode_mean_tokens", "mean", Pooling::kMean},
                           {"pooling_mode_cls_token", "cls", Pooling::kFirst},
                           {"pooling_mode_lasttoken", "lasttoken", Pooling::kLast},
                           {"pooling_mode_max_tokens", "max", Pooling::kMax},
                           {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", {}},
                           {"pooling_mode_weightedmean_tokens", "weightedmean", {}}};
constexpr const char* kModeKey = "pooling_mode";  // takes precedence over the keys of kModes

tl::unexpected<Error> refuse_mode(const weights::HfObject& config, std::string_view key,
                                  std::string_view value) {
  return fail(Code::kUnsupported,
              "{}: {} is not supported (supported: one of mean, cls, lasttoken, max)",
              config.where(key), value);
}

Result<Pooling> read_mode_by_name(const weights::HfObject& config) {
  SIGNALBOX_TRY(std::string name, config.string(kModeKey, ""));
  std::ranges::transform(name, name.begin(), ascii::lower);
  const auto found = std::ranges::find(kModes, std::string_view(name), &Mode::name);
  if (found != std::end(kModes) && found->pooling) return *found->pooling;
  return refuse_mode(config, kModeKey, fmt::format("\"{}\"", name));
}

// Reads 1_Pooling/config.json.
Result<Pooling> read_pooling(const std::filesystem::path& path, int32_t hidden) {
  SIGNALBOX_TRY(const weights::HfConfig file, weights::HfConfig::open(path));
  const weights::HfObject config = file.root();
  SIGNALBOX_TRY(const int32_t width,
                config.integer("word_embedding_dimension", 1, 1 << 14, hidden));
  if (width != hidden) {
    return fail(Code::kCorrupt, "{}: {}, the model's hidden_size is {}",
                config.where("word_embedding_dimension"), width, hidden);
  }
  SIGNALBOX_TRY(const bool prompt, config.boolean("include_prompt", true));
  if (!prompt) {
    return fail(Code::kUnsupported, "{}: false is not supported", config.where("include_prompt"));
  }
  if (config.has(kModeKey)) return read_mode_by_name(config);
  std::optional<Pooling> out;
  for (const Mode& mode : kModes) {
    SIGNALBOX_TRY(const bool chosen, config.boolean(mode.key, false));
    if (!chosen) continue;
    if (!mode.pooling || out) return refuse_mode(config, mode.key, "true");
    out = mode.pooling;
  }
  if (!out) return fail(Code::kCorrupt, "{}: no pooling mode is true", path.string());
  return *out;
}

// Reads the file with the limit per text, which is next to the encoder's files.
Result<int32_t> read_tokens_max(const std::filesystem::path& directory) {
  const auto found = std::ranges::find_if(
      kTextLimitFiles, [&](const char* name) { return std::filesystem::exists(directory / name); });
  if (found == std::end(kTextLimitFiles)) return 0;
  SIGNALBOX_TRY(const weights::HfConfig file, weights::HfConfig::open(directory / *found));
  SIGNALBOX_TRY(const bool lower, file.root().boolean("do_lower_case", false));
  if (lower) {
    return fail(Code::kUnsupported, "{}: true is not supported (the tokenizer.json defines it)",
                file.root().where("do_lower_case"));
  }
  return file.root().integer("max_seq_length", 1, 1 << 20, 0);
}

struct Kind {
  std::string_view name;
  int place;  // its position among the steps; several steps may share one
};

constexpr Kind kKinds[] = {{"Transformer", 0}, {"Pooling", 1}, {"Dense", 2}, {"Normalize", 2}};

struct Module {
  std::string type;  // such as "sentence_transformers.models.Pooling"
  std::filesystem::path directory;
  std::string where;  // for errors: "modules.json: [1]"
};

Result<Module> read_module(const std::filesystem::path& directory, const std::string& where,
                           const json::Value& module) {
  const auto type = module.find("type");
  const auto place = module.find("path");
  if (!type || !type->is_string() || !place || !place->is_string()) {
    return fail(Code::kCorrupt, "{}: expected an object with \"type\" and \"path\"", where);
  }
  const std::filesystem::path inside = std::filesystem::path(place->text()).lexically_normal();
  if (inside.is_absolute() || (!inside.empty() && *inside.begin() == "..")) {
    return fail(Code::kCorrupt, "{}.path: \"{}\" leads out of the model directory", where,
                place->text());
  }
  return Module{std::string(type->text()), directory / inside, where};
}

Result<std::vector<Module>> read_modules(const std::filesystem::path& directory) {
  std::vector<Module> out;
  const std::filesystem::path path = directory / "modules.json";
  if (!std::filesystem::exists(path)) {
    for (const auto& [name, kind] : kUsualModules) {
      if (std::filesystem::exists(directory / name / "config.json"))
        out.push_back({kind, directory / name, ""});
    }
    return out;
  }
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  const auto modules = json::Document::parse(std::string(file.text().substr(0, kBytesMax + 1)),
                                             {.bytes = kBytesMax, .depth = 8});
  if (!modules) return fail(Code::kCorrupt, "{}: {}", path.string(), modules.error().message);
  if (!modules->root().is_array()) {
    return fail(Code::kCorrupt, "{}: expected an array of modules", path.string());
  }
  for (const json::Value& module : modules->root().items()) {
    const std::string where = fmt::format("{}: [{}]", path.string(), out.size());
    SIGNALBOX_TRY(out.emplace_back(), read_module(directory, where, module));
  }
  return out;
}

// `last` is the kind of the module before; null for the first.
Result<const Kind*> find_kind(const Module& module, const Kind* last) {
  const auto found = std::ranges::find(kKinds, module_kind(module.type), &Kind::name);
  if (found == std::end(kKinds)) {
    return fail(Code::kUnsupported,
                "{}.type: \"{}\" is not supported (supported: Transformer, Pooling, Dense, "
                "Normalize)",
                module.where, module.type);
  }
  if (last != nullptr && (found->place < last->place || (found == last && found->place < 2))) {
    return fail(Code::kUnsupported,
                "{}.type: \"{}\" after {} is not supported (supported: one Transformer, one "
                "Pooling, then Dense and Normalize)",
                module.where, module.type, last->name);
  }
  return found;
}

// The engine reads the encoder from the model's own directory. A folder that does not exist is the
// rest of an older layout, whose files were moved.
Result<void> check_encoder(const Module& module, const std::filesystem::path& directory) {
  if ((module.directory / "").lexically_normal() == (directory / "").lexically_normal()) return {};
  if (!std::filesystem::exists(module.directory / "config.json")) return {};
  return fail(Code::kUnsupported,
              "{}.path: \"{}\" is not supported (supported: \"\", with the encoder's files "
              "beside modules.json)",
              module.where, module.directory.lexically_relative(directory).string());
}

}  // namespace

std::string_view module_kind(std::string_view type) {
  return type.starts_with("sentence_transformers.") ? type.substr(type.rfind('.') + 1) : type;
}

Result<PoolingConfig> read_pooling_config(const std::filesystem::path& directory, int32_t hidden,
                                          Pooling otherwise) {
  PoolingConfig out{.pooling = otherwise};
  SIGNALBOX_TRY(const std::vector<Module> modules, read_modules(directory));
  const Kind* last = nullptr;
  bool normalizes = false;
  for (const Module& module : modules) {
    SIGNALBOX_TRY(const Kind* kind, find_kind(module, last));
    last = kind;
    if (kind->name == "Transformer") {
      SIGNALBOX_TRY_VOID(check_encoder(module, directory));
    } else if (kind->name == "Pooling") {
      SIGNALBOX_TRY(out.pooling, read_pooling(module.directory / "config.json", hidden));
    } else if (kind->name == "Dense") {
      out.dense.push_back({module.directory, normalizes});
    }
    normalizes = kind->name == "Normalize";
  }
  SIGNALBOX_TRY(out.tokens_max, read_tokens_max(directory));
  return out;
}

}  // namespace signalbox::engine
