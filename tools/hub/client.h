#pragma once
// Reads from a Hugging Face hub: the list of a repository's files, and the files. Waits and tries
// again when the hub is busy, and resumes a file after a lost connection.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tools/hub/http.h"
#include "tools/hub/repository.h"

namespace signalbox::tools {

inline constexpr std::string_view kDefaultHub = "https://huggingface.co";

struct HubSettings {
  std::string endpoint = std::string(kDefaultHub);  // without a slash at the end
  std::string token = {};                           // goes to the endpoint's host only; "": none
  std::function<void(std::string_view line)> print = [](std::string_view) {};
};

/// Reads HF_ENDPOINT and HF_TOKEN. kInvalid names the variable; the token itself is never printed.
/// A token is refused for an endpoint without TLS on another machine.
Result<HubSettings> hub_settings_from_environment();

class HubClient {
 public:
  explicit HubClient(HubSettings settings) : settings_(std::move(settings)) {}

  /// The files of a revision; "" is the default branch. `scratch` is an existing folder for the
  /// answer. Errors begin with the name: kNotFound with the probable reason (spelling, private,
  /// gated, no such revision), kUpstream, kCancelled, and those of read_repository().
  Result<Repository> list(const RepositoryName& name, const std::filesystem::path& scratch) const;

  /// Fetches a file of a commit to `to`, whose folder exists. It continues a file that an
  /// earlier call left there. Size and digest are checked, as far as `file` states them. Errors
  /// name the file: kCorrupt with expected and found, after which `to` is gone; kUpstream and
  /// kCancelled, after which `to` keeps the bytes that came; kIo.
  Result<void> fetch(std::string_view id, std::string_view commit, const RepositoryFile& file,
                     const std::filesystem::path& to,
                     const std::function<void(uint64_t bytes)>& progress) const;

 private:
  Result<HttpReply> get_once(HttpRequest request, const RepositoryFile* file) const;
  /// Returns whether the file consists of several replies.
  Result<bool> transfer(std::string_view id, std::string_view commit, const RepositoryFile& file,
                        const std::filesystem::path& to,
                        const std::function<void(uint64_t bytes)>& progress) const;

  HubSettings settings_;
};

/// Compares a file's size and digests with those stated for it. kCorrupt with expected and found.
Result<void> check_file(const std::filesystem::path& path, const RepositoryFile& file);

/// The seconds that a Retry-After header requires, at least `least`. A date counts as `least`.
double retry_after(std::string_view header, double least);

}  // namespace signalbox::tools
