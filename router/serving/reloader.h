#pragma once
// Follows the configuration file: what changes is built and checked beside what serves and takes
// its place in one step; what is wrong changes nothing and is told.
//
// The file is read twice a second and compared. inotify was rejected: a ConfigMap changes by a
// symbolic link two folders up, editors rename, network file systems tell nobody, and a watch that
// was lost is silent; reading a hundred kilobytes costs microseconds. A text counts once two looks
// in a row have found it, so that a file that is being written is not taken for a whole one.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "router/serving/serving_state.h"
#include "router/serving/versions.h"

namespace signalbox::serving {

/// Thread-safe.
class Reloader {
 public:
  /// Makes a state of a configuration, which takes as long as its models and examples do.
  using Build =
      std::function<Result<std::unique_ptr<ServingState>>(config::Config config, std::string text)>;

  /// What a file's text becomes before it is read. Errors: as those of a wrong file.
  using Overlay = std::function<Result<std::string>(std::string_view file, std::string_view name)>;

  struct Rejection {
    std::string why;  // one line an error: "config.yaml:34: routing...: ..."
    std::chrono::system_clock::time_point at;
  };

  /// What became of configurations after the first, from the file or through the API. One that the
  /// API refuses to take up at all, because of a precondition, counts as neither.
  struct Counts {
    uint64_t succeeded = 0;
    uint64_t failed = 0;
    std::optional<std::chrono::system_clock::time_point> last_success = {};
  };

  /// `live` has a state, made of the text of `file`, and outlives this.
  Reloader(CurrentState& live, std::filesystem::path file, Build build);
  /// Waits for a state that is being built.
  ~Reloader();

  /// Reads the file again now, changed or not, on a thread of this.
  void reload();

  /// Makes a text from what serves and from what the file holds, which is null when it cannot be
  /// read.
  using Edit =
      std::function<Result<std::string>(const ServingState& serving, const std::string* on_disk)>;
  struct Applied {
    std::string version;  // of Versions: what the file held before
    std::shared_ptr<const ServingState> state;
  };
  /// Builds what `edit` makes, keeps the file as a version, writes it and serves the new state; or
  /// changes nothing. Waits for whoever else is changing it. Errors: the edit's, those of reading
  /// and building the configuration, kIo.
  Result<Applied> apply(const Edit& edit);

  /// Serves the file as the overlay makes it, now and whenever it changes, instead of by the
  /// overlay before. One that is refused is kept for the next change of the file; what serves goes
  /// on. Errors: those of a file that is refused, kIo.
  Result<void> lay_over(Overlay overlay);

  /// What is wrong with a text, and what of it is not built or takes a restart, as it would be told
  /// on loading; builds nothing.
  struct Review {
    std::vector<std::string> errors;
    std::vector<std::string> notices;
    std::vector<std::string> unchanged;
  };
  Review review(const std::string& text) const;

  const Versions& versions() const { return versions_; }
  /// What the file holds now. Errors: kNotFound, kIo, kTooLarge.
  Result<std::string> on_disk() const;
  const std::filesystem::path& file() const { return file_; }
  /// Why the newest text of the file does not serve; nothing when it does.
  std::optional<Rejection> refusal() const;
  Counts counts() const;

 private:
  /// What one look at the file found.
  struct FileSnapshot {
    bool readable = true;
    std::string text;  // or why not
    bool operator==(const FileSnapshot&) const = default;
  };

  void watch();
  FileSnapshot look() const;
  void act_on(const FileSnapshot& sight);
  Result<std::unique_ptr<ServingState>> prepare(const std::string& text) const;
  Result<Applied> install(std::string text, std::string_view before);
  std::shared_ptr<const ServingState> serve(std::unique_ptr<ServingState> state);
  void refuse(const std::string& why);

  CurrentState& live_;
  const std::filesystem::path file_;
  const Build build_;
  const Versions versions_;
  std::mutex installing_;  // one at a time
  FileSnapshot tried_;     // what serves or was refused
  Overlay overlay_;        // may be empty

  mutable std::mutex mutex_;
  std::optional<Rejection> refusal_;
  Counts counts_;
  std::condition_variable wake_;
  bool asked_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::serving
