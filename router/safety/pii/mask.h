#pragma once
// Placeholders for personal data, and the way back: "[EMAIL_ADDRESS_1]" for each value, the same
// for the same value, wherever it stands in a request.

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/safety/pii/rules.h"

namespace signalbox::pii {

struct Mask {
  std::string placeholder;  // "[US_SSN_2]": brackets, upper case, digits, underscores
  std::string original;
};

/// Hands placeholders out, numbered from 1 within a type in the order in which values come: a
/// conversation that has grown by a turn has the same ones for its beginning.
class Masks {
 public:
  /// A placeholder that occurs in `taken`, as a client may have written one, is handed out for
  /// nothing.
  explicit Masks(std::string_view taken) { avoid(taken); }

  /// Nor one that occurs in this. To be called before of().
  void avoid(std::string_view text);

  const std::string& of(std::string_view type, std::string_view value);
  const std::vector<Mask>& all() const { return all_; }
  std::vector<Mask> take() { return std::move(all_); }

 private:
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, size_t, std::less<>> numbers_;                    // by type
  std::map<std::pair<std::string, std::string>, size_t> index_of_value_;  // in all_
  std::vector<Mask> all_;
};

/// Masks as they are looked up, put in order once for however many texts. Immutable.
class MaskTable {
 public:
  explicit MaskTable(std::vector<Mask> masks);

  /// The mask whose placeholder is `text`, or else one of those that begin with it; nullptr: none.
  const Mask* find(std::string_view text) const;

 private:
  std::vector<Mask> by_placeholder_;
};

/// Puts originals in the place of placeholders in a text that comes in pieces, cut anywhere. Holds
/// back only what may still become a placeholder, which is less than the longest.
class Unmasker {
 public:
  /// The masks outlive it.
  explicit Unmasker(const MaskTable& masks) : masks_(&masks) {}

  /// Appends what is sure by now.
  void push(std::string_view text, std::string& out);
  /// Appends what is held back: the text has ended.
  void finish(std::string& out);
  bool holds_back() const { return !held_.empty(); }
  /// From here on, other originals of the same placeholders.
  void use(const MaskTable& masks) { masks_ = &masks; }

 private:
  const MaskTable* masks_;
  std::string held_;  // begins with '[', is the beginning of a placeholder
};

/// unmasked("write to [EMAIL_ADDRESS_1]")
std::string unmasked(std::string_view text, const MaskTable& masks);

}  // namespace signalbox::pii
