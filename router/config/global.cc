// `global`: the process, its models and the services around it.

#include "router/config/global_tables.h"
#include "router/config/plugin_tables.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

const Section<ToolsIntegration>& tools_integration_section() {
  using T = ToolsIntegration;
  static const Section<T> section{{
      optional("enabled", boolean(&T::enabled), "add tools to requests that leave the choice"),
      optional("top_k", count(&T::top_k), "how many"),
      optional("similarity_threshold", number(&T::similarity_threshold, -1, 1),
               "least similarity to the request"),
      optional("tools_db_path", string(&T::tools_db_path), "the tools"),
      optional("fallback_to_empty", boolean(&T::fallback_to_empty),
               "without tools when ranking fails"),
      optional("advanced_filtering", object(&T::advanced_filtering, tool_filtering_section),
               "ranking by more than similarity"),
  }};
  return section;
}

const Section<Looper::Names>& looper_names_section() {
  static const Section<Looper::Names> section{{
      optional("model_names", texts(&Looper::Names::model_names), "that ask for it"),
  }};
  return section;
}

const Section<Looper::FileState>& file_state_section() {
  static const Section<Looper::FileState> section{{
      optional("directory", string(&Looper::FileState::directory), "of the files"),
  }};
  return section;
}

const Section<Looper::FlowState>& flow_state_section() {
  using S = Looper::FlowState;
  static const Section<S> section{{
      optional("store_backend", string(&S::store_backend), "file, memory or redis"),
      optional("ttl_seconds", count(&S::ttl_seconds), "how long it is kept"),
      optional("file", object(&S::file, file_state_section), "of file"),
      optional("redis", object(&S::redis, redis_section), "of redis"),
  }};
  return section;
}

const Section<Looper::Flow>& flow_section() {
  using F = Looper::Flow;
  static const Section<F> section{{
      optional("model_names", texts(&F::model_names), "that ask for it"),
      optional("state", object(&F::state, flow_state_section), "of a plan between calls"),
  }};
  return section;
}

const Section<Looper>& looper_section() {
  using L = Looper;
  static const Section<L> section{{
      optional("endpoint", string(&L::endpoint), "URL under which the router calls itself"),
      optional("grpc_max_msg_size_mb", count(&L::grpc_max_msg_size_mb), "of a message"),
      optional("max_response_bytes_mb", count(&L::max_response_bytes_mb), "of a reply"),
      optional("timeout_seconds", count(&L::timeout_seconds), "of a call"),
      optional("retry_count", count(&L::retry_count), "of a call"),
      optional("headers", text_map(&L::headers), "sent with every call"),
      optional("remom", object(&L::remom, looper_names_section), "rounds of replies"),
      optional("fusion", object(&L::fusion, looper_names_section), "a panel and a judge"),
      optional("flow", object(&L::flow, flow_section), "steps of a plan"),
  }};
  return section;
}

const Section<Config>& integrations_section() {
  using C = Config;
  static const Section<C> section{{
      optional("tools", object(&C::tools, tools_integration_section), "for requests"),
      optional("looper", object(&C::looper, looper_section), "algorithms of several calls")
          .not_built("one model answers a request"),
  }};
  return section;
}

}  // namespace

const Section<Config>& global_section() {
  using C = Config;
  static const Section<C> section{{
      optional("router", group(router_section), "the router itself"),
      optional("services", group(services_section), "what listens"),
      optional("stores", group(stores_section), "what is kept"),
      optional("integrations", group(integrations_section), "what is called"),
      optional("model_catalog", group(catalog_section), "what understands requests"),
      removed<C>("modules", "they are global.model_catalog.modules"),
      removed<C>("models", "they are global.model_catalog"),
      removed<C>("runtime", "its parts are global.router and global.services"),
  }};
  return section;
}

}  // namespace signalbox::config
