// Takes the place of server.cc in a program that is built without gRPC.

#include "router/extproc/server.h"

namespace signalbox::extproc {

struct Server::Impl {};

Result<std::unique_ptr<Server>> Server::start(const config::ExtProc&, const config::HttpLimits&,
                                              http::ErrorBody, FindHost) {
  return fail(
      Code::kUnsupported,
      "global.services.ext_proc: this program was built without it (SIGNALBOX_EXTPROC=OFF)");
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

uint16_t Server::port() const {
  return 0;
}

bool Server::drain(std::chrono::milliseconds) {
  return true;
}

void Server::stop() {}

}  // namespace signalbox::extproc
