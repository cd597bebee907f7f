#pragma once
// The calls of an algorithm that calls several models for one request. looper/run.h decides which
// calls come next; this file makes them, over the same path as every other call.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/gateway/gateway_context.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/plan_request.h"
#include "router/gateway/send.h"
#include "router/http/io.h"
#include "router/looper/run.h"

namespace signalbox::gateway {

/// The decision's changes to the headers, and those that every call gets.
config::HeaderMutationPlugin headers_of(const routing::Plan& plan, const config::Looper& looper);

/// The answer of a loop.
struct LoopAnswer {
  const config::Model* model = nullptr;  // whose answer it is
  std::string body;                      // the whole answer; unused if `stream` is set
  bool is_image = false;                 // `body` is the image, because the text failed
  bool is_waiting = false;               // for tools, under ids that no other request may get
  /// The chat completion with the image beside the text; null: none. Lives as long as the Loop.
  const std::string* image = nullptr;
  std::optional<looper::Extension> extension = {};  // for the first chunk of a stream
  /// The reply of the last call, which goes to the client as it comes. The others below belong to
  /// the call that answered and live as long as the Loop.
  std::unique_ptr<upstream::UpstreamReply> stream;
  const routing::Plan* plan = nullptr;
  const ServerRequest* server = nullptr;
  std::chrono::steady_clock::time_point started = {};

  /// True if it is in the client's own API; otherwise it is a chat completion.
  bool is_native() const { return plan != nullptr && plan->native; }
};

/// Belongs to one request and its loop's thread. All arguments outlive it. It outlives the stream
/// of its answer.
class Loop {
 public:
  /// `plan` has the decision and the voices; `decided` are the decision headers. `early` is the
  /// stream of the client; null: nothing is written before the answer.
  Loop(const RequestScope& scope, const ParsedRequest& request,
       const routing::Evaluation& evaluation, const routing::Plan& plan,
       limits::Requester& requester, const http::Headers& decided, EarlyStream* early);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Makes the calls. When it returns, all of them have ended, except for the one that streams. If
  /// the client goes away, the calls in flight end. Errors: kCancelled, and those of the algorithm
  /// if too few calls succeeded.
  http::Task<Result<LoopAnswer>> run();

  /// Adds x-vsr-looper-*, and the model that answered to `fields`. Call it after run().
  void add_headers(const config::Model* model, http::Headers& fields) const;

 private:
  struct Flight;

  http::Task<Result<void>> resume();
  Result<looper::FlowState> read_state(const json::Value& request, const std::string& id) const;
  http::Task<> keep_state();
  http::Task<Result<void>> begin();
  http::Task<Result<void>> begin_anew();
  void start(size_t turn);
  http::Task<Result<void>> reserve_for(http::MemoryShare& memory, http::Interrupt& interrupt,
                                       size_t bytes);
  http::Task<Result<void>> prepare(Flight& flight);
  Result<void> plan_call(Flight& flight);
  Result<void> begin_call(Flight& flight);
  http::Task<> fly(std::shared_ptr<Flight> flight);
  http::Task<Result<looper::Reply>> receive(Flight& flight, upstream::CallOutcome outcome);
  http::Task<Result<looper::Reply>> receive_image(Flight& flight,
                                                  std::unique_ptr<upstream::UpstreamReply> reply);
  void land(Flight& flight, Result<looper::Reply> reply);
  bool streams(const Flight& flight) const;
  void cancel(size_t turn);
  void interrupted();
  void wake();
  http::Task<> wait(bool for_run);
  http::Task<> land_all();
  http::Task<> show_progress();
  Flight* streaming() const;
  Flight* flight_of(size_t turn) const;
  Result<LoopAnswer> answer();
  void add_image(size_t turn, LoopAnswer& out) const;
  std::chrono::milliseconds elapsed() const;

  const RequestScope& scope_;
  const ParsedRequest& request_;
  const routing::Evaluation& evaluation_;
  const routing::Plan& plan_;
  limits::Requester& requester_;
  const http::Headers& decided_;
  const bool drops_logprobs_;
  const bool keeps_api_;
  EarlyStream* const early_;
  const bool passes_stream_;  // the client gets the last call's events as they come
  const std::chrono::steady_clock::time_point began_;
  config::HeaderMutationPlugin header_mutation_;  // with the headers for every call
  std::optional<looper::Run> run_;
  std::string flow_;                    // the workflow that goes on; "": none
  std::vector<looper::PastTurn> past_;  // its turns in earlier requests
  std::optional<bool> has_resumed_;     // nullopt: no results for a workflow are open
  std::string state_;                   // the id of the state that the answer waits with; "": none
  // Shared with the coroutine of the call: when the server stops, either may be destroyed first.
  std::vector<std::shared_ptr<Flight>> flights_;
  std::optional<http::Executor> executor_;
  std::optional<http::Timer> timer_;  // expires at the next deadline; cancelled to wake run()
  bool woken_ = false;
  http::MemoryShare memory_;                    // of the algorithm's conversation
  std::optional<http::Interrupt::Scope> link_;  // last: its action uses the others
};

}  // namespace signalbox::gateway
