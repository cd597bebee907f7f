#pragma once
// The sections of the file, one subject a source file, as tables of their keys.

#include "router/config/section.h"

namespace signalbox::config {

const Section<Config>& root_section();          // root.cc
const Section<Listener>& listener_section();    // listeners.cc
const Section<Providers>& providers_section();  // providers.cc
Value<Model> backends_value();                  // backends.cc
const Section<Config>& global_section();        // global.cc

// routing.cc
Value<Config> main_routing_value();
const Section<Recipe>& recipe_section();
const Section<Entrypoint>& entrypoint_section();
/// That entrypoints lead to recipes of the file, by names that mean nothing else.
void check_entrypoints(Reader& reader, const yaml::Node& node, const Config& config);
/// That no recipe is called as the routing at the top of the file, if there is one.
void check_recipes(Reader& reader, const yaml::Node& node, const Config& config);

const Section<Reliability>& reliability_section();  // reliability.cc
const Section<Routing>& signals_section();          // signals.cc
const Section<Projections>& projections_section();  // projections.cc
const Section<Decision>& decision_section();        // decisions.cc
Value<Decision> algorithm_value();                  // algorithms.cc
Value<Decision> plugins_value();                    // plugins.cc

// rules.cc
/// Conditions on signals are checked against reader.routing.
Value<Decision> rules_value();
Value<DifficultyCase> when_value();
Value<ComplexitySignal> composer_value();
bool is_signal_type(std::string_view type);

// signals_text.cc
const Section<Predicate>& predicate_section();
const Section<KeywordSignal>& keyword_section();
const Section<LanguageSignal>& language_section();
const Section<ContextSignal>& context_section();
const Section<StructureSignal>& structure_section();
const Section<ConversationSignal>& conversation_section();
const Section<EventSignal>& event_section();
const Section<MetadataSignal>& metadata_section();
const Section<RoleBinding>& role_binding_section();

// signals_model.cc
const Section<EmbeddingSignal>& embedding_section();
const Section<IntentSignal>& intent_section();
const Section<DomainSignal>& domain_section();
const Section<ClassSignal>& class_section();
const Section<ReaskSignal>& reask_section();
const Section<PreferenceSignal>& preference_section();
const Section<ComplexitySignal>& complexity_section();
const Section<JailbreakSignal>& jailbreak_section();
const Section<PiiSignal>& pii_section();
const Section<KbSignal>& kb_section();
const Section<ClassifierSignal>& classifier_section();

/// `strategy`, which stands in two places.
Value<Routing> strategy_value();  // root.cc

/// Adds the listener of a file that names none.
void add_default_listener(Config& config);

}  // namespace signalbox::config
