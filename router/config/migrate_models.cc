// Models of the older forms. The settings of a model, its endpoints and its properties were in
// three places; v0.3 has them in providers.models and routing.modelCards.

#include <algorithm>
#include <array>

#include "base/yaml_tree.h"
#include "router/config/migrate.h"

namespace signalbox::config {

namespace tree = yaml::tree;

namespace {

struct Rename {
  std::string_view from;
  std::string_view to;
};

constexpr auto kMovedModelKeys =
    std::to_array<Rename>({{"provider_model_id", "provider_model_id"},
                           {"model_id", "provider_model_id"},
                           {"reasoning_family", "reasoning_family"},
                           {"api_format", "api_format"},
                           {"pricing", "pricing"},
                           {"reliability", "reliability"},
                           {"external_model_ids", "external_model_ids"},
                           {"pii_policy", "pii_policy"}});
constexpr auto kCardKeys = std::to_array<Rename>({{"param_size", "param_size"},
                                                  {"param_count", "param_size"},
                                                  {"context_window_size", "context_window_size"},
                                                  {"context_size", "context_window_size"},
                                                  {"description", "description"},
                                                  {"capabilities", "capabilities"},
                                                  {"quality_score", "quality_score"},
                                                  {"modality", "modality"},
                                                  {"tags", "tags"},
                                                  {"loras", "loras"}});
constexpr auto kMovedBackendKeys = std::to_array<std::string_view>(
    {"weight", "type", "protocol", "api_key", "api_key_env", "base_url", "endpoint", "provider",
     "auth_header", "auth_prefix", "extra_headers", "api_version", "chat_path", "backend_id",
     "engine_kind", "metrics_port", "metrics_path"});
// Keys that the code below reads, in addition to the tables above.
constexpr auto kReadKeys = std::to_array<std::string_view>(
    {"name", "preferred_endpoints", "endpoints", "backend_refs", "access_key", "access"});

template <class Table>
bool has_from(const Table& table, std::string_view key) {
  return std::any_of(table.begin(), table.end(), [&](const Rename& r) { return r.from == key; });
}

const yaml::Node* list_of(const yaml::Node& node, std::string_view key) {
  const yaml::Node* list = node.find(key);
  return list == nullptr || list->kind != yaml::Kind::kSequence ? nullptr : list;
}

bool lists(const yaml::Node* list, std::string_view name) {
  return list != nullptr && std::any_of(list->items.begin(), list->items.end(),
                                        [&](const yaml::Node& n) { return n.scalar == name; });
}

class Models {
 public:
  Models(Reader& reader, const yaml::Node& old, yaml::Node& out)
      : reader_(reader), old_(old), out_(out), endpoints_(list_of(old, "vllm_endpoints")) {}

  void run() {
    if (const yaml::Node* configs = old_.find("model_config")) {
      for (const yaml::Entry& entry : configs->entries)
        add_model(entry.key, entry.line, &entry.value, "model_config." + entry.key);
    }
    const yaml::Node* providers = old_.find("providers");
    const yaml::Node* listed = providers == nullptr ? nullptr : list_of(*providers, "models");
    for (size_t i = 0; listed != nullptr && i < listed->items.size(); ++i) {
      const yaml::Node& model = listed->items[i];
      add_model(tree::scalar(model, "name"), model.line, &model,
                fmt::format("providers.models[{}]", i));
    }
    add_the_others();
    report_unused_endpoints();
    write();
  }

 private:
  struct Named {
    std::string name;
    yaml::Node model;
    yaml::Node card;
  };

  // Models that occur only in endpoints, decisions or as the default.
  void add_the_others() {
    for (size_t i = 0; endpoints_ != nullptr && i < endpoints_->items.size(); ++i) {
      if (const yaml::Node* models = list_of(endpoints_->items[i], "models")) {
        for (const yaml::Node& name : models->items) mention(name);
      }
    }
    yaml::Node& routing = tree::at_path(out_, "routing", old_.line);
    if (const yaml::Node* decisions = list_of(routing, "decisions")) {
      for (const yaml::Node& decision : decisions->items) {
        const yaml::Node* refs = list_of(decision, "modelRefs");
        for (size_t i = 0; refs != nullptr && i < refs->items.size(); ++i) {
          if (const yaml::Node* name = refs->items[i].find("model")) mention(*name);
        }
      }
    }
    const yaml::Node& defaults = tree::at_path(out_, "providers.defaults", old_.line);
    if (const yaml::Node* name = defaults.find("default_model")) mention(*name);
  }

  void mention(const yaml::Node& name) {
    if (name.kind != yaml::Kind::kScalar || name.scalar.empty()) return;
    add_model(name.scalar, name.line, nullptr, "");
  }

  void add_model(std::string_view name, uint32_t line, const yaml::Node* config,
                 const std::string& where) {
    for (const Named& known : models_) {
      if (known.name == name) return;
    }
    Named added{std::string(name), tree::mapping(line), tree::mapping(line)};
    tree::add(added.model, "name", tree::text(name, line));
    tree::add(added.card, "name", tree::text(name, line));
    const yaml::Node nothing = tree::mapping(line);
    const yaml::Node& from = config == nullptr ? nothing : *config;
    const yaml::Node* access = from.find("access");
    if (access != nullptr) copy_keys(*access, kMovedModelKeys, added.model);
    copy_keys(from, kMovedModelKeys, added.model);
    copy_keys(from, kCardKeys, added.card);
    add_backends(from, access, added);
    for (const yaml::Entry& entry : from.entries) {
      const bool known =
          has_from(kMovedModelKeys, entry.key) || has_from(kCardKeys, entry.key) ||
          std::find(kReadKeys.begin(), kReadKeys.end(), entry.key) != kReadKeys.end();
      if (!known) left_out(reader_, entry, where);
    }
    models_.push_back(std::move(added));
  }

  template <class Table>
  static void copy_keys(const yaml::Node& from, const Table& table, yaml::Node& to) {
    for (const Rename& rename : table) tree::copy(from, rename.from, to, rename.to);
  }

  void add_backends(const yaml::Node& from, const yaml::Node* access, Named& added) {
    const yaml::Node* written = access == nullptr ? nullptr : access->find("backend_refs");
    if (written == nullptr) written = from.find("backend_refs");
    if (written != nullptr) {
      tree::add(added.model, "backend_refs", *written);
      return;
    }
    yaml::Node refs = tree::sequence(added.model.line);
    if (const yaml::Node* own = list_of(from, "endpoints")) {
      for (const yaml::Node& endpoint : own->items) refs.items.push_back(backend(endpoint, from));
    }
    for (const yaml::Node* endpoint : endpoints_of(from, added.name)) {
      used_.push_back(endpoint);
      refs.items.push_back(backend(*endpoint, from));
      const yaml::Node* health = endpoint->find("health_check_path");
      if (health != nullptr) tree::put(added.model, "reliability.health_check_path", *health);
    }
    if (!refs.items.empty()) tree::add(added.model, "backend_refs", std::move(refs));
  }

  // The endpoints that the model prefers, or those that list it, or those without a list of models.
  std::vector<const yaml::Node*> endpoints_of(const yaml::Node& config, std::string_view name) {
    std::vector<const yaml::Node*> preferred, listing, silent;
    for (size_t i = 0; endpoints_ != nullptr && i < endpoints_->items.size(); ++i) {
      const yaml::Node& endpoint = endpoints_->items[i];
      if (lists(list_of(config, "preferred_endpoints"), tree::scalar(endpoint, "name")))
        preferred.push_back(&endpoint);
      if (lists(list_of(endpoint, "models"), name)) listing.push_back(&endpoint);
      if (list_of(endpoint, "models") == nullptr) silent.push_back(&endpoint);
    }
    if (!preferred.empty()) return preferred;
    return listing.empty() ? silent : listing;
  }

  yaml::Node backend(const yaml::Node& endpoint, const yaml::Node& model) const {
    yaml::Node out = tree::mapping(endpoint.line);
    tree::copy(endpoint, "name", out);
    for (const std::string_view key : kMovedBackendKeys) tree::copy(endpoint, key, out);
    copy_profile(tree::scalar(endpoint, "provider_profile"), out);
    add_address(endpoint, out);
    tree::copy(model, "access_key", out, "api_key");
    return out;
  }

  void copy_profile(std::string_view name, yaml::Node& out) const {
    const yaml::Node* profiles = old_.find("provider_profiles");
    const yaml::Node* profile =
        profiles == nullptr || name.empty() ? nullptr : profiles->find(name);
    if (profile == nullptr) return;
    tree::copy(*profile, "type", out, "provider");
    for (const std::string_view key : kMovedBackendKeys) {
      if (key != "type") tree::copy(*profile, key, out);
    }
  }

  static void add_address(const yaml::Node& endpoint, yaml::Node& out) {
    const yaml::Node* address = endpoint.find("address");
    if (address == nullptr || address->scalar.empty() || out.find("base_url") != nullptr) return;
    const bool bare_ipv6 = std::count(address->scalar.begin(), address->scalar.end(), ':') >= 2 &&
                           !address->scalar.starts_with('[');
    std::string text = bare_ipv6 ? fmt::format("[{}]", address->scalar) : address->scalar;
    const std::string_view port = tree::scalar(endpoint, "port");
    if (!port.empty()) text = fmt::format("{}:{}", text, port);
    tree::add(out, "endpoint", tree::text(text, address->line));
  }

  void report_unused_endpoints() {
    for (size_t i = 0; endpoints_ != nullptr && i < endpoints_->items.size(); ++i) {
      const yaml::Node& endpoint = endpoints_->items[i];
      if (std::find(used_.begin(), used_.end(), &endpoint) != used_.end()) continue;
      reader_.at_key("vllm_endpoints", [&] {
        reader_.at_index(i, [&] { reader_.notice(endpoint.line, "left out: no model uses it"); });
      });
    }
  }

  void write() {
    yaml::Node models = tree::sequence(old_.line);
    yaml::Node cards = tree::sequence(old_.line);
    for (Named& each : models_) {
      models.items.push_back(std::move(each.model));
      if (each.card.entries.size() > 1) cards.items.push_back(std::move(each.card));
    }
    tree::put(out_, "providers.models", std::move(models));
    if (!cards.items.empty() && !tree::put(out_, "routing.modelCards", std::move(cards)))
      reader_.notice(old_.line,
                     "routing.modelCards of the file is used; settings of models that "
                     "belong there are left out");
  }

  Reader& reader_;
  const yaml::Node& old_;
  yaml::Node& out_;
  const yaml::Node* endpoints_;
  std::vector<const yaml::Node*> used_;
  std::vector<Named> models_;
};

}  // namespace

void migrate_models(Reader& reader, const yaml::Node& old, yaml::Node& out) {
  Models(reader, old, out).run();
}

}  // namespace signalbox::config
