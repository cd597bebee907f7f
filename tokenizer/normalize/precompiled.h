#pragma once
// The Precompiled normalizer of tokenizer.json: sentencepiece's replacement table, applied as in
// Hugging Face's tokenizers, which differs from sentencepiece. The reference works on grapheme
// clusters. It replaces a cluster of fewer than six bytes as a whole if any prefix of it has a rule
// (so "\r\n" becomes the replacement of "\r"). In other clusters it replaces each character
// separately. If it removes characters at the very beginning, the alignment of all later characters
// is shifted back. This implementation reproduces all of that exactly.

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

  /// `blob` contains the size of the trie in bytes (32 bits), the trie in darts-clone's layout
  /// (32-bit units, little-endian), and the replacements, each terminated by NUL. Errors: kCorrupt
  /// if a size or offset is out of range or inside a character.
  static Result<std::unique_ptr<const Precompiled>> parse(std::string_view blob);

  bool keeps(std::string_view text) const override;
  void normalize(const TextView& in, Normalized& out) const override;
  /// False if the text begins with removed characters, because that shifts the alignment of the
  /// whole rest.
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

  std::vector<uint32_t> trie_;  // units in darts-clone's layout
  std::string replacements_;
  std::array<bool, 128> ascii_kept_{};  // no rule begins with it
  bool spaces_stay_ = false;  // a space stays a space, and no other visible ASCII becomes a space
                              // or disappears
};

}  // namespace signalbox::tokenizer
