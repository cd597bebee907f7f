#pragma once
// The sections of the file, one a source file, as tables of their keys.

#include "router/config/section.h"

namespace signalbox::config {

const Section<Config>& root_section();          // root.cc
const Section<Listener>& listener_section();    // listeners.cc
const Section<Providers>& providers_section();  // providers.cc
const Section<Routing>& signals_section();      // signals.cc
const Section<Decision>& decision_section();    // decisions.cc
const Section<Config>& global_section();        // global.cc

/// `strategy`, which stands in two places.
Value<Routing> strategy_value();  // root.cc

/// Adds the listener of a file that names none.
void add_default_listener(Config& config);

/// Reads a decision's `rules`; conditions on signals are checked against reader.config.routing.
void read_rules(Reader& reader, const yaml::Node& node, Rule& out);  // rules.cc

/// Reads a decision's `plugins`.
void read_plugins(Reader& reader, const yaml::Node& node, Decision& out);  // plugins.cc

}  // namespace signalbox::config
