// Takes the place of controller.cc in a program that is built without Kubernetes resources.

#include "router/kubernetes/controller.h"

namespace signalbox::kubernetes {

struct Controller::Impl {};

Result<std::unique_ptr<Controller>> Controller::start(const config::Kubernetes&, Apply) {
  return fail(Code::kUnsupported,
              "global.router.config_source: this program was built without Kubernetes resources "
              "(SIGNALBOX_KUBERNETES=OFF)");
}

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Controller::~Controller() = default;

bool Controller::wait(std::chrono::milliseconds) {
  return true;
}

}  // namespace signalbox::kubernetes
