#pragma once
// What the tables of listeners check of their certificates.

#include "router/config/section.h"

namespace signalbox::config {

/// A certificate comes with its key, and a key with its certificate.
template <class Listening>
void check_tls_pair(Reader& reader, const yaml::Node& node, Listening& listening) {
  if (listening.tls_cert_path.empty() == listening.tls_key_path.empty()) return;
  reader.error(node.line, "expected tls_cert_path and tls_key_path, found one of them");
}

}  // namespace signalbox::config
