#pragma once
// Gemini's models sign a call of a tool, and refuse the conversation if the call comes back without
// its signature. Clients of other APIs keep nothing of a call but its id, name and arguments, so
// the id carries the signature: the server's id, a mark, and the signature in base64 for URLs.

#include <string>
#include <string_view>

namespace signalbox::dialects {

/// A call's id as its server wrote it. `signature` is "" if there is none.
struct CallId {
  std::string_view id;
  std::string signature;
};

/// The id for the client. A signature that is not base64 is left out.
std::string signed_id(std::string_view id, std::string_view signature);
CallId split_id(std::string_view signed_id);
/// False if surely no id in the text carries a signature.
bool may_have_signed_ids(std::string_view text);

}  // namespace signalbox::dialects
