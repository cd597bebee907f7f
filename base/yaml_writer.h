#pragma once
// Writes a tree as readable YAML: block style, quotes only where needed, and multi-line texts as
// literal blocks. Comments and anchors are not part of the tree and are not written.

#include <string>

#include "base/yaml.h"

namespace signalbox::yaml {

/// Parsing the result gives the same tree, except for lines and columns. A mapping or sequence at
/// the top level ends with a line feed.
std::string write(const Node& root);

}  // namespace signalbox::yaml
