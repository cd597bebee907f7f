// Walks once over the tokens. Dates are tried before numbers, and numbers before names, because the
// reader of a number would match a part of a date, and that of a name a part of either.

#include "router/text/facts.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace signalbox::text {
namespace {

// Skips bullets, marks of headings, and the number of an item: "## 2. ", "- ", "3) ", "Step 4:".
size_t skip_marks(const ReadText& text, size_t at, size_t end) {
  while (at < end && is_one_of(text.at(at).lower, {"#", "*", "-", ">", "•", "–", "·", "|", "+"}))
    ++at;
  const auto is_number = [&](size_t token) {
    return text.at(token).kind == TokenKind::kNumber && text.at(token).text.size() <= 3;
  };
  const auto is_stop = [&](size_t token) {
    return is_one_of(text.at(token).lower, {".", ")", ":"}) && text.glued(token);
  };
  // "530." alone is an answer. "3." may be the mark of an item on the next line.
  const bool last = end == text.tokens().size();
  if (at + 1 < end && is_number(at) && is_stop(at + 1) && !text.glued(at + 2) &&
      (at + 2 < end || (!last && text.at(at).text.size() <= 2)))
    return at + 2;
  if (at + 3 < end && text.at(at).is("(") && is_number(at + 1) && text.at(at + 2).is(")"))
    return at + 3;
  size_t step = at;
  while (step < end && text.at(step).is("*")) ++step;
  if (step + 2 < end &&
      is_one_of(text.at(step).lower, {"step", "option", "item", "point", "part", "phase", "tip",
                                      "example", "question", "answer", "passage", "reason"}) &&
      is_number(step + 1) && is_stop(step + 2))
    return step + 3;
  return at;
}

// True if brackets of a context enclose values, as in JSON, rather than a citation.
bool is_list_of_values(const ReadText& text, size_t bracket) {
  return text.is_context() && (bracket == 0 || is_one_of(text.at(bracket - 1).lower,
                                                         {":", ",", "[", "{", "=", "(", "\""}));
}

// Skips "[3]", "[1, 2]" and web addresses.
size_t skip_reference(const ReadText& text, size_t at, size_t end) {
  if (text.at(at).is("[") && !is_list_of_values(text, at)) {
    size_t next = at + 1;
    while (next < end && (text.at(next).kind == TokenKind::kNumber || text.at(next).is(",") ||
                          text.at(next).is("-") || text.at(next).is("–")))
      ++next;
    if (next > at + 1 && text.at(next).is("]")) return next + 1;
  }
  return past_address(text, at, end);
}

const std::unordered_set<std::string_view>& common_words() {
  static const std::unordered_set<std::string_view> kWords = [] {
    constexpr std::string_view kList =
        "a an the this that these those it its he him his she her hers they them their theirs we "
        "us "
        "our ours you your yours i me my mine who whom whose which what when where why how and or "
        "but nor so yet if then else than as at by for from in into of off on onto out over to up "
        "with within without about above across after against along among around before behind "
        "below beneath beside besides between beyond despite down during except inside like near "
        "outside past per since through throughout toward towards under until upon via be is are "
        "was were been being am do does did done has have had having can could may might must "
        "shall "
        "should will would not no yes none never both either neither each every all any some many "
        "much more most few less least several other another such same only just also too very "
        "however therefore thus hence moreover furthermore additionally finally first second third "
        "firstly secondly lastly next meanwhile overall instead indeed still although though "
        "because while whereas unless once here there now today according based given note please "
        "sure ok okay yes well let let's don't it's i'm i've they're we're you're there's that's "
        "what's one two three four five six seven eight nine ten answer question context passage "
        "summary conclusion result results key total see following mr mrs ms dr prof st sir";
    std::unordered_set<std::string_view> out;
    for (size_t at = 0; at < kList.size();) {
      const size_t end = std::min(kList.find(' ', at), kList.size());
      out.insert(kList.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }();
  return kWords;
}

bool is_capital(const Token& token) {
  return token.kind == TokenKind::kWord && is_upper_start(token.text);
}

// True if the word may join two capitalised words.
bool joins(const Token& token) {
  return is_one_of(token.lower, {"of",  "de",  "da", "di", "del", "della", "la", "le", "van", "von",
                                 "der", "den", "al", "el", "bin", "the",   "&",  "-",  "du",  "y"});
}

// True if nearly all words of the line are capitalised, as in headings and labels.
bool is_heading(const ReadText& text, const Sentence& sentence) {
  size_t words = 0, capitals = 0;
  for (size_t i = sentence.first_token; i < sentence.last_token; ++i) {
    const Token& token = text.at(i);
    if (token.kind != TokenKind::kWord || joins(token) || token.text.size() < 3) continue;
    ++words;
    capitals += is_capital(token);
  }
  if (text.at(sentence.first_token).is("#")) return true;
  return words >= 3 && words <= 16 && capitals * 5 >= words * 4;
}

// True if the next word may be capitalised without being a name.
bool opens(const Token& token) {
  return is_one_of(token.lower, {"\"", "“", "‘", "'", "(", "[", ":", "*", "#", "-", "–", "—", "•",
                                 ">", "|", ";", "…", "/"});
}

// True if the token is a currency before a number, such as "USD".
bool is_currency(const ReadText& text, size_t token) {
  return is_all_upper(text.at(token).text) && read_currency_before(text, token + 1) &&
         read_quantity(text, token + 1);
}

// The capitalised word after one or two joining words ("von der Leyen"), or `at`.
size_t past_joins(const ReadText& text, size_t at, size_t end) {
  size_t next = at;
  while (next < end && next < at + 2 && joins(text.at(next))) ++next;
  const bool leads =
      next > at && next < end && is_capital(text.at(next)) && !is_currency(text, next);
  return leads && !is_common_word(text.at(next).lower) ? next : at;
}

// The name that begins at `at`, or an empty one. `first`: the word is capitalised anyway.
Name read_name(const ReadText& text, size_t at, size_t end, bool first) {
  Name name{.first_token = static_cast<uint32_t>(at), .last_token = static_cast<uint32_t>(at)};
  const Token& token = text.at(at);
  if (token.kind == TokenKind::kIdentifier) {
    name.last_token = static_cast<uint32_t>(at + 1);
    name.code = true;
    return name;
  }
  if (!is_capital(token) || (is_common_word(token.lower) && !is_all_upper(token.text))) return name;
  size_t next = at + 1;
  while (next < end) {
    if (read_date(text, next)) break;    // "Open Mon 9-17"
    if (is_currency(text, next)) break;  // "Loans of USD 5 million"
    if (is_capital(text.at(next)) && !is_common_word(text.at(next).lower)) {
      ++next;
    } else if (const size_t joined = past_joins(text, next, end); joined > next) {
      next = joined + 1;
    } else if (text.at(next).is(".") && text.glued(next) && text.at(next - 1).text.size() == 1 &&
               is_capital(text.at(next + 1)) && next + 1 < end) {
      next += 2;  // "J. Smith"
    } else {
      break;
    }
  }
  if (first && next == at + 1 && !is_all_upper(token.text)) return name;
  name.last_token = static_cast<uint32_t>(next);
  return name;
}

// True if exactly one token separates the quantities, and joins them.
bool ranges(const ReadText& text, const Quantity& a, const Quantity& b) {
  return a.last_token + 1 == b.first_token &&
         is_one_of(text.at(a.last_token).lower,
                   {"-", "–", "—", "−", "to", "and", "or", "through", "/", "×", "x", "by"});
}

// In "10-20 %" and "1 to 2 million" the first number takes the unit or scale of the second; in
// "2019-20" the second takes the century of the first.
void share_between(const ReadText& text, Quantity& a, Quantity& b) {
  if (!ranges(text, a, b)) return;
  // "rose 2.6 % to $310 million" is not a range.
  if (!a.is_plain() && !b.is_plain() && a.unit().dimension != b.unit().dimension) return;
  const bool tight = !is_one_of(text.at(a.last_token).lower, {"and", "or", "/", "×", "x", "by"});
  // "120 × 28 cm" share their unit; "8 × €2.20" do not.
  if (is_one_of(text.at(a.last_token).lower, {"×", "x"}) &&
      b.unit().dimension != Dimension::kLength && !b.is_plain())
    return;
  const bool between = a.first_token > 0 && text.at(a.first_token - 1).is("between");
  a.range = b.range = tight || between;
  Reading& last = b.readings[0];
  if (a.year && tight && !b.ordinal && last.unit == Unit{} && last.value >= 1 && last.value < 100 &&
      b.end - b.begin == 2) {
    last.value += static_cast<int32_t>(a.readings[0].value) / 100 * 100;
    b.year = true;
    return;
  }
  if (a.unit().dimension == Dimension::kMoney && b.is_plain() && tight && !b.words &&
      !b.fraction) {  // "EUR 68.000 to 78.000"
    for (Reading& reading : std::span(b.readings).first(b.count)) reading.unit = a.unit();
    return;
  }
  if (a.count == a.readings.size() || a.year) return;
  Reading shared = a.readings[0];
  if (shared.unit.dimension == Dimension::kNone) shared.unit = last.unit;
  if (!a.scaled && b.scale > 1) {
    shared.value *= b.scale;
    shared.step *= b.scale;
  }
  if (shared.unit == a.readings[0].unit && shared.value == a.readings[0].value) return;
  a.readings[a.count++] = a.readings[0];
  a.readings[0] = shared;
}

// Adds "1 hour 30 minutes" as one quantity.
void add_compound(const ReadText& text, const Quantity& a, const Quantity& b, Facts& out) {
  const Unit& coarse = a.readings[0].unit;
  const Unit& fine = b.readings[0].unit;
  if (coarse.dimension == Dimension::kNone || coarse.dimension != fine.dimension ||
      coarse.dimension == Dimension::kShare || coarse.dimension == Dimension::kTemperature ||
      coarse.factor <= fine.factor)
    return;
  const size_t gap = b.first_token - a.last_token;
  if (gap > 1 || (gap == 1 && !is_one_of(text.at(a.last_token).lower, {"and", ","}))) return;
  Quantity both = a;
  both.end = b.end;
  both.last_token = b.last_token;
  both.count = 1;
  both.readings[0].value += b.readings[0].value * fine.factor / coarse.factor;
  both.readings[0].step = b.readings[0].step * fine.factor / coarse.factor;
  out.compounds.push_back(both);
}

}  // namespace

size_t past_address(const ReadText& text, size_t token, size_t end) {
  const bool page =
      is_one_of(text.at(token).lower, {"http", "https"}) && text.at(token + 1).is(":");
  if (!page && !(text.at(token).is("www") && text.at(token + 1).is("."))) return token;
  size_t next = token + 1;
  while (next < end && text.glued(next)) ++next;
  return next;
}

bool is_common_word(std::string_view lower) {
  if (common_words().contains(lower)) return true;
  const size_t mark = std::min(lower.find('\''), lower.find("’"));  // "you'd", "we’ll"
  return mark != lower.npos && common_words().contains(lower.substr(0, mark));
}

bool is_item(const ReadText& text, const Sentence& sentence) {
  const Token& first = text.at(sentence.first_token);
  const Token& second = text.at(sentence.first_token + 1);
  return is_one_of(first.lower, {"-", "*", "•", "–"}) ||
         (first.kind == TokenKind::kNumber && is_one_of(second.lower, {".", ")"}));
}

std::string_view stem_of(std::string_view word) {
  if (word.size() > 4 && word.ends_with("es")) return word.substr(0, word.size() - 2);
  if (word.size() > 3 && (word.ends_with('s') || word.ends_with('e')))
    return word.substr(0, word.size() - 1);
  return word;
}

void read_facts(const ReadText& text, const Sentence& sentence, bool headings, Facts& out) {
  const size_t end = sentence.last_token;
  const size_t begin = skip_marks(text, sentence.first_token, end);
  const bool names = headings || !is_heading(text, sentence);
  const size_t first_quantity = out.quantities.size();
  bool first = true;
  for (size_t at = begin; at < end;) {
    if (const size_t next = skip_reference(text, at, end); next > at) {
      at = next;
      continue;
    }
    if (const auto date = read_date(text, at); date && date->last_token <= end) {
      out.dates.push_back(*date);
      at = date->last_token;
      first = false;
      continue;
    }
    if (const auto quantity = read_quantity(text, at); quantity && quantity->last_token <= end) {
      out.quantities.push_back(*quantity);
      at = quantity->last_token;
      first = false;
      continue;
    }
    if (is_currency(text, at)) {
      ++at;
      continue;
    }
    Name name = read_name(text, at, end, first);
    if (text.at(at).kind == TokenKind::kNumber) {  // "3.10.1"
      name.last_token = static_cast<uint32_t>(at + 1);
      name.code = true;
    }
    if (name.last_token > name.first_token && (names || name.code)) {
      out.names.push_back(name);
      at = name.last_token;
    } else {
      ++at;
    }
    first = opens(text.at(at - 1)) || (first && text.at(at - 1).kind == TokenKind::kSymbol);
  }
  for (size_t i = out.quantities.size(); i > first_quantity + 1; --i)  // "2 / 3 / 4 mm"
    share_between(text, out.quantities[i - 2], out.quantities[i - 1]);
  for (size_t i = first_quantity; i + 1 < out.quantities.size(); ++i) {
    const size_t pairs = out.compounds.size();
    add_compound(text, out.quantities[i], out.quantities[i + 1], out);
    if (out.compounds.size() > pairs && i + 2 < out.quantities.size()) {  // "2 h 29 min 20 s"
      const Quantity both = out.compounds.back();
      add_compound(text, both, out.quantities[i + 2], out);
    }
  }
}

}  // namespace signalbox::text
