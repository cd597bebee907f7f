// A request list under one lock, workers that splice batches off its front, and a watch thread that
// fails expired requests while all workers are busy. Requests are list nodes throughout: one
// allocation each, and they never move in memory. A batch contains requests of one kind (answers,
// or embeddings with equal options), because the model runs those in one call. The first request
// determines the kind, so no request starves.
//
// The order is that of self-clocked fair queueing (Golestani, 1994): a request gets the virtual
// time at which it would end if all clients were served evenly, token by token. So a client with
// many long requests delays its own, not those of others.

#include "engine/scheduler.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

namespace signalbox::engine {
namespace {

using Clock = std::chrono::steady_clock;
using EmbedDone = Scheduler::Done<Scheduler::Embedding>;
using AnswerDone = Scheduler::Done<Scheduler::Answers>;

constexpr const char* kClosed = "the scheduler was closed";

struct Request {
  std::string text;
  std::optional<std::string> pair;
  int32_t adapter = kNoAdapter;
  Marked marked = Marked::kText;
  bool raw = false;
  bool screened = false;
  EmbedOptions options;  // for an embedding
  Patience patience;
  std::variant<EmbedDone, AnswerDone> done;
  int32_t tokens = 0;  // also if a screen clears the input, which is not known before it runs
  int64_t turn = 0;    // virtual time of its end, in tokens
  std::optional<std::stop_callback<std::function<void()>>> on_stop;  // wakes the watch thread

  int64_t bytes() const { return std::ssize(text) + (pair ? std::ssize(*pair) : 0); }
  Input input() const {
    Input out{text, {}, adapter, marked, raw, screened};
    if (pair) out.pair = *pair;
    return out;
  }
};

// Destroy it without holding the lock: a request's destructor waits for its on_stop callback, which
// takes the lock.
using Requests = std::list<Request>;

bool share_a_batch(const Request& a, const Request& b) {
  return a.done.index() == b.done.index() && a.options == b.options &&
         a.patience.is_long == b.patience.is_long;
}

// Long and short requests of one client are served like those of two.
struct Flow {
  uint64_t client;
  bool is_long;
  auto operator<=>(const Flow&) const = default;
};

Flow flow_of(const Request& request) {
  return {request.patience.client, request.patience.is_long};
}

void refuse(const Request& request, const Error& error) {
  std::visit([&error](const auto& done) { done(tl::unexpected(error)); }, request.done);
}

// A worker's buffers, reused between batches.
struct BatchScratch {
  std::vector<std::string_view> texts;
  std::vector<Input> inputs;
  std::vector<float> vectors;  // (texts, dim)
};

void run_embeddings(const TextModel& model, const Requests& batch, BatchScratch& scratch) {
  const EmbedOptions& options = batch.front().options;
  // The model rejects options out of range before it writes.
  const auto dim =
      static_cast<size_t>(options.dim > 0 ? std::min(options.dim, model.dim()) : model.dim());
  scratch.texts.clear();
  for (const Request& request : batch) scratch.texts.push_back(request.text);
  scratch.vectors.resize(batch.size() * dim);
  const Result<void> ran = model.embed(scratch.texts, options, scratch.vectors);
  const float* vector = scratch.vectors.data();
  for (const Request& request : batch) {
    const auto& done = std::get<EmbedDone>(request.done);
    if (ran) {
      done(Scheduler::Embedding(vector, vector + dim));
    } else {
      done(tl::unexpected(ran.error()));
    }
    vector += dim;
  }
}

void run_answers(const TextModel& model, const Requests& batch, BatchScratch& scratch) {
  scratch.inputs.clear();
  for (const Request& request : batch) scratch.inputs.push_back(request.input());
  Result<std::vector<Answer>> ran = model.answer(scratch.inputs);
  const auto heads = std::ssize(model.heads());
  int64_t first = 0;
  for (const Request& request : batch) {
    const auto& done = std::get<AnswerDone>(request.done);
    if (ran) {
      const auto begin = std::make_move_iterator(ran->begin() + first);
      done(Scheduler::Answers(begin, begin + heads));
    } else {
      done(tl::unexpected(ran.error()));
    }
    first += heads;
  }
}

void run(const TextModel& model, const Requests& batch, BatchScratch& scratch) {
  if (std::holds_alternative<EmbedDone>(batch.front().done)) {
    run_embeddings(model, batch, scratch);
  } else {
    run_answers(model, batch, scratch);
  }
}

Result<void> check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return fail(Code::kInvalid, "scheduler: {} {}, expected {} to {}", name, value, least, most);
}

}  // namespace

class Scheduler::State {
 public:
  State(const TextModel& model, const SchedulerOptions& options)
      : model_(model), options_(options) {}

  // Call once. After a failure the destructor ends the threads that were started.
  Result<void> start() {
    try {
      threads_.emplace_back([this] { watch(); });
      for (int32_t i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      return fail(Code::kIo, "scheduler: thread {} of {}: {}", threads_.size() + 1,
                  options_.workers + 1, error.what());
    }
    return {};
  }

  ~State() {
    Requests left;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      left.swap(waiting_);
      load_ = {};
    }
    ready_.notify_all();
    changed_.notify_all();
    for (const Request& request : left) refuse(request, {Code::kCancelled, kClosed});
    for (std::thread& thread : threads_) thread.join();
  }

  // `one` contains exactly one request.
  Result<void> submit(Requests one) {
    Request& request = one.front();
    if (request.bytes() > options_.bytes_max) {
      return fail(Code::kTooLarge, "a text of {} bytes, the queue takes at most {}",
                  request.bytes(), options_.bytes_max);
    }
    // Checks for a full queue before tokenising the text.
    SIGNALBOX_TRY_VOID(enter(one, false));
    SIGNALBOX_TRY(request.tokens, model_.tokens(request.input()));
    if (request.patience.stop.stop_possible()) {
      request.on_stop.emplace(request.patience.stop, [this] { on_stop(); });
    }
    return enter(one, true);
  }

  SchedulerLoad load() const {
    const std::lock_guard lock(mutex_);
    return load_;
  }

 private:
  // Checks that the request may wait; if `stays`, adds it to the queue.
  Result<void> enter(Requests& one, bool stays) {
    const Request& request = one.front();
    const Clock::time_point now = Clock::now();
    Requests given_up;
    Result<void> entered;
    bool sooner = false;
    {
      const std::lock_guard lock(mutex_);
      // Checked under the lock, so that a later stop finds the request in the queue.
      if (auto error = expiry_error(request.patience, now))
        return tl::unexpected(*std::move(error));
      entered = room_for(request);
      if (!entered && !stopping_) {
        given_up = take_given_up(now);
        entered = room_for(request);
      }
      if (entered && stays) {
        sooner = request.patience.deadline < watched_;
        count(request, 1);
        line_up(one);
      }
    }
    for (const Request& gone : given_up) refuse(gone, *expiry_error(gone.patience, now));
    if (entered && stays) {
      ready_.notify_one();
      if (sooner) changed_.notify_one();
    }
    return entered;
  }

  Result<void> room_for(const Request& request) const {
    if (stopping_) return fail(Code::kCancelled, "{}", kClosed);
    const auto full = [](const char* what, int64_t limit) {
      return fail(Code::kOverloaded, "the queue is full: its limit is {} {}", limit, what);
    };
    if (load_.requests + 1 > options_.requests_max) return full("requests", options_.requests_max);
    if (load_.tokens + std::max(1, request.tokens) > options_.tokens_max) {
      return full("tokens", options_.tokens_max);
    }
    if (load_.bytes + request.bytes() > options_.bytes_max) {
      return full("bytes of text", options_.bytes_max);
    }
    return {};
  }

  // Moves the request to its place in the queue.
  void line_up(Requests& one) {
    Request& request = one.front();
    int64_t& last = last_turn_.try_emplace(flow_of(request), now_).first->second;
    request.turn = last = std::max(last, now_) + std::max(1, request.tokens);
    auto place = waiting_.end();
    while (place != waiting_.begin() && std::prev(place)->turn > request.turn) --place;
    waiting_.splice(place, one);
  }

  // Advances the virtual time to the turn of a request that runs.
  void advance(int64_t turn) {
    now_ = std::max(now_, turn);
    std::erase_if(last_turn_, [this](const auto& flow) { return flow.second <= now_; });
  }

  void count(const Request& request, int32_t sign) {
    load_.requests += sign;
    load_.tokens += sign * request.tokens;
    load_.bytes += sign * request.bytes();
  }

  // Moves a request from the queue to the end of `to`. Returns the next request.
  Requests::iterator move(Requests::iterator at, Requests& to) {
    const auto next = std::next(at);
    count(*at, -1);
    to.splice(to.end(), waiting_, at);
    return next;
  }

  Requests take_given_up(Clock::time_point now) {
    Requests out;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      at = expiry_error(at->patience, now) ? move(at, out) : std::next(at);
    }
    return out;
  }

  // Takes the first request and later ones that fit into the same batch.
  Requests take_batch() {
    Requests out;
    const bool is_long = !waiting_.empty() && waiting_.front().patience.is_long;
    const int32_t tokens_max = is_long ? std::min(options_.batch_tokens, options_.long_batch_tokens)
                                       : options_.batch_tokens;
    int64_t tokens = 0;
    for (auto at = waiting_.begin(); at != waiting_.end() && tokens < tokens_max;) {
      const bool fits =
          out.empty() || (share_a_batch(out.front(), *at) && tokens + at->tokens <= tokens_max);
      if (out.empty()) advance(at->turn);
      if (fits) tokens += at->tokens;
      at = fits ? move(at, out) : std::next(at);
    }
    return out;
  }

  void work() {
    BatchScratch scratch;
    std::unique_lock lock(mutex_);
    for (;;) {
      ready_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      const Clock::time_point now = Clock::now();
      Requests given_up = take_given_up(now);
      Requests batch = take_batch();
      lock.unlock();
      for (const Request& gone : given_up) refuse(gone, *expiry_error(gone.patience, now));
      if (!batch.empty()) run(model_, batch, scratch);
      given_up.clear();
      batch.clear();
      lock.lock();
    }
  }

  // Returns the earliest deadline.
  Clock::time_point earliest() const {
    auto out = Clock::time_point::max();
    for (const Request& request : waiting_) out = std::min(out, request.patience.deadline);
    return out;
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      watched_ = earliest();
      if (!stopped_) {
        if (watched_ == Clock::time_point::max()) {
          changed_.wait(lock);
        } else {
          changed_.wait_until(lock, watched_);
        }
      }
      stopped_ = false;
      const Clock::time_point now = Clock::now();
      Requests given_up = take_given_up(now);
      if (given_up.empty()) continue;
      lock.unlock();
      for (const Request& gone : given_up) refuse(gone, *expiry_error(gone.patience, now));
      given_up.clear();
      lock.lock();
    }
  }

  // Runs on the thread that requests the stop.
  void on_stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
  }

  const TextModel& model_;
  const SchedulerOptions options_;

  mutable std::mutex mutex_;           // guards the following members
  Requests waiting_;                   // by their turn
  int64_t now_ = 0;                    // virtual time
  std::map<Flow, int64_t> last_turn_;  // of the flows whose last turn has not come yet
  SchedulerLoad load_;                 // load of waiting_
  Clock::time_point watched_ = Clock::time_point::max();  // next wake-up of the watch thread
  bool stopped_ = false;  // a request was cancelled since the last check by the watch thread
  bool stopping_ = false;

  std::condition_variable ready_;    // notifies workers that waiting_ has grown
  std::condition_variable changed_;  // notifies the watch thread of an earlier deadline or stopped_
  std::vector<std::thread> threads_;
};

Scheduler::Scheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}

Scheduler::~Scheduler() = default;

Result<std::unique_ptr<Scheduler>> Scheduler::create(const TextModel& model,
                                                     const SchedulerOptions& options) {
  constexpr auto kMost = std::numeric_limits<int32_t>::max();
  SIGNALBOX_TRY_VOID(check_range("workers", options.workers, 1, kThreadsMax));
  SIGNALBOX_TRY_VOID(check_range("batch_tokens", options.batch_tokens, 1, kMost));
  SIGNALBOX_TRY_VOID(check_range("long_batch_tokens", options.long_batch_tokens, 1, kMost));
  SIGNALBOX_TRY_VOID(check_range("requests_max", options.requests_max, 1, kMost));
  SIGNALBOX_TRY_VOID(check_range("tokens_max", options.tokens_max, model.tokens_max(),
                                 std::numeric_limits<int64_t>::max() / 2));
  SIGNALBOX_TRY_VOID(
      check_range("bytes_max", options.bytes_max, 1, std::numeric_limits<int64_t>::max() / 2));
  auto state = std::make_unique<State>(model, options);
  SIGNALBOX_TRY_VOID(state->start());
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(state)));
}

Result<void> Scheduler::embed(std::string_view text, const EmbedOptions& options, Patience patience,
                              Done<Embedding> done) {
  Requests one(1);
  one.front().text = text;
  one.front().adapter = options.adapter;
  one.front().options = options;
  one.front().patience = std::move(patience);
  one.front().done = std::move(done);
  return state_->submit(std::move(one));
}

Result<void> Scheduler::answer(const Input& input, Patience patience, Done<Answers> done) {
  Requests one(1);
  one.front().text = input.text;
  if (input.pair) one.front().pair = *input.pair;
  one.front().adapter = input.adapter;
  one.front().marked = input.marked;
  one.front().raw = input.raw;
  one.front().screened = input.screened;
  one.front().patience = std::move(patience);
  one.front().done = std::move(done);
  return state_->submit(std::move(one));
}

namespace {

// Returns a future for the result of submit(done). The promise is shared by `done`, which
// std::function copies, and by this call, which uses it for an immediate error.
template <class T, class Submit>
std::future<Result<T>> to_future(const Submit& submit) {
  const auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  const Result<void> submitted =
      submit([promise](Result<T> result) { promise->set_value(std::move(result)); });
  if (!submitted) promise->set_value(tl::unexpected(submitted.error()));
  return future;
}

}  // namespace

std::future<Result<Scheduler::Embedding>> Scheduler::embed(std::string_view text,
                                                           const EmbedOptions& options,
                                                           Patience patience) {
  return to_future<Embedding>([&](Done<Embedding> done) {
    return embed(text, options, std::move(patience), std::move(done));
  });
}

std::future<Result<Scheduler::Answers>> Scheduler::answer(const Input& input, Patience patience) {
  return to_future<Answers>(
      [&](Done<Answers> done) { return answer(input, std::move(patience), std::move(done)); });
}

SchedulerLoad Scheduler::load() const {
  return state_->load();
}

}  // namespace signalbox::engine
