#pragma once
// Personal data and secrets that have rules: checksums, ranges, fixed shapes, or a word beside them
// that says what they are. What has no rule (names, places, an age) is a model's; pii_merge joins
// the two. Hand-written scanners and not patterns: the checks (Luhn, mod 97, lengths a country) are
// code anyway, and every step's cost is bounded by what it can read.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::pii {

/// Who found it.
enum class PiiSource : uint8_t { kRule, kModel, kBoth };
/// "rule", "model" or "both".
std::string_view pii_source_name(PiiSource source);

struct PiiEntity {
  std::string type;  // in upper case, as upstream's mapping names them: "EMAIL_ADDRESS"
  size_t begin;      // bytes of the text
  size_t end;        // exclusive
  double score;      // 0 to 1
  PiiSource source;
};

/// What rules find in a text of UTF-8 (other bytes belong to nothing): in order, not overlapping,
/// each whole characters. Scores are 1.0 where the thing itself can be checked and 0.95 where its
/// shape and the words around it speak for it, 0.6 for a date that is written out. One pass, in
/// time linear in the text whatever it is; pure.
std::vector<PiiEntity> find_pii_by_rules(std::string_view text);

/// The types that it can find.
std::span<const std::string_view> pii_rule_types();

/// Whether rules know a type's exact extent better than a model does: a checksum, a grammar. Not so
/// for phone numbers, dates, ZIP codes and licences, which live by their context.
bool is_checked_pii(std::string_view type);

}  // namespace signalbox::pii
