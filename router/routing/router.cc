// Holds every compiled routing of the configuration and selects the one for a request.

#include "router/routing/router.h"

#include <algorithm>

#include "router/routing/planner.h"
#include "router/routing/routing_program.h"

namespace signalbox::routing {
namespace {

// A name of global.integrations.looper stands for the routing at the top with only the decisions of
// that algorithm, guards, and decisions with an action.
void add_direct_names(config::Config& config) {
  const config::Looper& looper = config.looper;
  const auto add = [&config](const std::vector<std::string>& names, std::string_view algorithm) {
    const auto has_algorithm = [algorithm](const config::Decision& decision) {
      return decision.algorithm.type == algorithm;
    };
    if (names.empty() || std::ranges::none_of(config.routing.decisions, has_algorithm)) return;
    config::Recipe recipe;
    recipe.name = fmt::format("{}{}", config::kDirectRecipe, algorithm);
    recipe.routing = config.routing;
    std::erase_if(recipe.routing.decisions, [&](const config::Decision& decision) {
      const bool binds = config.router.guards_named_models && config::binds_named_models(decision);
      return !binds && !has_algorithm(decision);
    });
    config.entrypoints.push_back({names, recipe.name, {}});
    config.recipes.push_back(std::move(recipe));
  };
  add(looper.remom.model_names, "remom");
  add(looper.fusion.model_names, "fusion");
  add(looper.flow.model_names, "workflows");
}

}  // namespace

struct Router::Impl {
  config::Config config;
  models::Models models;
  std::vector<std::unique_ptr<const RoutingProgram>>
      routings;                          // the one at the top, then the recipes
  const RoutingProgram* main = nullptr;  // the routing that automatic names select
  // The entrypoint for each model name that clients may send, other than names of models; null: the
  // routing at the top.
  std::map<std::string_view, const config::Entrypoint*> by_model;
  std::map<std::string_view, const config::Entrypoint*> by_task_model;  // for System One
  std::vector<std::string> notices;
  Stores stores;

  Result<void> compile() {
    notices = models.notices;
    SIGNALBOX_TRY_VOID(add(config::kDefaultRecipe, config.routing));
    for (const config::Recipe& recipe : config.recipes)
      SIGNALBOX_TRY_VOID(add(recipe.name, recipe.routing));
    main = find(config::kDefaultRecipe);
    for (const std::string& name : config.auto_model_names) by_model[name] = nullptr;
    for (const config::Entrypoint& entrypoint : config.entrypoints) {
      for (const std::string_view recipe : config::recipes_of(entrypoint))
        SIGNALBOX_CHECK(find(recipe) != nullptr);
      const bool is_chat = entrypoint.api == config::Entrypoint::Api::kChat;
      for (const std::string& name : entrypoint.model_names)
        (is_chat ? by_model : by_task_model)[name] = &entrypoint;
    }
    return {};
  }

  Result<void> add(std::string_view recipe, const config::Routing& routing) {
    SIGNALBOX_TRY(auto program, RoutingProgram::create(config, recipe, routing, models, stores));
    for (const std::string& notice : program->notices()) {
      // Every routing repeats the notices about models.
      if (std::find(notices.begin(), notices.end(), notice) == notices.end())
        notices.push_back(notice);
    }
    routings.push_back(std::move(program));
    return {};
  }

  // Searches backwards: if the top of the file has no decisions, a recipe may have the default
  // name.
  const RoutingProgram* find(std::string_view recipe) const {
    for (auto routing = routings.rbegin(); routing != routings.rend(); ++routing) {
      if ((*routing)->recipe() == recipe) return routing->get();
    }
    return nullptr;
  }

  Evaluation evaluate(const RoutingProgram& routing, const request::ChatRequest& request,
                      signals::HeaderLookup headers, const PlanTarget& bypass) const {
    return Evaluation::begin(config, routing, models.embedder.get(), request, std::move(headers),
                             bypass);
  }

  // True if the client requests to skip the router and the configuration allows it.
  bool is_skipped(const signals::HeaderLookup& headers) const {
    if (!config.router.skip_processing.enabled || !headers) return false;
    const auto value = headers("x-vsr-skip-processing");
    return value && *value == "true";
  }
};

Result<std::unique_ptr<const Router>> Router::create(config::Config config, models::Models models,
                                                     const Stores& stores) {
  auto impl = std::make_unique<Impl>();
  impl->config = std::move(config);
  add_direct_names(impl->config);
  impl->models = std::move(models);
  impl->stores = stores;
  SIGNALBOX_TRY_VOID(impl->compile());
  return std::unique_ptr<const Router>(new Router(std::move(impl)));
}

Router::Router(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Router::~Router() = default;

const config::Config& Router::config() const {
  return impl_->config;
}

bool Router::masks_named_models() const {
  return impl_->config.router.masks_named_models && impl_->main->engine().has_masks();
}

const models::Models& Router::models() const {
  return impl_->models;
}

std::vector<Plan::Matched> Router::signals() const {
  std::vector<Plan::Matched> out;
  const auto add = [&out](std::string_view type, std::string_view name) {
    auto group =
        std::find_if(out.begin(), out.end(), [&](const auto& each) { return each.type == type; });
    if (group == out.end()) group = out.insert(out.end(), {type, {}});
    if (std::find(group->names.begin(), group->names.end(), name) == group->names.end())
      group->names.emplace_back(name);
  };
  for (const auto& routing : impl_->routings) {
    for (const RoutingProgram::Group& group : routing->groups()) {
      for (size_t i = 0; i < group.size(); ++i) add(group.signals->type(), group.signals->name(i));
    }
    routing->leaf_values().projections().for_each_output(
        [&](uint32_t, std::string_view name, size_t) { add("projection", name); });
  }
  return out;
}

const std::vector<std::string>& Router::notices() const {
  return impl_->notices;
}

Evaluation Router::evaluate(const request::ChatRequest& request,
                            signals::HeaderLookup headers) const {
  const bool is_task = headers && headers(":path") == config::kSystemOnePath;
  const auto& entrypoints = is_task ? impl_->by_task_model : impl_->by_model;
  const auto found = entrypoints.find(request.model);
  const config::Providers& providers = impl_->config.providers;
  const bool names_a_model = found == entrypoints.end();
  const config::Entrypoint* entrypoint = names_a_model ? nullptr : found->second;
  const RoutingProgram* routing = impl_->main;
  if (entrypoint != nullptr) routing = impl_->find(config::recipe_of(*entrypoint, headers));
  if (routing == nullptr) {  // no rule matches, so nobody answers under this name
    return impl_->evaluate(*impl_->main, request, std::move(headers), {.bypassed = true});
  }
  PlanTarget bypass{.bypassed = names_a_model || impl_->is_skipped(headers)};
  if (bypass.bypassed) {
    bypass.named =
        providers.find(names_a_model ? request.model : std::string_view(providers.default_model));
  }
  if (names_a_model && bypass.named != nullptr && !impl_->is_skipped(headers)) {
    bypass.is_guarded = impl_->config.router.guards_named_models && routing->engine().has_guards();
    bypass.is_masked = masks_named_models();
  }
  return impl_->evaluate(*routing, request, std::move(headers), bypass);
}

Result<Evaluation> Router::evaluate_recipe(std::string_view recipe,
                                           const request::ChatRequest& request,
                                           signals::HeaderLookup headers) const {
  const RoutingProgram* routing = impl_->find(recipe);
  if (routing == nullptr) {
    std::string known;
    for (const auto& each : impl_->routings) known += (known.empty() ? "" : ", ") + each->recipe();
    return fail(Code::kNotFound, "unknown recipe \"{}\" (known: {})", recipe, known);
  }
  return impl_->evaluate(*routing, request, std::move(headers), {});
}

}  // namespace signalbox::routing
