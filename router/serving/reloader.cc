// A state is built at a lower priority than requests are served at, because it may use a whole
// processor for seconds.

#include "router/serving/reloader.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/log.h"
#include "router/config/load.h"
#include "router/serving/restart_only.h"

namespace signalbox::serving {
namespace {

constexpr std::chrono::milliseconds kLookPeriod{500};
/// With this niceness an event loop that wakes up preempts the thread at once, but the thread still
/// makes progress when other threads keep every processor busy.
constexpr int kNiceness = 10;

/// On Linux every thread has its own niceness. It can be raised but not lowered again, so the work
/// gets a thread of its own.
template <class Work>
void run_nicely(const Work& work) {
  std::thread thread;
  try {
    thread = std::thread([&work] {
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
      work();
    });
  } catch (const std::system_error&) {  // no thread is available
    return work();
  }
  thread.join();
}

template <class Each>
void for_each_line(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void log_lines(std::string_view why) {
  for_each_line(why, [](std::string_view line) { log::error("config", "{}", line); });
}

bool is_key_character(char c) {
  return ascii::is_alnum(c) || c == '_' || c == '-';
}

// True for the path of a key, such as "global.access.keys_file", of names that `text` contains.
bool is_key_path(std::string_view path, std::string_view text) {
  if (path.find('.') == std::string_view::npos) return false;
  while (!path.empty()) {
    const auto end = std::ranges::find_if_not(path, is_key_character);
    const std::string_view name(path.begin(), end);
    if (text.find(name) == std::string_view::npos) return false;
    path.remove_prefix(name.size());
    if (!path.empty() && std::string_view(".[]").find(path.front()) == std::string_view::npos)
      return false;
    if (!path.empty()) path.remove_prefix(1);
  }
  return true;
}

// Returns the summary of errors that loading files and models has made. Such errors may quote a
// file, and the number of their lines depends on it. So only the place of the first line is kept:
// the configuration's name, the line, and the path of a key whose names the writer of `text` knew.
std::string summary_of(std::string_view why, std::string_view name, std::string_view text) {
  std::string place(name);
  std::string_view line = why.substr(0, why.find('\n'));
  if (line.starts_with(name)) {
    line.remove_prefix(name.size());
    const size_t end = line.find_first_not_of(":0123456789");
    if (end != std::string_view::npos && line.substr(0, end).ends_with(':') && line[end] == ' ') {
      place += line.substr(0, end - 1);
      line.remove_prefix(end + 1);
    }
  }
  const std::string_view key = line.substr(0, line.find(": "));
  if (key.size() < line.size() && is_key_path(key, text)) place.append(": ").append(key);
  return place + ": cannot be used; the router's log has the reason";
}

}  // namespace

Reloader::Reloader(CurrentState& current, std::filesystem::path file, Build build)
    : current_(current), file_(std::move(file)), build_(std::move(build)), versions_(file_) {
  tried_.text = current_.get()->text;
  thread_ = std::thread([this] { watch(); });
}

Reloader::~Reloader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Reloader::reload() {
  {
    const std::lock_guard lock(mutex_);
    reload_requested_ = true;
  }
  wake_.notify_all();
}

std::optional<Reloader::Rejection> Reloader::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

Reloader::Counts Reloader::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Reloader::watch() {
  FileSnapshot before = [this] {
    const std::lock_guard lock(installing_);
    return tried_;
  }();
  for (;;) {
    bool requested = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kLookPeriod, [this] { return stopping_ || reload_requested_; });
      if (stopping_) return;
      requested = std::exchange(reload_requested_, false);
    }
    current_.free_retired();
    const std::lock_guard lock(installing_);
    FileSnapshot now = read_snapshot();
    if (requested || (now == before && now != tried_)) handle_change(now);
    before = std::move(now);
  }
}

Reloader::FileSnapshot Reloader::read_snapshot() const {
  auto text = on_disk();
  if (!text) return {false, std::move(text).error().message};
  return {true, *std::move(text)};
}

// Notes a change before it is made, if the configuration requires that.
Result<void> Reloader::announce() const {
  const auto noted = current_.get()->audit.announce(
      std::move(audit::Entry("configuration_begins").text("file", file_.string())));
  return noted ? noted : fail_in(file_.string(), noted.error());
}

void Reloader::handle_change(const FileSnapshot& snapshot) {
  if (snapshot.readable) {
    if (const auto noted = announce(); !noted) {
      // The next look tries it again; it is reported once.
      if (std::exchange(unnoted_, snapshot) != snapshot) refuse(noted.error());
      return;
    }
  }
  unnoted_ = {false, {}};
  tried_ = snapshot;
  if (!snapshot.readable) return refuse(Error{Code::kIo, snapshot.text});
  auto state = prepare(snapshot.text);
  if (!state) return refuse(std::move(state).error());
  serve(*std::move(state));
}

void Reloader::refuse(Rejection rejection) {
  const auto serving = current_.get();
  serving->audit.add(std::move(audit::Entry("configuration_rejected")
                                   .text("file", file_.string())
                                   .text("active", serving->hash)));
  log_lines(rejection.error.message);
  log::error("config", "{}: rejected; generation {} stays active", file_.string(),
             current_.get()->generation);
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(rejection);
  ++counts_.failed;
}

tl::expected<std::unique_ptr<ServingState>, Reloader::Rejection> Reloader::prepare(
    const std::string& text) const {
  const auto serving = current_.get();
  std::string overlaid;
  if (overlay_) {
    SIGNALBOX_TRY(overlaid, overlay_(text, file_.string()));
  }
  config::Inspection inspection = config::inspect(overlay_ ? overlaid : text, file_.string());
  if (!inspection.config) return tl::unexpected<Error>(std::move(inspection.config).error());
  config::Config config = *std::move(inspection.config);
  std::vector<std::string> unchanged = keep_restart_only(serving->config(), config);
  Result<std::unique_ptr<ServingState>> built;
  run_nicely([&] {
    try {
      built = build_(std::move(config), text);
    } catch (const std::exception& e) {
      built = fail(Code::kInternal, "{}: {}", file_.string(), e.what());
    }
  });
  if (!built) {
    std::string summary = summary_of(built.error().message, file_.string(), text);
    // The code could reveal whether a file exists and how large it is.
    return tl::unexpected(
        Rejection({Code::kInvalid, std::move(built).error().message}, std::move(summary)));
  }
  std::unique_ptr<ServingState> state = *std::move(built);
  state->unchanged = std::move(unchanged);
  state->notices.insert(state->notices.begin(), inspection.notices.begin(),
                        inspection.notices.end());
  state->generation = serving->generation + 1;
  return state;
}

std::shared_ptr<const ServingState> Reloader::serve(std::unique_ptr<ServingState> state) {
  state->audit.add(std::move(audit::Entry("configuration")
                                 .text("file", file_.string())
                                 .number("generation", static_cast<int64_t>(state->generation))
                                 .text("before", current_.get()->hash)
                                 .text("after", state->hash)
                                 .text("keys", state->clients ? state->clients->keys_hash() : "")));
  for (const std::string& line : state->unchanged) log::warn("config", "{}", line);
  const auto serving = current_.get();
  for (const std::string& notice : state->notices) {
    if (std::ranges::find(serving->notices, notice) == serving->notices.end())
      log::warn("config", "notice: {}", notice);
  }
  log::info("config", "{}: generation {} is active: {}, {}, {}", file_.string(), state->generation,
            counted(state->config().providers.models.size(), "model"),
            counted(state->config().routing.decisions.size(), "decision"),
            counted(state->notices.size(), "notice"));
  current_.set(std::move(state));
  const std::lock_guard lock(mutex_);
  refusal_.reset();
  ++counts_.succeeded;
  counts_.last_success = std::chrono::system_clock::now();
  return current_.get();
}

Result<void> Reloader::lay_over(Overlay overlay) {
  const std::lock_guard lock(installing_);
  overlay_ = std::move(overlay);
  tried_ = read_snapshot();
  if (!tried_.readable) {
    refuse(Error{Code::kIo, tried_.text});
    return fail(Code::kIo, "{}", tried_.text);
  }
  if (auto noted = announce(); !noted) {
    // The next look tries it again.
    unnoted_ = std::exchange(tried_, {false, {}});
    refuse(noted.error());
    return noted;
  }
  auto state = prepare(tried_.text);
  if (!state) {
    refuse(state.error());
    return fail(state.error().error.code, "{}", state.error().summary);
  }
  serve(*std::move(state));
  return {};
}

tl::expected<Reloader::Applied, Reloader::Rejection> Reloader::apply(const Edit& edit) {
  const std::lock_guard lock(installing_);
  const auto serving = current_.get();
  const FileSnapshot before = read_snapshot();
  SIGNALBOX_TRY(std::string text, edit(*serving, before.readable ? &before.text : nullptr));
  auto applied = install(std::move(text), before.readable ? before.text : serving->text);
  if (!applied) {
    const std::lock_guard counting(mutex_);
    ++counts_.failed;
  }
  return applied;
}

tl::expected<Reloader::Applied, Reloader::Rejection> Reloader::install(std::string text,
                                                                       std::string_view before) {
  auto prepared = prepare(text);
  if (!prepared) {
    Rejection rejection = std::move(prepared).error();
    if (rejection.summary != rejection.error.message) log_lines(rejection.error.message);
    // kIo is reserved for write errors.
    if (rejection.error.code == Code::kIo) rejection.error.code = Code::kInvalid;
    return tl::unexpected(std::move(rejection));
  }
  std::unique_ptr<ServingState> state = *std::move(prepared);
  SIGNALBOX_TRY(std::string version, versions_.keep(before));
  SIGNALBOX_TRY_VOID(write_file(file_, text));
  tried_ = {true, std::move(text)};
  return Applied{std::move(version), serve(std::move(state))};
}

Reloader::Review Reloader::review(const std::string& text) const {
  config::Inspection inspection = config::inspect(text, file_.string());
  Review review;
  review.notices = std::move(inspection.notices);
  if (inspection.config) {
    review.unchanged = keep_restart_only(current_.get()->config(), *inspection.config);
  } else {
    for_each_line(inspection.config.error().message,
                  [&](std::string_view line) { review.errors.emplace_back(line); });
  }
  return review;
}

Result<std::string> Reloader::on_disk() const {
  return read_file(file_, config::kFileBytesMax);
}

}  // namespace signalbox::serving
