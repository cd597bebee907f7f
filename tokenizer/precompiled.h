#pragma once
// The Precompiled normalizer of tokenizer.json: sentencepiece's table of replacements, as Hugging
// Face's tokenizers applies it, which is not how sentencepiece does. The reference goes by grapheme
// clusters: one of fewer than six bytes is replaced whole when any beginning of it has a rule (so
// "\r\n" becomes what "\r" becomes), and of the others each character by itself. Characters that
// are removed at the very beginning leave the alignment of the rest one place behind each. All this
// is followed to the byte.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/normalizer.h"

namespace signalbox::tokenizer {

class Precompiled final : public Normalizer {
 public:
  static constexpr size_t kBlobBytesMax = size_t{4} << 20;  // 16 times the largest in use

  /// `blob`: the size of the trie in bytes as 32 bits, the trie as darts-clone lays it out (units
  /// of 32 bits, all little-endian), and the replacements, each ended by NUL. Errors: kCorrupt,
  /// where a size or an offset leads outside or between the bytes of a character.
  static Result<std::unique_ptr<const Precompiled>> parse(std::string_view blob);

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  /// Not where the text begins with what is removed, since that moves the rest to its end.
  bool is_local_in(std::string_view text) const override;

 private:
  class Aligned;
  struct Rule {
    bool found = false;
    std::string_view replacement;
  };
  Result<void> check() const;
  void look_at_ascii();
  Result<void> check_value(uint32_t node) const;
  Rule rule(std::string_view text) const;
  uint32_t kept_ascii_end(std::string_view text, uint32_t begin) const;
  void put_cluster(std::string_view cluster, Aligned& aligned) const;
  std::string_view replacement_at(uint32_t at) const;

  std::vector<uint32_t> trie_;  // darts-clone's units
  std::string replacements_;
  std::array<bool, 128> ascii_kept_{};  // no rule begins with it
  bool spaces_stay_ = false;  // a space is one, and no other visible ASCII becomes one or nothing
};

}  // namespace signalbox::tokenizer
