// Tests what the rules find in texts, with which bounds, and what they ignore: lines of data in
// which <<TYPE ...>> marks the expected findings; generated identifiers in many forms; labelled
// sentences and everyday prompts, if available; and the time for any text.

#include "router/safety/pii/rules.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/json.h"
#include "base/utf8.h"
#include "tests/router/safety/pii/marked_text.h"

namespace signalbox::pii {
namespace {

const std::filesystem::path kFolder = SIGNALBOX_SOURCE_DIR "/tests/router/safety/pii";
const std::filesystem::path kShared = SIGNALBOX_SOURCE_DIR "/../shared/data";

TEST(PiiRules, FindExactlyTheMarkedData) {
  std::ifstream file(kFolder / "pii_rules.jsonl");
  std::string line;
  size_t lines = 0;
  for (; std::getline(file, line); ++lines) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    const MarkedText marked(row->root().find("text")->text());
    const auto found = find_pii_by_rules(marked.plain);
    EXPECT_EQ(described(marked.plain, found), described(marked.plain, marked.entities))
        << "line " << lines + 1 << ", " << row->root().find("name")->text() << ": " << marked.plain;
    for (const PiiEntity& entity : found) {
      EXPECT_EQ(entity.source, PiiSource::kRule);
      EXPECT_GT(entity.score, 0);
      EXPECT_LE(entity.score, 1);
    }
  }
  EXPECT_GT(lines, 200U);
}

/// Makes random numbers that the rules accept.
class Maker {
 public:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  std::string digits(size_t count) {
    std::string out;
    while (out.size() < count) out.push_back(static_cast<char>('0' + below(10)));
    return out;
  }
  /// Returns a prefix, digits, and the check digit (Luhn).
  std::string card(std::string_view prefix, size_t length) {
    std::string out(prefix);
    out += digits(length - 1 - prefix.size());
    uint32_t sum = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      uint32_t digit = static_cast<uint32_t>(out[out.size() - 1 - i] - '0');
      if (i % 2 == 0) digit = digit > 4 ? digit * 2 - 9 : digit * 2;
      sum += digit;
    }
    out.push_back(static_cast<char>('0' + (10 - sum % 10) % 10));
    return out;
  }
  std::string iban(std::string_view country, size_t length) {
    std::string body;
    while (body.size() < length - 4) {
      const uint32_t at = below(36);
      body.push_back(static_cast<char>(at < 10 ? '0' + at : 'A' + at - 10));
    }
    uint32_t rest = 0;
    const auto add = [&](std::string_view text) {
      for (const char c : text) {
        const uint32_t value = static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'A' + 10);
        rest = (rest * (value < 10 ? 10 : 100) + value) % 97;
      }
    };
    add(body);
    add(country);
    add("00");
    return fmt::format("{}{:02}{}", country, 98 - rest, body);
  }
  std::string ssn() {
    uint32_t area = 1 + below(899);
    if (area == 666) area = 667;
    return fmt::format("{:03}-{:02}-{:04}", area, 1 + below(99), 1 + below(9999));
  }

 private:
  std::mt19937 random_{7};
};

std::string grouped(std::string_view digits, std::initializer_list<size_t> sizes, char separator) {
  std::string out;
  size_t at = 0;
  for (const size_t size : sizes) {
    if (at > 0) out.push_back(separator);
    out += digits.substr(at, size);
    at += size;
  }
  return out;
}

void expect_found(std::string_view type, std::string_view value) {
  constexpr std::array<std::array<std::string_view, 2>, 8> kAround = {
      {{"", ""},
       {"It is ", "."},
       {"(", ")"},
       {"\"", "\","},
       {"a=", ";"},
       {"x: ", "\nthen"},
       {"\xE3\x80\x8C", "\xE3\x80\x8D"},
       {"two ", " of them"}}};
  for (const auto& [before, behind] : kAround) {
    const std::string text = fmt::format("{}{}{}", before, value, behind);
    const auto found = find_pii_by_rules(text);
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found[0].type, type) << text;
    EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), value);
  }
}

TEST(PiiRules, FindEveryValidCard) {
  Maker maker;
  constexpr std::array<std::pair<std::string_view, size_t>, 16> kBrands = {{{"4", 16},
                                                                            {"4", 13},
                                                                            {"4", 19},
                                                                            {"51", 16},
                                                                            {"55", 16},
                                                                            {"2221", 16},
                                                                            {"2720", 16},
                                                                            {"34", 15},
                                                                            {"37", 15},
                                                                            {"300", 14},
                                                                            {"36", 14},
                                                                            {"6011", 16},
                                                                            {"65", 16},
                                                                            {"3528", 16},
                                                                            {"62", 16},
                                                                            {"6759", 12}}};
  for (const auto& [prefix, length] : kBrands) {
    for (int i = 0; i < 50; ++i) {
      const std::string card = maker.card(prefix, length);
      expect_found("CREDIT_CARD", card);
      if (length == 16) expect_found("CREDIT_CARD", grouped(card, {4, 4, 4, 4}, ' '));
      if (length == 16) expect_found("CREDIT_CARD", grouped(card, {4, 4, 4, 4}, '-'));
      if (length == 15) expect_found("CREDIT_CARD", grouped(card, {4, 6, 5}, ' '));
      if (length == 14) expect_found("CREDIT_CARD", grouped(card, {4, 6, 4}, '-'));
      if (length == 19) expect_found("CREDIT_CARD", grouped(card, {4, 4, 4, 4, 3}, ' '));
    }
  }
}

TEST(PiiRules, FindNoCardWhoseCheckDigitIsWrong) {
  Maker maker;
  for (int i = 0; i < 500; ++i) {
    std::string card = maker.card("4", 16);
    card.back() = card.back() == '9' ? '0' : static_cast<char>(card.back() + 1);
    EXPECT_TRUE(find_pii_by_rules(card).empty()) << card;
  }
}

TEST(PiiRules, FindEveryValidIban) {
  Maker maker;
  constexpr std::array<std::pair<std::string_view, size_t>, 10> kCountries = {{{"GB", 22},
                                                                               {"DE", 22},
                                                                               {"FR", 27},
                                                                               {"NO", 15},
                                                                               {"MT", 31},
                                                                               {"LC", 32},
                                                                               {"BE", 16},
                                                                               {"CH", 21},
                                                                               {"ES", 24},
                                                                               {"PL", 28}}};
  for (const auto& [country, length] : kCountries) {
    for (int i = 0; i < 100; ++i) {
      const std::string iban = maker.iban(country, length);
      expect_found("IBAN_CODE", iban);
      std::string spaced;
      for (size_t at = 0; at < iban.size(); ++at) {
        if (at > 0 && at % 4 == 0) spaced.push_back(' ');
        spaced.push_back(iban[at]);
      }
      expect_found("IBAN_CODE", spaced);
    }
  }
}

TEST(PiiRules, FindEveryValidNumberOfTheOtherKinds) {
  Maker maker;
  for (int i = 0; i < 300; ++i) {
    expect_found("US_SSN", maker.ssn());
    expect_found("IP_ADDRESS", fmt::format("{}.{}.{}.{}", maker.below(256), maker.below(256),
                                           maker.below(256), maker.below(256)));
    std::string v6;
    for (int group = 0; group < 8; ++group)
      v6 += fmt::format("{}{:x}", group == 0 ? "" : ":", 256 + maker.below(65280));
    expect_found("IP_ADDRESS", v6);
    expect_found("EMAIL_ADDRESS",
                 fmt::format("u{}.x@host-{}.example.org", maker.digits(3), maker.digits(2)));
    expect_found("DATE_TIME", fmt::format("{}-{:02}-{:02}", 1900 + maker.below(200),
                                          1 + maker.below(12), 1 + maker.below(28)));
    expect_found("PHONE_NUMBER",
                 fmt::format("+{} {} {} {}", 1 + maker.below(99), 10 + maker.below(80),
                             100 + maker.below(900), 1000 + maker.below(9000)));
  }
}

// Findings are in order, do not overlap, and lie inside the text at character boundaries.
TEST(PiiRules, FindingsInAnyBytesAreOrderedAndInside) {
  std::mt19937 random(3);
  constexpr std::string_view kAlphabet = "0123456789 -.:/@+()=abefxYZ,_\"[]\n\xC3\xA9\xE2\x80\x93";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (int n = 0; n < 80; ++n) text.push_back(kAlphabet[random() % kAlphabet.size()]);
    size_t last = 0;
    for (const PiiEntity& entity : find_pii_by_rules(text)) {
      ASSERT_LE(last, entity.begin);
      ASSERT_LT(entity.begin, entity.end);
      ASSERT_LE(entity.end, text.size());
      last = entity.end;
    }
  }
}

// Characters that are read as ASCII, and hidden characters, are either wholly in a finding or
// wholly outside.
TEST(PiiRules, FindWholeCharacters) {
  std::mt19937 random(11);
  constexpr auto kSigns = std::to_array<std::string_view>({"1",
                                                           "4",
                                                           "\xEF\xBC\x91",
                                                           "\xEF\xBC\xA0",
                                                           "\xEF\xBD\x81",
                                                           "\xE2\x80\x8B",
                                                           "\xE2\x88\x92",
                                                           ".",
                                                           "-",
                                                           "@",
                                                           "ada",
                                                           "org",
                                                           "\xC2\xAD",
                                                           "\xE3\x80\x80",
                                                           " ",
                                                           "+",
                                                           "\xC3\xA9",
                                                           "\\n",
                                                           "%20",
                                                           "_"});
  const auto is_edge = [](const std::string& text, size_t at) {
    return at == text.size() || (static_cast<uint8_t>(text[at]) & 0xC0) != 0x80;
  };
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = 0; n < 24; ++n) text += kSigns[random() % kSigns.size()];
    size_t last = 0;
    for (const PiiEntity& entity : find_pii_by_rules(text)) {
      ASSERT_LE(last, entity.begin) << text;
      ASSERT_LT(entity.begin, entity.end) << text;
      ASSERT_LE(entity.end, text.size()) << text;
      ASSERT_TRUE(is_edge(text, entity.begin) && is_edge(text, entity.end)) << text;
      last = entity.end;
    }
  }
}

// Twice the text must take about twice the time. If a text made a scanner start anew at each byte,
// it would take four times as long. Measures processor time, because the machine may be busy.
TEST(PiiRules, TakeTimeInProportionToTheText) {
  const auto seconds = [](const std::string& text) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t from = std::clock();
      static_cast<void>(find_pii_by_rules(text));
      best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
    }
    return best;
  };
  for (const std::string_view unit : {"1",
                                      ".",
                                      "1 ",
                                      "1-",
                                      "1.",
                                      "1:",
                                      "(1)",
                                      "+1",
                                      "a.",
                                      "a-",
                                      "a@",
                                      "@",
                                      ":",
                                      "::",
                                      "4111 1111 ",
                                      "aa11 ",
                                      "-----BEGIN PRIVATE KEY-----",
                                      "eyJ.",
                                      "sk-",
                                      "sk-_",
                                      "sk-a-___",
                                      "SG._",
                                      "eyJ-___",
                                      "eyJ-_.",
                                      "key=",
                                      "password=a1",
                                      "secret \"",
                                      "basic YTpi",
                                      "%20",
                                      "%40",
                                      "\\n1",
                                      "_1",
                                      "\xEF\xBC\x91\xE2\x80\x8B",
                                      "http://",
                                      "https://a.bc/ ",
                                      "https://a.bc/?k=1@",
                                      "www.",
                                      "phone 12 ",
                                      "1 jan ",
                                      "\xC3\xA9@"}) {
    const auto repeated = [&](size_t bytes) {
      std::string out;
      while (out.size() < bytes) out += unit;
      return out;
    };
    const double one = seconds(repeated(size_t{1} << 17));
    const double four = seconds(repeated(size_t{1} << 19));
    EXPECT_LT(four, 10 * one + 0.01) << unit;
  }
}

// A text with characters that are read as ASCII is copied once, without a table of its positions.
TEST(PiiRules, TakeLittleMemoryForATextThatIsNotAscii) {
  constexpr size_t kBytes = size_t{8} << 20;
  const auto kilobytes = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<size_t>(used.ru_maxrss);
  };
  std::string text(kBytes, ' ');
  for (const std::string_view sign : {"\xC3\xA9", "\xEF\xBC\x91"}) {
    text += sign;
    const size_t before = kilobytes();
    EXPECT_TRUE(find_pii_by_rules(text).empty());
    EXPECT_LT(kilobytes() - before, 3 * kBytes / 1024) << sign;
  }
}

TEST(PiiRules, FindIdentifiersInLabelledSentences) {
  if (!std::filesystem::exists(kShared / "pii_presidio_v2.jsonl"))
    GTEST_SKIP() << "no labelled sentences in " << kShared;
  struct Counts {
    int found = 0, missed = 0, extra = 0;
  };
  std::map<std::string, Counts> counts;
  for (const std::string_view name :
       {"pii_presidio_v2.jsonl", "pii_presidio_large_older_types.jsonl"}) {
    std::ifstream file(kShared / name);
    for (std::string line; std::getline(file, line);) {
      const auto row = json::Document::parse(line);
      ASSERT_TRUE(row);
      const std::string_view text = row->root().find("text")->text();
      const auto found = find_pii_by_rules(text);
      std::vector<bool> wanted(found.size(), false);
      for (const json::Value& entity : row->root().find("entities")->items()) {
        const std::string type(entity.find("type")->text());
        const auto types = pii_rule_types();
        if (std::find(types.begin(), types.end(), type) == types.end()) continue;
        const auto start = static_cast<size_t>(*entity.find("start")->integer());
        const std::string_view value = entity.find("value")->text();
        bool hit = false;
        for (size_t i = 0; i < found.size() && !hit; ++i) {
          hit = found[i].type == type && utf8::count(text.substr(0, found[i].begin)) == start &&
                text.substr(found[i].begin, found[i].end - found[i].begin) == value;
          if (hit) wanted[i] = true;
        }
        ++(hit ? counts[type].found : counts[type].missed);
      }
      // The older set has no label for ZIP codes.
      for (size_t i = 0; i < found.size(); ++i) {
        if (!wanted[i] && found[i].type != "ZIP_CODE") ++counts[found[i].type].extra;
      }
    }
  }
  for (const auto& [type, count] : counts) {
    fmt::print("{:20} found {:4} missed {:3} extra {:3}\n", type, count.found, count.missed,
               count.extra);
    EXPECT_EQ(count.extra, 0) << type;
    const bool needs_model = type == "DATE_TIME" || type == "ZIP_CODE";
    EXPECT_TRUE(count.missed == 0 || needs_model) << type;
  }
  EXPECT_EQ(counts.size(), 10U);
}

TEST(PiiRules, LeaveEverydayPromptsAlone) {
  if (!std::filesystem::exists(kShared / "intents_clinc150.jsonl"))
    GTEST_SKIP() << "no everyday prompts in " << kShared;
  for (const auto& [name, key] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"intents_clinc150.jsonl", "text"},
           {"intents_banking77.jsonl", "text"},
           {"domain_mmlupro.jsonl", "question"}}) {
    std::ifstream file(kShared / name);
    int lines = 0, flagged = 0;
    for (std::string line; std::getline(file, line); ++lines) {
      const auto row = json::Document::parse(line);
      ASSERT_TRUE(row);
      auto text = row->root().find(key);
      if (!text) text = row->root().find("text");
      ASSERT_TRUE(text) << line;
      const auto found = find_pii_by_rules(text->text());
      flagged += std::any_of(found.begin(), found.end(),
                             [](const auto& each) { return each.score >= 0.7; })
                     ? 1
                     : 0;
    }
    fmt::print("{}: {} of {} flagged\n", name, flagged, lines);
    EXPECT_LT(flagged, lines / 200);
  }
}

}  // namespace
}  // namespace signalbox::pii
