#pragma once
// Personal data and secrets that rules can find: by checksums, ranges, fixed shapes, or a word
// nearby. A model finds the types without rules (names, places, an age); merge.h joins the two.
// These are hand-written scanners instead of patterns: the checks (Luhn, mod 97, the length for
// each country) are code anyway, and the cost of every step is bounded by what it can read.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::pii {

/// The source of a finding.
enum class PiiSource : uint8_t { kRule, kModel, kBoth };
/// "rule", "model" or "both".
std::string_view pii_source_name(PiiSource source);

struct PiiEntity {
  std::string type;  // in upper case, as in the Semantic Router's mapping: "EMAIL_ADDRESS"
  size_t begin;      // offsets into the text in bytes
  size_t end;        // exclusive
  double score;      // 0 to 1
  PiiSource source;
};

/// Finds what rules can find in a UTF-8 text (invalid bytes belong to no finding): in order,
/// without overlaps, in whole characters. The score is 1.0 for data that can be checked itself,
/// 0.95 for data that is recognised by its shape and the words around it, and 0.6 for a date that
/// is written out. One pass, or three for a text with zero-width characters, in time linear in the
/// text for any input; pure.
std::vector<PiiEntity> find_pii_by_rules(std::string_view text);

/// The types that rules can find.
std::span<const std::string_view> pii_rule_types();

/// True if rules know a type's exact extent better than a model does, by a checksum or a grammar.
/// False for phone numbers, dates, ZIP codes and licences, which depend on their context.
bool is_checked_pii(std::string_view type);

}  // namespace signalbox::pii
