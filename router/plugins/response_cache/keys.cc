// The keys of the plugin response_cache. router/cache has the answers.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

using Cache = ResponseCachePlugin;

constexpr Key kCacheSemanticKeys[] = {
    number(FIELD(Cache::Semantic, similarity_threshold), -1, 1,
           "Least similarity of two requests that share an answer."),
};
constexpr Section kCacheSemantic{kCacheSemanticKeys};

constexpr Key kCachePersonalizedKeys[] = {
    string(FIELD(Cache::Personalized, mode), "How to keep replies that memories have changed."),
};
constexpr Section kCachePersonalized{kCachePersonalizedKeys};

constexpr Key kCacheRevisionKeys[] = {
    string(FIELD(Cache::Revision, cache_epoch), "Any text."),
    string(FIELD(Cache::Revision, model_revision), "Revision of the model."),
    string(FIELD(Cache::Revision, prompt_revision), "Revision of the prompts."),
    string(FIELD(Cache::Revision, policy_revision), "Revision of the policies."),
};
constexpr Section kCacheRevision{kCacheRevisionKeys};

constexpr auto kCacheControlsKeys = request_controls("", "only context_compression has a target");
constexpr Section kCacheControls{kCacheControlsKeys};

constexpr Choice kCacheModes[] = {{"semantic", Cache::Mode::kSemantic},
                                  {"exact", Cache::Mode::kExact},
                                  {"exact_then_semantic", Cache::Mode::kExactThenSemantic}};

// The last three keys are older names.
constexpr Key kResponseCacheKeys[] = {
    enabled<Cache>("false calls the model every time. Default: true."),
    choice(FIELD(Cache, mode), kCacheModes,
           "Requests that share an answer: similar ones (default), equal ones, or both."),
    string(FIELD(Cache, scope),
           "Clients that share answers: `user` and others; see docs/cache.md."),
    object(FIELD(Cache, semantic), kCacheSemantic, "Settings of similar requests."),
    count(FIELD(Cache, ttl_seconds), "Lifetime of an answer, in seconds. Default: the store's."),
    object(FIELD(Cache, request_controls), kCacheControls, "Control by clients."),
    object(FIELD(Cache, personalized), kCachePersonalized, "Replies that memories have changed.")
        .no_effect("answers are shared only between requests with the same memories"),
    object(FIELD(Cache, revision), kCacheRevision, "Each new value starts an empty cache."),
    number(FIELD_AS("similarity_threshold", Cache, semantic.similarity_threshold), -1, 1,
           "Older name of `semantic.similarity_threshold`."),
    boolean(FIELD_AS("allow_request_controls", Cache, request_controls.enabled),
            "Older name of `request_controls.enabled`."),
    string(FIELD_AS("control_header", Cache, request_controls.header),
           "Older name of `request_controls.header`."),
};

}  // namespace

constinit const Section kResponseCache{kResponseCacheKeys};

}  // namespace signalbox::config
