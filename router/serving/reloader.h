#pragma once
// Watches the configuration file. A change is built and checked while the current state serves, and
// takes its place in one step. An invalid file changes nothing and is reported.
//
// The file is read twice a second and compared. inotify was rejected: a ConfigMap changes by a
// symbolic link two folders up, editors rename files, network file systems send no events, and a
// lost watch fails silently. Reading a hundred kilobytes costs microseconds. A text counts only
// after two readings in a row have found it, so that a file that is being written is not taken for
// complete.

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
  /// Makes a state from a configuration. This takes as long as loading its models and examples.
  using Build =
      std::function<Result<std::unique_ptr<ServingState>>(config::Config config, std::string text)>;

  /// Turns the file's text into the text to parse. Its errors count like those of an invalid file.
  using Overlay = std::function<Result<std::string>(std::string_view file, std::string_view name)>;

  /// Why a configuration does not serve.
  struct Rejection {
    /// An error that quotes no file but the configuration.
    Rejection(Error all) : error(std::move(all)), summary(error.message) {}
    Rejection(Error all, std::string shown) : error(std::move(all)), summary(std::move(shown)) {}

    Error error;          // one line per error: "config.yaml:34: routing...: ..."
    std::string summary;  // for callers who must not see what other files contain
    std::chrono::system_clock::time_point at = std::chrono::system_clock::now();
  };

  /// Outcomes of configurations after the first, from the file or from the API. A change that the
  /// API refuses beforehand, because of a precondition, is not counted.
  struct Counts {
    uint64_t succeeded = 0;
    uint64_t failed = 0;
    std::optional<std::chrono::system_clock::time_point> last_success = {};
  };

  /// `current` has a state that was made from the text of `file`. It must outlive this object.
  Reloader(CurrentState& current, std::filesystem::path file, Build build);
  /// Waits for a state that is being built.
  ~Reloader();

  /// Reads the file again now, changed or not, on this object's thread.
  void reload();

  /// Makes a new text from the serving state and from the text on disk, which is null if it cannot
  /// be read.
  using Edit =
      std::function<Result<std::string>(const ServingState& serving, const std::string* on_disk)>;
  struct Applied {
    std::string version;  // the name in Versions of the previous text
    std::shared_ptr<const ServingState> state;
  };
  /// Builds the text that `edit` returns, keeps the file as a version, writes the text and serves
  /// the new state. On an error it changes nothing. It waits for other changes in progress. Errors:
  /// those of `edit`, those of reading and building the configuration, kIo. If the summary of a
  /// rejection differs from its error, the log has the error.
  tl::expected<Applied, Rejection> apply(const Edit& edit);

  /// From now on serves the file as the overlay transforms it, now and at every change; replaces
  /// the previous overlay. If the result is rejected, the overlay stays for the next change of the
  /// file, and the current state stays active. Errors: those of a rejected file, kIo.
  Result<void> lay_over(Overlay overlay);

  /// The errors in a text, its notices, and the settings that need a restart, as loading it would
  /// report them. It builds nothing.
  struct Review {
    std::vector<std::string> errors;
    std::vector<std::string> notices;
    std::vector<std::string> unchanged;
  };
  Review review(const std::string& text) const;

  const Versions& versions() const { return versions_; }
  /// Returns the file's text. Errors: kNotFound, kIo, kTooLarge.
  Result<std::string> on_disk() const;
  const std::filesystem::path& file() const { return file_; }
  /// Returns why the file's newest text is not active, or nullopt if it is.
  std::optional<Rejection> refusal() const;
  Counts counts() const;

 private:
  /// The result of reading the file once.
  struct FileSnapshot {
    bool readable = true;
    std::string text;  // the text, or the error if it is not readable
    bool operator==(const FileSnapshot&) const = default;
  };

  void watch();
  Result<void> announce() const;
  FileSnapshot read_snapshot() const;
  void handle_change(const FileSnapshot& snapshot);
  tl::expected<std::unique_ptr<ServingState>, Rejection> prepare(const std::string& text) const;
  tl::expected<Applied, Rejection> install(std::string text, std::string_view before);
  std::shared_ptr<const ServingState> serve(std::unique_ptr<ServingState> state);
  void refuse(Rejection rejection);

  CurrentState& current_;
  const std::filesystem::path file_;
  const Build build_;
  const Versions versions_;
  std::mutex installing_;               // held by the one change in progress
  FileSnapshot tried_;                  // the last text that was applied or rejected
  FileSnapshot unnoted_ = {false, {}};  // a text that waits until the audit log can be written
  Overlay overlay_;                     // may be empty

  mutable std::mutex mutex_;
  std::optional<Rejection> refusal_;
  Counts counts_;
  std::condition_variable wake_;
  bool reload_requested_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::serving
