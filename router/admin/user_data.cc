// Deletes what a user has stored, for operators who must not read it. An owner is a digest of the
// user's name, so the stores need no list of users.

#include <functional>

#include "base/json_writer.h"
#include "router/access/owner.h"
#include "router/admin/context_routes.h"
#include "router/admin/query.h"

namespace signalbox::admin {
namespace {

constexpr size_t kUserBytesMax = 256;

/// Removes what the owner has, and returns how much that was.
using RemoveAll = std::function<Result<int64_t>(std::string_view owner)>;

Result<int64_t> remove_contexts(contexts::Store* store, std::string_view owner) {
  constexpr size_t kAtOnce = 1000;
  int64_t removed = 0;
  if (store == nullptr) return removed;
  std::string after;
  for (;;) {
    const std::vector<contexts::Context> some = store->list(owner, after, kAtOnce);
    for (const contexts::Context& each : some) {
      const Result<void> dropped = store->drop(each.key);
      // Its owner may have deleted it meanwhile.
      if (!dropped && dropped.error().code != Code::kNotFound)
        return tl::unexpected<Error>(dropped.error());
      removed += dropped ? 1 : 0;
    }
    if (some.size() < kAtOnce) return removed;
    after = some.back().key.id;
  }
}

Result<int64_t> remove_responses(dialects::ResponseStore& store, std::string_view owner) {
  int64_t removed = 0;
  const int64_t now = gateway::wall_seconds();
  for (const auto& [id, response] : store.all(now)) {
    if (response->owner != owner) continue;
    SIGNALBOX_TRY(const bool was_there, store.withdraw(id, owner, now));
    removed += was_there ? 1 : 0;
  }
  return removed;
}

AdminReply remove_of_user(const http::Request& request, const serving::ServingState& state,
                          std::string_view things, const RemoveAll& remove) {
  const std::string user = query_value(request.query(), "user_id");
  if (user.empty() || user.size() > kUserBytesMax) {
    return AdminReply::of(
        {400, "INVALID_INPUT",
         fmt::format("user_id: expected the user whose {} are meant, with at most {} bytes", things,
                     kUserBytesMax)});
  }
  const Result<int64_t> removed = remove(access::owner_of_user(user, state.config()));
  AdminReply out = removed ? AdminReply{200, json::Writer()
                                                 .begin_object()
                                                 .member("deleted", *removed)
                                                 .end_object()
                                                 .take()}
                           : AdminReply::of(access::failure_of(removed.error()));
  out.subject = fmt::format("{} of {}", things, user);
  return out;
}

}  // namespace

std::vector<http::Route> user_data_routes(const gateway::Contexts& contexts,
                                          dialects::ResponseStore& responses,
                                          const serving::CurrentState& current,
                                          http::ThreadPool& pool) {
  const auto route = [&](const char* path, std::string_view things, RemoveAll remove) {
    return management_route("DELETE", path, access::kDataWrite, current, pool,
                            [things, remove = std::move(remove)](
                                const http::Request& request, const serving::ServingState& state) {
                              return remove_of_user(request, state, things, remove);
                            });
  };
  return {route("/v1/contexts", "contexts",
                [&contexts](std::string_view owner) {
                  return remove_contexts(contexts.store(), owner);
                }),
          route("/v1/responses", "responses", [&responses](std::string_view owner) {
            return remove_responses(responses, owner);
          })};
}

}  // namespace signalbox::admin
