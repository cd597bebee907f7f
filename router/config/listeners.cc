// `listeners`: where clients connect.

#include "router/config/sections.h"
#include "router/config/tls_pair.h"

namespace signalbox::config {

using namespace std::chrono_literals;

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
      check_tls_pair<Listener>};
  return section;
}

void add_default_listener(Config& config) {
  if (config.listeners.empty()) config.listeners.push_back({.name = "http-8801", .port = 8801});
}

}  // namespace signalbox::config
