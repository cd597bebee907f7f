// modules.json is a list of steps: the encoder, the pooling, dense layers, and a normalisation that
// embed() always performs.

#include "engine/pooling_config.h"

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
  std::optional<Pooling> pooling;  // nullopt: not supported
};

constexpr Mode kModes[] = {
    {"pooling_mode_mean_tokens", Pooling::kMean}, {"pooling_mode_cls_token", Pooling::kFirst},
    {"pooling_mode_lasttoken", Pooling::kLast},   {"pooling_mode_max_tokens", Pooling::kMax},
    {"pooling_mode_mean_sqrt_len_tokens", {}},    {"pooling_mode_weightedmean_tokens", {}}};

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
  std::optional<Pooling> out;
  for (const Mode& mode : kModes) {
    SIGNALBOX_TRY(const bool chosen, config.boolean(mode.key, false));
    if (!chosen) continue;
    if (!mode.pooling || out) {
      return fail(Code::kUnsupported,
                  "{}: true is not supported (supported: one of mean, cls, lasttoken, max)",
                  config.where(mode.key));
    }
    out = mode.pooling;
  }
  if (!out) return fail(Code::kCorrupt, "{}: no pooling mode is true", path.string());
  return *out;
}

// Reads sentence_bert_config.json, which is next to the encoder's files.
Result<int32_t> read_tokens_max(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return 0;
  SIGNALBOX_TRY(const weights::HfConfig file, weights::HfConfig::open(path));
  SIGNALBOX_TRY(const bool lower, file.root().boolean("do_lower_case", false));
  if (lower) {
    return fail(Code::kUnsupported, "{}: true is not supported (the tokenizer.json defines it)",
                file.root().where("do_lower_case"));
  }
  return file.root().integer("max_seq_length", 1, 1 << 20, 0);
}

// Returns the last component of "sentence_transformers.models.Pooling".
std::string_view kind_of(std::string_view type) {
  const size_t dot = type.rfind('.');
  return dot == std::string_view::npos ? type : type.substr(dot + 1);
}

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

}  // namespace

Result<PoolingConfig> read_pooling_config(const std::filesystem::path& directory, int32_t hidden,
                                          Pooling otherwise) {
  PoolingConfig out{.pooling = otherwise};
  SIGNALBOX_TRY(const std::vector<Module> modules, read_modules(directory));
  for (const Module& module : modules) {
    const std::string_view kind = kind_of(module.type);
    if (kind == "Pooling") {
      SIGNALBOX_TRY(out.pooling, read_pooling(module.directory / "config.json", hidden));
    } else if (kind == "Dense") {
      out.dense.push_back(module.directory);
    } else if (kind != "Transformer" && kind != "Normalize") {
      return fail(Code::kUnsupported,
                  "{}.type: \"{}\" is not supported (supported: Transformer, Pooling, Dense, "
                  "Normalize)",
                  module.where, module.type);
    }
  }
  SIGNALBOX_TRY(out.tokens_max, read_tokens_max(directory / "sentence_bert_config.json"));
  return out;
}

}  // namespace signalbox::engine
