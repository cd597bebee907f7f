#pragma once
// Types of personal data as keys name them. A model of the user's own may mark others, which are
// known once it is loaded, so a name that is not known here is a notice.

#include <span>

#include "router/config/values.h"

namespace signalbox::config {

/// What rules find and what the models of the project mark; in upper case, sorted.
std::span<const std::string_view> known_pii_types();

/// Notices each of the types, which are those of the list at the node, that is not known.
void note_unknown_pii_types(Reader& reader, const yaml::Node& node,
                            std::span<const std::string> types);

/// A list of types, upper and lower case alike.
template <class T>
Value<T> pii_types(std::vector<std::string> T::*member) {
  Value<T> plain = texts(member);
  return {plain.expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            plain.read(reader, node, out);
            note_unknown_pii_types(reader, node, out.*member);
          },
          plain.describe};
}

}  // namespace signalbox::config
