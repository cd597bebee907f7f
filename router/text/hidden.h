#pragma once
// Finds text that is written so that people or models can read it but a classifier of plain text
// cannot: encoded, reversed, or in characters that look like letters or are invisible.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::text {

struct HiddenText {
  std::string text;
  size_t begin = 0, end = 0;  // the bytes of the source that it was read from
  bool is_complete = true;    // false: the bytes themselves must be read, too
};

/// Returns the texts hidden in a text:
/// - what runs of base64, base32, hexadecimal and binary digits stand for, if that is text;
/// - runs of letters between spaces ("i g n o r e   a l l"), joined;
/// - the text with fullwidth, mathematical and tag characters as ASCII, look-alikes as the Latin
///   letters that they imitate, entities (&#73;) and escapes (%49, \u0049) resolved, and no
///   invisible characters, if at least three characters differ. A second form, if it differs, also
///   changes words that consist of look-alikes only; it is not complete;
/// - the text with words that were moved along the alphabet (ROT13 and others) or lines that were
///   reversed in their plain form, if that is English. It is complete if no plain word was changed.
/// Decodes once, but base64 of base64 completely. The results together have at most five times the
/// bytes of the text: runs of digits add their own at most, and each of four forms the text's.
/// Takes linear time.
std::vector<HiddenText> hidden_texts(std::string_view text);

/// Returns only what runs of base64, base32, hexadecimal and binary digits, of entities and
/// escapes, and of tag characters stand for.
std::vector<HiddenText> encoded_texts(std::string_view text);

}  // namespace signalbox::text
