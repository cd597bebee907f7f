#pragma once
// What else is looked at once a whole file was read.

#include "router/config/config.h"
#include "router/config/reader.h"

namespace signalbox::config {

/// Notices a store of answers that is switched on in a file of v0.3, `node`, and that no decision
/// of it, `config`, keeps answers in.
void check_answers(Reader& reader, const yaml::Node& node, const Config& config);

}  // namespace signalbox::config
