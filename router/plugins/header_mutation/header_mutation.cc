// The lists are short, so each field searches them linearly. Connection always stays, because it
// names fields that must not be forwarded.

#include "router/plugins/header_mutation/header_mutation.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::plugins {

UpstreamHeaders mutate_headers(const config::HeaderMutationPlugin& plugin,
                               const http::Headers& client) {
  UpstreamHeaders out;
  for (size_t i = 0; i < client.size(); ++i) {
    const http::Field field = client[i];
    const bool removed =
        std::any_of(plugin.remove.begin(), plugin.remove.end(),
                    [&](const auto& name) { return ascii::iequals(name, field.name); });
    const auto names_it = [&](const auto& pair) { return ascii::iequals(pair.name, field.name); };
    // With two Authorization fields, the server might use either one.
    const bool is_single = ascii::iequals(field.name, "authorization");
    const bool replaced =
        std::any_of(plugin.update.begin(), plugin.update.end(), names_it) ||
        (is_single && std::any_of(plugin.add.begin(), plugin.add.end(), names_it));
    if ((!removed && !replaced) || ascii::iequals(field.name, "connection"))
      out.client.add(client, i);
  }
  for (const auto& pair : plugin.update) out.added.add(pair.name, pair.value);
  for (const auto& pair : plugin.add) out.added.add(pair.name, pair.value);
  return out;
}

}  // namespace signalbox::plugins
