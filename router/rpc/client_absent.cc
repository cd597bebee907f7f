// Takes the place of client.cc in a program that is built without gRPC.

#include "router/rpc/client.h"

namespace signalbox::rpc {

void use_system_resolver() {}

struct Client::Impl {};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::create(Server) {
  return fail(Code::kUnsupported, "this program was built without gRPC (SIGNALBOX_EXTPROC=OFF)");
}

Reply Client::call(const std::string&, std::string_view, std::chrono::milliseconds) {
  return {};
}

}  // namespace signalbox::rpc
