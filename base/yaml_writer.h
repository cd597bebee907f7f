#pragma once
// Writes a tree as YAML that people like to read: block style, quotes only where they are needed,
// texts of several lines as blocks. Comments and anchors are no part of a tree and do not come
// back.

#include <string>

#include "base/yaml.h"

namespace signalbox::yaml {

/// parse() of the result is the same tree, lines and columns aside. A mapping or a sequence at the
/// top ends with a line feed.
std::string write(const Node& root);

}  // namespace signalbox::yaml
