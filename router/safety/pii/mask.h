#pragma once
// Placeholders for personal data and their replacement by the originals. Each value has one
// placeholder such as "[EMAIL_ADDRESS_1]", the same wherever the value occurs in a request.

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

/// Assigns placeholders, numbered from 1 within a type in the order in which the values come. A
/// conversation that has grown by a turn keeps the placeholders of its beginning.
class Masks {
 public:
  /// A placeholder that occurs in `taken`, for example because the client wrote it, is never
  /// assigned. The numbers of each type begin after `before`.
  explicit Masks(std::string_view taken, size_t before = 0) : before_(before) { avoid(taken); }

  /// Also excludes the placeholders in this text. Call it before of().
  void avoid(std::string_view text);

  const std::string& of(std::string_view type, std::string_view value);
  const std::vector<Mask>& all() const { return all_; }
  std::vector<Mask> take() { return std::move(all_); }

 private:
  size_t before_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, size_t, std::less<>> numbers_;                    // by type
  std::map<std::pair<std::string, std::string>, size_t> index_of_value_;  // in all_
  std::vector<Mask> all_;
};

/// Masks sorted for lookup, once for any number of texts. Immutable.
class MaskTable {
 public:
  explicit MaskTable(std::vector<Mask> masks);

  /// The mask whose placeholder is `text` or, if there is none, one whose placeholder begins with
  /// it; nullptr if there is neither.
  const Mask* find(std::string_view text) const;

 private:
  std::vector<Mask> by_placeholder_;
};

/// Replaces placeholders by originals in a text that arrives in pieces, cut anywhere. Holds back
/// only bytes that may still become a placeholder, which are fewer than the longest placeholder
/// has.
class Unmasker {
 public:
  /// The masks must outlive this object.
  explicit Unmasker(const MaskTable& masks) : masks_(&masks) {}

  /// Appends the bytes that are final.
  void push(std::string_view text, std::string& out);
  /// Appends the bytes that are held back; the text has ended.
  void finish(std::string& out);
  bool holds_back() const { return !held_.empty(); }
  /// Uses other originals for the same placeholders from here on.
  void use(const MaskTable& masks) { masks_ = &masks; }

 private:
  const MaskTable* masks_;
  std::string held_;  // begins with '[' and may become a placeholder
};

/// For a whole text such as "write to [EMAIL_ADDRESS_1]".
std::string unmasked(std::string_view text, const MaskTable& masks);

}  // namespace signalbox::pii
