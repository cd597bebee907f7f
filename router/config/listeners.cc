// `listeners`: where clients connect.

#include "router/config/sections.h"

namespace signalbox::config {

using namespace std::chrono_literals;

namespace {

void check_tls(Reader& reader, const yaml::Node& node, Listener& listener) {
  if (listener.tls_cert_path.empty() == listener.tls_key_path.empty()) return;
  reader.error(node.line, "expected tls_cert_path and tls_key_path, found one of them");
}

}  // namespace

const Section<Listener>& listener_section() {
  static const Section<Listener> section{
      {
          required("name", text(&Listener::name), "how the log calls it"),
          optional("address", text(&Listener::address), "interface to bind"),
          required("port", integer(&Listener::port, 0, 65535),
                   "TCP port; 0 lets the system choose"),
          optional("timeout", duration(&Listener::timeout, 1ms, 24h),
                   "for a whole request, reply included"),
          optional("tls_cert_path", text(&Listener::tls_cert_path),
                   "a certificate and its chain, PEM: HTTPS instead of HTTP; ours"),
          optional("tls_key_path", text(&Listener::tls_key_path),
                   "the certificate's key, PEM; ours"),
      },
      check_tls};
  return section;
}

void add_default_listener(Config& config) {
  if (config.listeners.empty()) config.listeners.push_back({.name = "http-8801", .port = 8801});
}

}  // namespace signalbox::config
