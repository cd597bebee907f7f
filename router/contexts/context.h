#pragma once
// A context is a list of messages that several requests begin with. It is stored once and
// identified by the SHA-256 of its bytes. The stored bytes are the text between the brackets of a
// `messages` array, unchanged, because a model server recognizes a prompt's prefix only if no byte
// differs.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::contexts {

/// A tenant and an id. A tenant cannot see another tenant's contexts, not even that they exist.
struct Key {
  std::string tenant;  // "": clients without an identity
  std::string id;

  auto operator<=>(const Key&) const = default;
};

/// The metadata of a context, without its content.
struct Context {
  Key key;
  uint64_t bytes = 0;     // size of its messages
  uint32_t messages = 0;  // at least one
  int64_t created = 0;    // seconds since 1970
  bool pinned = false;    // stays in memory and does not expire
  bool shared = false;    // is in the shared level, where other routers find it
};

/// Returns "ctx_" and 64 hexadecimal digits.
std::string id_of(std::string_view content);
bool is_id(std::string_view text);

/// Returns the name under which a key is stored: a hash of tenant and id, so that no text of a
/// client becomes a path or a name.
std::string name_of(const Key& key);

}  // namespace signalbox::contexts
