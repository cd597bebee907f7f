// The order is that of the configuration's keys, which explanations follow.

#include "router/signals/factory.h"

#include "router/signals/embedding.h"
#include "router/signals/keyword.h"
#include "router/signals/types.h"

namespace signalbox::router {
namespace {

class Factory {
 public:
  Factory(const config::Config& config, const config::Routing& routing, const Models& models)
      : config_(config), routing_(routing), models_(models) {}

  Result<SignalTypes> make() {
    const config::Routing& r = routing_;
    SIGNALBOX_TRY_VOID(add(r.keywords, [&] { return KeywordSignals::create(r.keywords); }));
    SIGNALBOX_TRY_VOID(add(r.embeddings, [&] { return embeddings(); }));
    SIGNALBOX_TRY_VOID(add(r.language, [&] { return language_signals(r.language); }));
    SIGNALBOX_TRY_VOID(add(r.context, [&] { return context_signals(r.context); }));
    SIGNALBOX_TRY_VOID(add(r.structure, [&] { return structure_signals(r.structure); }));
    SIGNALBOX_TRY_VOID(
        add(r.role_bindings, [&] { return authz_signals(r.role_bindings, config_.authz); }));
    SIGNALBOX_TRY_VOID(add(r.conversation, [&] { return conversation_signals(r.conversation); }));
    SIGNALBOX_TRY_VOID(add(r.events, [&] { return event_signals(r.events); }));
    SIGNALBOX_TRY_VOID(add(r.metadata, [&] { return metadata_signals(r.metadata); }));
    return std::move(made_);
  }

 private:
  template <class List, class Make>
  Result<void> add(const List& signals, const Make& make) {
    if (signals.empty()) return {};
    SIGNALBOX_TRY(auto type, make());
    made_.push_back(std::move(type));
    return {};
  }

  MadeSignals embeddings() const {
    if (models_.embedder == nullptr) {
      return fail(Code::kInvalid,
                  "{}: embedding signals are configured and no embedding model is given",
                  config_.source);
    }
    return EmbeddingSignals::create(routing_.embeddings, config_.embedding_model,
                                    *models_.embedder);
  }

  const config::Config& config_;
  const config::Routing& routing_;
  const Models& models_;
  SignalTypes made_;
};

}  // namespace

Result<SignalTypes> make_signals(const config::Config& config, const config::Routing& routing,
                                 const Models& models) {
  return Factory(config, routing, models).make();
}

}  // namespace signalbox::router
