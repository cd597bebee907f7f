// Entries are written at once and synced at most once a second. A process that is killed loses only
// the waiting entries, and a machine that stops loses at most one second.

#include "router/audit/chain_writer.h"

#include <ctime>
#include <utility>

#include "base/log.h"

namespace signalbox::audit {
namespace {

using namespace std::chrono_literals;

constexpr size_t kWaitingBytesMax = size_t{4} << 20;
constexpr auto kSecond = 1s, kPatience = 5s;

std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, ms.count() % 1000);
}

}  // namespace

ChainWriter::~ChainWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  log::info("audit", "{}: entry {} is the last; its digest is {}", path_.string(),
            file_.end().number, file_.end().digest);
}

Result<void> ChainWriter::open() {
  SIGNALBOX_TRY(const size_t torn, file_.open());
  if (file_.end().number == 0) {
    log::info("audit", "{}: a new log begins", path_.string());
  } else {
    log::info("audit", "{}: the chain goes on after entry {}; its digest is {}", path_.string(),
              file_.end().number, file_.end().digest);
  }
  if (torn > 0) {
    log::warn("audit", "{}: the last line was torn; its {} bytes were cut off", path_.string(),
              torn);
    push(std::move(Entry("torn_line_cut").number("bytes", static_cast<int64_t>(torn))));
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

// Precondition: the mutex is held, or the thread does not run yet. `stands_for` is the number of
// entries that are lost if this one is.
bool ChainWriter::push(Entry entry, uint64_t stands_for) {
  const size_t bytes = sizeof(Waiting) + entry.members().size();
  if (waiting_bytes_ + bytes > kWaitingBytesMax) {
    dropped_ += stands_for;
    return false;
  }
  waiting_bytes_ += bytes;
  ++pushed_;
  waiting_.push_back({std::move(entry), time_now()});
  return true;
}

void ChainWriter::add(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    push(std::move(entry));
  }
  wake_.notify_one();
}

void ChainWriter::add_refusal(const Sender& sender, Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    if (refusals_.admit(sender, Clock::now())) push(std::move(entry));
  }
  wake_.notify_one();
}

void ChainWriter::count_refusal(const Sender& sender) {
  {
    const std::lock_guard lock(mutex_);
    refusals_.count(sender, Clock::now());
  }
  wake_.notify_one();
}

Result<void> ChainWriter::add_and_wait(Entry entry) {
  std::unique_lock lock(mutex_);
  // Refuse without queueing the entry: its change will not be made, and the thread retries by
  // itself.
  if (failing_) return fail(Code::kIo, "the audit log cannot be written: {}", trouble_);
  if (!push(std::move(entry)))
    return fail(Code::kOverloaded, "too many entries wait for the audit log");
  return wait_until_written(lock);
}

void ChainWriter::add_written(Entry entry) {
  std::unique_lock lock(mutex_);
  if (push(std::move(entry))) (void)wait_until_written(lock);
}

// Waits for all entries so far. Precondition: the lock holds the mutex.
Result<void> ChainWriter::wait_until_written(std::unique_lock<std::mutex>& lock) {
  const uint64_t number = pushed_;
  wake_.notify_one();
  const bool ended =
      written_.wait_for(lock, kPatience, [&] { return done_ >= number || failing_; });
  if (done_ >= number) return {};
  if (!ended) return fail(Code::kIo, "the audit log was not written in time");
  return fail(Code::kIo, "the audit log cannot be written: {}", trouble_);
}

bool ChainWriter::is_failing() const {
  const std::lock_guard lock(mutex_);
  return failing_;
}

// Writes entries in order; `written` is the number of those that the file has.
Result<void> ChainWriter::write(const std::deque<Waiting>& entries, size_t& written) {
  if (const std::string_view damage = file_.damage(); !damage.empty()) {
    SIGNALBOX_TRY_VOID(file_.open());
    SIGNALBOX_TRY_VOID(file_.append(Entry(damage), time_now()));
    log::error("audit",
               "{}: {}: somebody else has changed the file; the chain continues with entry {}",
               path_.string(), damage, file_.end().number);
  }
  for (const Waiting& each : entries) {
    SIGNALBOX_TRY_VOID(file_.append(each.entry, each.time));
    ++written;
  }
  return {};
}

// Precondition: the mutex is held.
void ChainWriter::push_counts() {
  for (Refusals::Omitted& each : refusals_.take(Clock::now(), stopping_))
    push(std::move(each.entry), each.count);
  if (dropped_ > 0 && waiting_bytes_ < kWaitingBytesMax / 2)
    push(std::move(Entry("entries_dropped")
                       .number("count", static_cast<int64_t>(std::exchange(dropped_, 0)))));
}

// Precondition: the mutex is held.
void ChainWriter::set_state(const Result<void>& done) {
  if (!done) trouble_ = done.error().message;
  if (failing_ == !done) return;
  failing_ = !done;
  if (failing_)
    log::error("audit", "the audit log cannot be written: {}", trouble_);
  else
    log::info("audit", "{}: the audit log is written again", path_.string());
}

void ChainWriter::run() {
  bool is_synced = true;
  Clock::time_point synced_at{};
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_work = [this] { return stopping_ || (!waiting_.empty() && !failing_); };
    if (failing_ || !is_synced || refusals_.has_counts())
      wake_.wait_for(lock, kSecond, has_work);
    else
      wake_.wait(lock, [&] { return has_work() || refusals_.has_counts(); });
    push_counts();
    std::deque<Waiting> taken = std::exchange(waiting_, {});
    const size_t bytes = std::exchange(waiting_bytes_, 0);
    const bool stops = stopping_, was_failing = failing_;
    lock.unlock();
    size_t written = 0;
    Result<void> done = write(taken, written);
    if (written > 0) is_synced = false;
    if (done && !is_synced && (stops || was_failing || Clock::now() - synced_at >= kSecond)) {
      done = file_.sync();
      is_synced = done.has_value();
      synced_at = Clock::now();
    }
    lock.lock();
    done_ += written;
    taken.erase(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(written));
    if (!taken.empty()) {
      waiting_.insert(waiting_.begin(), std::make_move_iterator(taken.begin()),
                      std::make_move_iterator(taken.end()));
      waiting_bytes_ += bytes;
    }
    set_state(done);
    written_.notify_all();
    if (stops) return;
  }
}

}  // namespace signalbox::audit
