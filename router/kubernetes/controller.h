#pragma once
// Keeps the configuration as an IntelligentPool and an IntelligentRoute of a namespace say, or of a
// folder: follows them on a thread of its own and hands over what they make of the configuration
// file. Every router does it for itself; none leads.

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
  /// What a file's text becomes.
  using Overlay = std::function<Result<std::string>(std::string_view file, std::string_view name)>;
  /// Takes it up, or says why not; called on the controller's thread, which waits for it.
  using Apply = std::function<Result<void>(Overlay overlay)>;

  /// Errors: kInvalid for a server or a namespace that cannot be found out.
  static Result<std::unique_ptr<Controller>> start(const config::Kubernetes& config, Apply apply);
  ~Controller();

  /// Whether the resources have been taken up, or refused, in that time.
  bool wait(std::chrono::milliseconds limit);

 private:
  struct Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::kubernetes
