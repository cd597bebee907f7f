#pragma once
// Applies an IntelligentPool and an IntelligentRoute, from a namespace or from a folder, to the
// configuration. It watches them on a thread of its own and passes on an overlay that merges them
// into the configuration file. Every router does this for itself; there is no leader.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::kubernetes {

class Controller {
 public:
  /// Turns the file's text into the merged text.
  using Overlay = std::function<Result<std::string>(std::string_view file, std::string_view name)>;
  /// Applies an overlay or returns why it cannot. Called on the controller's thread, which waits
  /// for it.
  using Apply = std::function<Result<void>(Overlay overlay)>;

  /// Errors: kInvalid if the server or the namespace cannot be determined.
  static Result<std::unique_ptr<Controller>> start(const config::Kubernetes& config, Apply apply);
  ~Controller();

  /// Waits and returns true if the resources were applied or refused within `limit`.
  bool wait(std::chrono::milliseconds limit);

 private:
  struct Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::kubernetes
