// `routing.signals`: one list a type of signal.

#include <algorithm>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// A list of classes with fixed names: another name is never found, which is worth saying.
template <class T>
Value<T> classes(std::vector<ClassSignal> T::*member, std::vector<std::string_view> known) {
  Value<T> all = named_list(member, class_section);
  return {all.expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            all.read(reader, node, out);
            for (size_t i = 0; i < node.items.size() && i < (out.*member).size(); ++i) {
              const std::string& name = (out.*member)[i].name;
              if (name.empty() || std::find(known.begin(), known.end(), name) != known.end())
                continue;
              reader.at_index(i, [&] {
                reader.notice(node.items[i].line, fmt::format("\"{}\" is never found{}", name,
                                                              suggestion(name, known)));
              });
            }
          },
          all.describe};
}

}  // namespace

const Section<Routing>& signals_section() {
  using R = Routing;
  static const Section<R> section{{
      optional("keywords", named_list(&R::keywords, keyword_section),
               "words that must or must not occur"),
      optional("embeddings", named_list(&R::embeddings, embedding_section),
               "texts of similar meaning"),
      optional("intents", named_list(&R::intents, intent_section),
               "nearest examples that vote; an extension"),
      optional("domains", named_list(&R::domains, domain_section), "fields of knowledge"),
      optional("fact_check", classes(&R::fact_check, {"needs_fact_check", "no_fact_check_needed"}),
               "whether facts are asked for"),
      optional("user_feedbacks",
               classes(&R::user_feedbacks,
                       {"satisfied", "need_clarification", "wrong_answer", "want_different"}),
               "what the user thinks of the last answer"),
      optional("reasks", named_list(&R::reasks, reask_section), "the same question again"),
      optional("preferences", named_list(&R::preferences, preference_section),
               "how the user wants answers"),
      optional("language", named_list(&R::language, language_section), "of the request"),
      optional("context", named_list(&R::context, context_section), "how long the request is"),
      optional("structure", named_list(&R::structure, structure_section), "how it is built"),
      optional("modality", classes(&R::modality, {"AR", "DIFFUSION", "BOTH"}),
               "text, image or both as the answer"),
      optional("role_bindings", named_list(&R::role_bindings, role_binding_section), "who asks"),
      optional("jailbreak", named_list(&R::jailbreak, jailbreak_section),
               "attempts to override instructions"),
      optional("pii", named_list(&R::pii, pii_section), "personal data"),
      optional("kb", named_list(&R::kb, kb_section), "knowledge bases of examples"),
      optional("conversation", named_list(&R::conversation, conversation_section),
               "turns, tools and images"),
      optional("events", named_list(&R::events, event_section), "events named in the text"),
      optional("metadata", named_list(&R::metadata, metadata_section), "of the request"),
      optional("classifiers", named_list(&R::classifiers, classifier_section),
               "classifiers of one's own"),
      // Last: its composer has conditions on the others.
      optional("complexity", named_list(&R::complexity, complexity_section), "how hard it is"),
      removed<R>("category_kb", "knowledge bases are global.model_catalog.kbs and signals.kb"),
      removed<R>("taxonomy", "knowledge bases are global.model_catalog.kbs and signals.kb"),
  }};
  return section;
}

}  // namespace signalbox::config
