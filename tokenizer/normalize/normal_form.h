#pragma once
// NFC, NFD, NFKC and NFKD of Unicode 9, the version used by the reference.

#include <string_view>

#include "tokenizer/normalize/canonical_order.h"
#include "tokenizer/normalize/stable_set.h"
#include "tokenizer/normalizer.h"

namespace signalbox::tokenizer {

class NormalForm final : public Normalizer {
 public:
  struct Kind {
    bool compatible;  // the K forms
    bool composed;    // the C forms, not the D forms
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
  StableSet stable_;  // starters that never change, regardless of the preceding text
  StableSet inert_;   // marks that never change if they are in order
};

}  // namespace signalbox::tokenizer
