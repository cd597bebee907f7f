#pragma once
// The shadows that are under way. They run on a loop and on threads of their own, which give way to
// the loops of clients, so that no client waits for a shadow.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/dialects/dialect.h"
#include "router/http/headers.h"
#include "router/observe/account.h"
#include "router/shadow/answer.h"
#include "router/shadow/comparison.h"
#include "router/upstream/model_caller.h"

namespace signalbox::shadow {

/// The call of one model.
struct Call {
  const config::ShadowDispatchPlugin::Arm* arm = nullptr;
  const config::Model* model = nullptr;
  std::string target, body, request_id, traceparent;
  http::Headers headers, added;
  bool drops_tracestate = false;
  std::unique_ptr<dialects::ReplyTranslator> from_server;  // null: the reply is read as it comes
  std::optional<request::Api> api;  // of the reply; nullopt: chat completions
  size_t recorded_bytes = 0;        // of the answer, for the replay record
  observe::Shadow figures;          // the names and the client's side; the rest is filled in
};

/// The shadows of one request.
struct Dispatch {
  std::shared_ptr<const void> held;   // what the pointers below belong to
  std::shared_ptr<const void> place;  // from Shadows::admit()
  const config::ShadowDispatchPlugin* plugin = nullptr;
  const upstream::ModelCaller* servers = nullptr;
  const Comparer* comparer = nullptr;
  Reply reply;  // the client's answer as its server sent it
  std::vector<Call> calls;
  /// One of them is called for each call, on a thread of the shadows; leave_out() if the shadow was
  /// not sent.
  std::function<void(observe::Shadow)> publish;
  std::function<void(const observe::Shadow&, std::string_view why)> leave_out;
};

/// The greatest size of the bytes of the client's reply. The events of a stream have many times the
/// size of its text.
size_t reply_bytes_max(const config::ShadowDispatchPlugin& plugin);

/// One for the process. Thread-safe. Before the first start() it has no thread.
class Shadows {
 public:
  Shadows();
  ~Shadows();

  /// Returns a place for the shadows of one request, which counts until it is destroyed; null if
  /// the limits of the plugin are reached.
  std::shared_ptr<const void> admit(const config::ShadowDispatchPlugin& plugin);

  /// Makes the calls and compares the answers. Does nothing after stop().
  void start(Dispatch dispatch);

  /// Waits at most `limit` for the shadows that have begun.
  void drain(std::chrono::milliseconds limit);
  /// Gives up what is under way, and ends the threads.
  void stop();

 private:
  struct Impl;
  const std::shared_ptr<Impl> impl_;  // shared with places, which requests hold
};

}  // namespace signalbox::shadow
