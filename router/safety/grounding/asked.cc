// Lists of words. Those that sentences without any reckoning are full of make only a coincidence
// less suspicious.

#include "router/safety/grounding/asked.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "router/safety/grounding/qualifiers.h"

namespace signalbox::grounding {
namespace {

// Words of sentences that reckon.
const std::unordered_set<std::string_view>& reckoning() {
  static const std::unordered_set<std::string_view> kWords = {
      "total",   "totals",    "totaling",   "totalling", "altogether", "combined",  "together",
      "sum",     "summing",   "difference", "differ",    "more",       "fewer",     "less",
      "higher",  "lower",     "increase",   "increased", "decrease",   "decreased", "rise",
      "rose",    "gain",      "gained",     "drop",      "dropped",    "fell",      "grew",
      "growth",  "remaining", "remain",     "remained",  "remainder",  "rest",      "left",
      "overall", "deficit",   "lead",       "advantage", "apart",      "gap",       "margin",
      "net",     "others",    "other",      "both",      "exceeds",    "exceeded",  "outnumbered",
      "ahead",   "older",     "younger",    "longer",    "shorter",    "taller",    "cheaper",
      "not",     "later",     "earlier",    "saved",     "saving",     "savings",   "adding",
      "plus",    "minus",     "=",          "change",    "reduced",    "reduction", "amount",
      "average", "averages",  "loses",      "lose",      "lost",       "gains",     "raise",
      "raises",  "raised",    "cut",        "makes",     "works",      "slipped",   "adds",
      "×",       "save",      "saves",      "faster",    "quicker",    "slower",    "warmer",
      "colder",  "heavier",   "lighter",    "undercuts", "add",        "leaves",    "leaving",
      "so"};
  return kWords;
}

// Words that may set one figure against another, and often do not.
bool sets_against(const Token& token) {
  return is_one_of(
      token.lower,
      {"after",    "before",     "between",   "behind",   "below", "down",   "up",      "short",
       "separate", "separates",  "account",   "accounts", "died",  "jumped", "climbed", "extra",
       "worth",    "compared",   "than",      "under",    "over",  "above",  "past",    "beyond",
       "divided",  "multiplied", "shortened", "lowered",  "all"});
}

// By a word, or "23 withdrew: 9 of one group and 14 of the other".
bool reckons(const ReadText& text, const Sentence& sentence) {
  for (size_t i = sentence.first_token; i < sentence.last_token; ++i) {
    if (says_to_reckon(text.at(i))) return true;
    if (text.at(i).is("in") && text.at(i + 1).is("all")) return true;
    if (text.at(i).is(":") && text.at(i + 1).kind == TokenKind::kNumber && !text.glued(i + 1))
      return true;
  }
  return false;
}

}  // namespace

double asked_scale(const Token& token) {
  if (token.is("half") || token.is("halve")) return 0.5;
  if (is_one_of(token.lower, {"double", "twice"})) return 2;
  return token.is("triple") ? 3 : 1;
}

double says_to_scale(const Token& token) {
  if (is_one_of(token.lower, {"halve", "halving", "halved"})) return 0.5;
  if (is_one_of(token.lower, {"doubling", "doubled"})) return 2;
  return is_one_of(token.lower, {"tripling", "tripled"}) ? 3 : 1;
}

bool tells_age(const ReadText& text, const Quantity& quantity) {
  if (quantity.year || quantity.ordinal || quantity.first_token == 0) return false;
  const std::string_view before = text.at(quantity.first_token - 1).lower;
  const std::string_view before_that = text.at(quantity.first_token - 2).lower;
  return is_one_of(before, {"aged", "at"}) || (before == "of" && before_that == "age") ||
         (is_one_of(before, {"was", "is"}) && text.at(quantity.last_token).is("when"));
}

bool says_to_reckon(const Token& token) {
  return reckoning().contains(token.lower);
}

Asked::Asked(const ReadText& answer, const Sentence& of)
    : text(answer),
      sentence(of),
      reckons(grounding::reckons(answer, of)),
      compares(reckons || std::any_of(answer.tokens().begin() + of.first_token,
                                      answer.tokens().begin() + of.last_token, sets_against)),
      denies(grounding::denies(answer, of)) {}

}  // namespace signalbox::grounding
