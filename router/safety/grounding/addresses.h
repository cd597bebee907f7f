#pragma once
// Web and mail addresses: if a context has addresses, an answer may use only those.

#include <vector>

#include "router/text/facts.h"

namespace signalbox::grounding {

/// Add texts first. After that it is immutable and thread-safe.
class Addresses {
 public:
  /// The text must outlive this object.
  void add(const text::ReadText& text);

  /// The addresses of an answer that no text contains. An address of a kind (web or mail) that the
  /// texts lack altogether is not reported.
  std::vector<text::ByteSpan> unknown(const text::ReadText& answer) const;

 private:
  bool contain(std::string_view address) const;

  std::vector<const text::ReadText*> texts_;
  bool has_pages_ = false, has_mails_ = false;
};

}  // namespace signalbox::grounding
