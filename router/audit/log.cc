// Entries are written at once and synced at most once a second: a killed process loses only what
// waited, and a machine that stops loses at most a second.

#include "router/audit/log.h"

#include <ctime>
#include <utility>

#include "base/log.h"

namespace signalbox::audit {
namespace {

using namespace std::chrono_literals;

constexpr size_t kWaitingBytesMax = size_t{4} << 20;
constexpr uint32_t kRefusalsASecond = 1000;
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

Log::~Log() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  log::info("audit", "{}: entry {} is the last; its digest is {}", path_.string(),
            file_->end().number, file_->end().digest);
}

Result<void> Log::open(const config::Audit& settings, const std::filesystem::path& config_file) {
  if (settings.file.empty()) return {};
  path_ = config_file.parent_path() / settings.file;
  refuses_ = settings.unwritable == config::Audit::Unwritable::kRefuseChanges;
  file_ = std::make_unique<AuditFile>(path_, settings.bytes_max, settings.files_max);
  const auto torn = file_->open();
  if (!torn) return fail(torn.error().code, "global.services.audit.file: {}", torn.error().message);
  if (*torn > 0) {
    log::warn("audit", "{}: the last line was torn; its {} bytes were cut off", path_.string(),
              *torn);
    push(Entry("torn_line_cut").number("bytes", static_cast<int64_t>(*torn)));
  }
  push(Entry("started").text("version", SIGNALBOX_VERSION));
  thread_ = std::thread([this] { run(); });
  return {};
}

// Precondition: the mutex is held, or the thread does not run yet.
bool Log::push(Entry entry) {
  const size_t bytes = sizeof(Waiting) + entry.members().size();
  if (waiting_bytes_ + bytes > kWaitingBytesMax) {
    ++dropped_;
    return false;
  }
  waiting_bytes_ += bytes;
  ++pushed_;
  waiting_.push_back({std::move(entry), time_now()});
  return true;
}

void Log::add(Entry entry) {
  if (!is_open()) return;
  {
    const std::lock_guard lock(mutex_);
    push(std::move(entry));
  }
  wake_.notify_one();
}

void Log::add_refusal(Entry entry) {
  if (!is_open()) return;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (now - second_ >= kSecond) {
      second_ = now;
      refusals_ = 0;
    }
    if (++refusals_ > kRefusalsASecond) {
      ++omitted_;
      return;
    }
    push(std::move(entry));
  }
  wake_.notify_one();
}

Result<void> Log::announce(Entry entry) {
  if (!is_open() || !refuses_) return {};
  std::unique_lock lock(mutex_);
  // The thread tries again by itself; entries of changes that are not made would only fill the
  // queue.
  if (failing_) return fail(Code::kIo, "the audit log cannot be written: {}", trouble_);
  if (!push(std::move(entry)))
    return fail(Code::kOverloaded, "too many entries wait for the audit log");
  const uint64_t number = pushed_;
  wake_.notify_one();
  const bool ended =
      written_.wait_for(lock, kPatience, [&] { return done_ >= number || failing_; });
  if (done_ >= number) return {};
  if (!ended) return fail(Code::kIo, "the audit log was not written in time");
  return fail(Code::kIo, "the audit log cannot be written: {}", trouble_);
}

bool Log::refuses_changes() const {
  const std::lock_guard lock(mutex_);
  return refuses_ && failing_;
}

// Writes entries in order; `written` is the number of those that the file has.
Result<void> Log::write(const std::deque<Waiting>& entries, size_t& written) {
  if (file_->is_gone()) {
    SIGNALBOX_TRY_VOID(file_->open());
    SIGNALBOX_TRY_VOID(file_->append(Entry("file_replaced"), time_now()));
  }
  for (const Waiting& each : entries) {
    SIGNALBOX_TRY_VOID(file_->append(each.entry, each.time));
    ++written;
  }
  return {};
}

void Log::run() {
  bool is_synced = true;
  Clock::time_point synced_at{};
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_work = [this] { return stopping_ || (!waiting_.empty() && !failing_); };
    if (failing_ || !is_synced || omitted_ > 0)
      wake_.wait_for(lock, kSecond, has_work);
    else
      wake_.wait(lock, has_work);
    if (omitted_ > 0 && (stopping_ || Clock::now() - second_ >= kSecond))
      push(Entry("refusals_omitted").number("count", std::exchange(omitted_, 0)));
    if (dropped_ > 0 && waiting_bytes_ < kWaitingBytesMax / 2)
      push(Entry("entries_dropped")
               .number("count", static_cast<int64_t>(std::exchange(dropped_, 0))));
    std::deque<Waiting> taken = std::exchange(waiting_, {});
    const size_t bytes = std::exchange(waiting_bytes_, 0);
    const bool stops = stopping_;
    lock.unlock();
    size_t written = 0;
    Result<void> done = write(taken, written);
    if (written > 0) is_synced = false;
    if (done && !is_synced && (stops || Clock::now() - synced_at >= kSecond)) {
      done = file_->sync();
      is_synced = true;
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
    if (!done) trouble_ = done.error().message;
    if (failing_ != !done) {
      failing_ = !done;
      if (failing_)
        log::error("audit", "the audit log cannot be written{}: {}",
                   refuses_ ? "; changes are refused" : "", done.error().message);
      else
        log::info("audit", "the audit log is written again");
    }
    written_.notify_all();
    if (stops) return;
  }
}

}  // namespace signalbox::audit
