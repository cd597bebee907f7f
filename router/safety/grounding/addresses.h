#pragma once
// Addresses of pages, servers and mail: those of an answer have to stand in its context, if that
// has any.

#include <cstdint>
#include <vector>

#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

/// The end (half-open) of the address that begins with the token, or the token where none does:
/// "https://...", "www....".
size_t past_address(const ReadText& text, size_t token, size_t end);

/// Filled, then immutable and free for any number of threads.
class Addresses {
 public:
  /// The text is looked into as long as this lives.
  void add(const ReadText& text);

  /// Those of an answer that the texts do not have, with or without what follows them, although
  /// they have addresses.
  std::vector<ByteSpan> unknown(const ReadText& answer) const;

 private:
  bool hold(std::string_view address) const;
  bool is_unknown(const ReadText& answer, ByteSpan& span) const;

  std::vector<const ReadText*> texts_;
  bool pages_ = false, mails_ = false;  // whether they have any
};

}  // namespace signalbox::grounding
