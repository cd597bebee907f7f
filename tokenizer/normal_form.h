#pragma once
// NFC, NFD, NFKC and NFKD of Unicode 9, which is the reference's.

#include <string_view>

#include "tokenizer/canonical_order.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/stable_set.h"

namespace signalbox::tokenizer {

class NormalForm final : public Normalizer {
 public:
  struct Kind {
    bool compatible;  // K
    bool composed;    // C, not D
  };
  explicit NormalForm(Kind kind);

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  bool is_local() const override { return true; }

 private:
  struct Work;
  void expand(char32_t c, Span from, Work& work, Normalized& out) const;
  void flush(Work& work, Normalized& out) const;
  void put_ordered(const Piece& piece, Work& work, Normalized& out) const;
  static void put(const Piece& piece, Work& work, Normalized& out);

  Kind kind_;
  StableSet stable_;  // starters that stay what they are whatever stands before them
  StableSet inert_;   // marks that stay what they are where they are in order
};

}  // namespace signalbox::tokenizer
