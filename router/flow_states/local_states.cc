// The order of the states is that of their ends, because all have the same lifetime. A file's time
// of change is the beginning of its state, so that a restart needs no other record.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "router/flow_states/flow_states.h"
#include "router/flow_states/state_id.h"

namespace signalbox::flow_states {
namespace {

namespace fs = std::filesystem;
using TimePoint = std::chrono::system_clock::time_point;

constexpr std::string_view kSuffix = ".flow";
/// The size of a state beside its text.
constexpr size_t kStateBytes = 256;

class LocalStates final : public FlowStates {
 public:
  LocalStates(fs::path folder, const Limits& limits, Clock clock)
      : folder_(std::move(folder)), limits_(limits), clock_(std::move(clock)) {}

  Result<void> open() {
    if (folder_.empty()) return {};
    std::error_code error;
    // Other programs may use a folder that was there before. Its files are the owner's alone.
    if (fs::create_directories(folder_, error))
      fs::permissions(folder_, fs::perms::owner_all, error);
    std::vector<State> found;
    for (fs::directory_iterator each(folder_, error), end; !error && each != end;
         each.increment(error))
      add_file(*each, found);
    if (error) return fail(Code::kIo, "{}: {}", folder_.string(), error.message());
    std::sort(found.begin(), found.end(),
              [](const State& a, const State& b) { return a.began < b.began; });
    for (State& state : found) add(std::move(state));
    make_room();
    return {};
  }

  Result<void> put(std::string_view id, std::string text) override {
    SIGNALBOX_CHECK(is_id(id));
    if (text.size() > limits_.state_bytes)
      return fail(Code::kTooLarge, "the state has {} bytes, more than {}", text.size(),
                  limits_.state_bytes);
    State state{std::string(id), clock_(), text.size(), {}};
    if (folder_.empty()) {
      text.shrink_to_fit();  // the writer has reserved up to twice its size
      state.text = std::move(text);
    } else {
      // The id is new, so that nobody else writes this file.
      FileWriter file(path_of(id), Readers::kOwner);
      file.append(text);
      SIGNALBOX_TRY_VOID(file.commit());
    }
    const std::lock_guard lock(mutex_);
    add(std::move(state));
    make_room();
    return {};
  }

  Result<std::string> get(std::string_view id) override {
    {
      const std::lock_guard lock(mutex_);
      make_room();
      const auto found = by_id_.find(id);
      if (found == by_id_.end()) return fail(Code::kNotFound, "there is no such state");
      if (folder_.empty()) return states_[found->second - first_].text;
    }
    // A file that is removed meanwhile is not found.
    return read_file(path_of(id), limits_.state_bytes);
  }

 private:
  struct State {
    std::string id;
    TimePoint began;
    size_t bytes;
    std::string text;  // "" if it is in a file
  };

  fs::path path_of(std::string_view id) const { return folder_ / std::string(id).append(kSuffix); }

  void add_file(const fs::directory_entry& entry, std::vector<State>& out) const {
    if (entry.path().extension() != kSuffix || !is_id(entry.path().stem().string())) return;
    std::error_code error;
    const auto bytes = entry.file_size(error);
    if (error) return;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(error);
    if (error) return;
    const auto began = clock_() - std::chrono::duration_cast<TimePoint::duration>(age);
    out.push_back({entry.path().stem().string(), began, static_cast<size_t>(bytes), {}});
  }

  void add(State state) {
    bytes_ += state.bytes + kStateBytes;
    by_id_.emplace(state.id, first_ + states_.size());
    states_.push_back(std::move(state));
  }

  // Removes the states that have ended, and the oldest ones if there are too many.
  void make_room() {
    const TimePoint now = clock_();
    while (!states_.empty()) {
      const State& oldest = states_.front();
      const bool has_ended = now - oldest.began >= limits_.lifetime;
      if (!has_ended && bytes_ <= limits_.bytes && states_.size() <= limits_.count) return;
      if (!folder_.empty()) remove_file(oldest.id);
      bytes_ -= oldest.bytes + kStateBytes;
      by_id_.erase(oldest.id);
      states_.pop_front();
      ++first_;
    }
  }

  void remove_file(const std::string& id) const {
    std::error_code error;
    fs::remove(path_of(id), error);
    if (error) log::warn("flow", "{}: {}", path_of(id).string(), error.message());
  }

  const fs::path folder_;  // "": none
  const Limits limits_;
  const Clock clock_;
  std::mutex mutex_;                                    // guards the rest
  std::deque<State> states_;                            // oldest first
  uint64_t first_ = 0;                                  // the number of the oldest one
  std::map<std::string, uint64_t, std::less<>> by_id_;  // numbers
  size_t bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<FlowStates>> open_local(const std::string& folder, const Limits& limits,
                                               Clock clock) {
  auto out = std::make_unique<LocalStates>(folder, limits, std::move(clock));
  SIGNALBOX_TRY_VOID(out->open());
  return out;
}

}  // namespace signalbox::flow_states
