// The keys of the plugin memory.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Key kMemoryPluginKeys[] = {
    enabled<MemoryPlugin>("false uses no memories. Default: true."),
    integer(FIELD(MemoryPlugin, retrieval_limit), 0, 100,
            "Memories to add to a request. Default: the store's `default_retrieval_limit`."),
    number(FIELD(MemoryPlugin, similarity_threshold), -1, 1,
           "Least similarity to the request. Default: the store's "
           "`default_similarity_threshold`."),
    boolean(FIELD(MemoryPlugin, auto_store),
            "Store a turn of a conversation once it has its answer. Default: the store's "
            "`auto_store`."),
    boolean(FIELD(MemoryPlugin, hybrid_search), "Search by words, too. Default: the store's."),
    word(FIELD(MemoryPlugin, hybrid_mode), "weighted rrf rerank",
         "How both searches are joined. Default: the store's."),
    object(FIELD(MemoryPlugin, reflection), kMemoryReflection,
           "Selection of memories. Each key that is absent is the store's."),
};

}  // namespace

constinit const Section kMemoryPlugin{kMemoryPluginKeys};

}  // namespace signalbox::config
