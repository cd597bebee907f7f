// Look-ups in a Config, and the identities of clients.

#include "router/config/config.h"

#include <fmt/core.h>

#include <algorithm>

#include "router/config/access.h"

namespace signalbox::config {

const Model* Providers::find(std::string_view name) const {
  for (const Model& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

bool follows_kubernetes(const Config& config) {
  return config.router.config_source == "kubernetes";
}

std::vector<const Routing*> routings_of(const Config& config) {
  std::vector<const Routing*> out{&config.routing};
  for (const Recipe& recipe : config.recipes) out.push_back(&recipe.routing);
  return out;
}

std::string_view identity_of(std::string_view field) {
  while (field.starts_with(' ') || field.starts_with('\t')) field.remove_prefix(1);
  while (field.ends_with(' ') || field.ends_with('\t')) field.remove_suffix(1);
  return field;
}

bool is_member(std::string_view groups, std::string_view group) {
  while (!groups.empty()) {
    const size_t comma = std::min(groups.find(','), groups.size());
    if (identity_of(groups.substr(0, comma)) == group) return true;
    groups.remove_prefix(std::min(comma + 1, groups.size()));
  }
  return false;
}

bool refuses_stranger(const Config& config, std::string_view user, std::string_view groups) {
  if (config.authz.fail_open || !identity_of(user).empty()) return false;
  const auto is_separator = [](char c) { return c == ',' || c == ' ' || c == '\t'; };
  if (!std::all_of(groups.begin(), groups.end(), is_separator)) return false;
  const std::vector<const Routing*> all = routings_of(config);
  return std::any_of(all.begin(), all.end(),
                     [](const Routing* routing) { return !routing->role_bindings.empty(); });
}

std::string stranger_message(const Config& config) {
  const Authz::Identity& identity = config.authz.identity;
  return fmt::format("the request has no identity: neither {} nor {} is set",
                     identity.user_id_header, identity.user_groups_header);
}

}  // namespace signalbox::config
