// From a file to a Config: YAML, then the migration of an older form, then the tables. Also the
// look-ups in a Config.

#include "router/config/load.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "base/yaml.h"
#include "base/yaml_writer.h"
#include "router/config/migrate.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

static_assert(kFileBytesMax == yaml::Limits{}.bytes);

void add_lines(const yaml::Node& node, const std::string& path,
               std::map<std::string, uint32_t, std::less<>>& out) {
  for (const yaml::Entry& entry : node.entries) {
    const std::string key = fmt::format("{}.{}", path, entry.key);
    out.emplace(key, entry.line);
    add_lines(entry.value, key, out);
  }
}

void read_root(Reader& reader, const yaml::Node& root) {
  read_section(reader, root, kRoot, &reader.config);
  const yaml::Node* const global = root.find("global");
  const yaml::Node* const catalog = global == nullptr ? nullptr : global->find("model_catalog");
  if (catalog != nullptr) add_lines(*catalog, "global.model_catalog", reader.config.catalog_lines);
}

// The configuration in values for Helm; null if the file has none.
const yaml::Node* values_for_helm(const yaml::Node& root) {
  const yaml::Node* config = root.find("config");
  const bool is_wrapped =
      config != nullptr && config->find("providers") != nullptr && !root.find("providers");
  return is_wrapped ? config : nullptr;
}

// The text of the configuration in a ConfigMap; null if the file is none.
const yaml::Node* text_of_config_map(const yaml::Node& root) {
  const yaml::Node* kind = root.find("kind");
  const yaml::Node* data = root.find("data");
  if (kind == nullptr || kind->scalar != "ConfigMap" || data == nullptr) return nullptr;
  const yaml::Node* text = data->find("config.yaml");
  return text != nullptr && text->kind == yaml::Kind::kScalar ? text : nullptr;
}

// Returns an error if Kubernetes or Helm has wrapped the configuration; "" if nothing has.
std::string_view why_wrapped(const yaml::Node& root) {
  if (text_of_config_map(root) != nullptr)
    return "the file is a ConfigMap; expected the configuration alone, which `signalbox config "
           "migrate` prints";
  if (root.find("apiVersion") != nullptr && root.find("kind") != nullptr)
    return "the file is a resource of Kubernetes; expected the configuration alone, which a "
           "ConfigMap has as a text under data";
  if (values_for_helm(root) != nullptr)
    return "the file has values for Helm; expected the part under config alone, which `signalbox "
           "config migrate` prints";
  return {};
}

// Takes the configuration out of what Kubernetes and Helm have wrapped around it. Lines of a text
// in a ConfigMap are those of the text, so `name` then names it, too.
Result<void> unwrap(yaml::Node& root, std::string& name) {
  if (const yaml::Node* text = text_of_config_map(root)) {
    name += ": data.config.yaml";
    SIGNALBOX_TRY(root, yaml::parse(text->scalar, name));
  }
  if (const yaml::Node* values = values_for_helm(root)) root = yaml::Node(*values);
  return {};
}

Inspection read(const Result<yaml::Node>& parsed, std::string_view name,
                const LoadOptions& options) {
  if (!parsed) return {tl::unexpected<Error>(parsed.error()), {}};
  const yaml::Node& root = *parsed;
  Reader reader(name, options);
  if (root.kind == yaml::Kind::kNull) {
    reader.error(1, "the file is empty; expected at least version and providers");
  } else if (root.kind != yaml::Kind::kMapping) {
    reader.error(std::max(root.line, 1u), fmt::format("expected a mapping, found {}", found(root)));
  } else if (const std::string_view why = why_wrapped(root); !why.empty()) {
    reader.error(root.line, std::string(why));
  } else {
    yaml::Node changed;
    const yaml::Node* current = &root;
    if (is_older_form(root)) {
      reader.notice(root.line,
                    "the file has an older form; `signalbox config migrate` prints it as v0.3");
      current = &(changed = migrate(reader, root));
    } else if (has_early_parts(root)) {
      current = &(changed = with_current_parts(reader, root));
    }
    if (assigns_models(*current)) current = &(changed = with_assigned_models(reader, *current));
    read_root(reader, *current);
  }
  if (reader.failed()) return {tl::unexpected<Error>(reader.take_errors()), reader.take_notices()};
  reader.config.source = name;
  return {std::move(reader.config), reader.take_notices()};
}

Result<Loaded> loaded(Inspection inspection) {
  if (!inspection.config) return tl::unexpected<Error>(std::move(inspection.config).error());
  return Loaded{*std::move(inspection.config), std::move(inspection.notices)};
}

}  // namespace

Inspection inspect(std::string_view text, std::string_view name, const LoadOptions& options) {
  return read(yaml::parse(text, name), name, options);
}

Inspection inspect(const std::filesystem::path& path, const LoadOptions& options) {
  return read(yaml::load(path), path.string(), options);
}

Result<Loaded> parse(std::string_view text, std::string_view name, const LoadOptions& options) {
  return loaded(inspect(text, name, options));
}

Result<Loaded> load(const std::filesystem::path& path, const LoadOptions& options) {
  return loaded(inspect(path, options));
}

Result<Migrated> migrate_file(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  std::string name = path.string();
  SIGNALBOX_TRY(yaml::Node root, yaml::parse(file.text(), name));
  const bool is_wrapped = !why_wrapped(root).empty();
  SIGNALBOX_TRY_VOID(unwrap(root, name));
  Inspection inspection = read(root, name, {});
  if (!inspection.config) return tl::unexpected<Error>(std::move(inspection.config).error());
  if (!is_older_form(root))
    return Migrated{is_wrapped ? yaml::write(root) : std::string(file.text()), {}};
  Reader reader(name, {});
  const yaml::Node migrated = migrate(reader, root);
  check_answers(reader, migrated, *inspection.config);  // older forms need no plugin
  return Migrated{yaml::write(migrated), reader.take_notices()};
}

const Model* Providers::find(std::string_view name) const {
  for (const Model& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

std::string_view why_no_files(const Model& model) {
  if (model.api_format != Model::ApiFormat::kOpenAi)
    return "its servers speak another API, which has no files";
  if (model.backend_refs.size() != 1)
    return "it has several backends, and a file is on one of them only";
  return {};
}

bool follows_kubernetes(const Config& config) {
  return config.router.config_source == "kubernetes";
}

const std::string& reranker_of(const Config& config, const Routing& routing) {
  return routing.reranker.empty() ? config.system_models.reranker : routing.reranker;
}

std::vector<const Routing*> routings_of(const Config& config) {
  std::vector<const Routing*> out{&config.routing};
  for (const Recipe& recipe : config.recipes) out.push_back(&recipe.routing);
  return out;
}

}  // namespace signalbox::config
