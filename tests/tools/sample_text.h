#pragma once
// Makes text in ten languages from data/words.txt by a fixed sequence of pseudo-random choices, for
// training small models and for testing them.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace signalbox::tools {

class SampleText {
 private:
  uint32_t below(uint32_t limit) {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<uint32_t>(static_cast<uint64_t>(state_ >> 8) * limit >> 24);
  }
  template <class List>
  const auto& pick(const List& list) {
    return list[below(static_cast<uint32_t>(list.size()))];
  }

 public:
  explicit SampleText(uint32_t seed) : state_(seed) {
    std::ifstream file(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/tools/data/words.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      languages_.emplace_back();
      for (std::string word; words >> word;) languages_.back().push_back(word);
    }
  }

  std::string sentence() {
    const auto& words = below(2) == 0 ? languages_.at(0) : pick(languages_);
    std::string text;
    for (uint32_t left = 3 + below(12); left > 0; --left) {
      text += below(20) == 0 ? std::to_string(below(3000)) : pick(words);
      if (below(6) == 0) text += pick(words);
      if (below(12) == 0) text += ',';
      text += left > 1 ? ' ' : '.';
    }
    return text;
  }

  /// Returns a sentence in which some characters are removed, doubled or inserted.
  std::string mutated() {
    std::string text = sentence();
    for (uint32_t changes = below(6); changes > 0 && !text.empty(); --changes) {
      size_t at = below(static_cast<uint32_t>(text.size()));
      while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
      const size_t bytes = utf8::decode(text, at).bytes;
      switch (below(5)) {
        case 0:
          text.erase(at, bytes);
          break;
        case 1:
          text.insert(at, text.substr(at, bytes));
          break;
        case 2:
          text.insert(at, std::string(1 + below(4), ' '));
          break;
        default:
          text.insert(at, character());
      }
    }
    return text;
  }

 private:
  // Returns any character, but more often one that NFKC changes.
  std::string character() {
    static constexpr std::u32string_view kChanged =
        U"\u00BD\u2122\u2160\u2460\u3000\u3300\uFB01\uFF21\uFF71\uFDFA\u00A0\u00AD\u200B\u0001\t\n"
        U"\U0001D400\u017F\u1E9B\uAC00";
    const uint32_t kind = below(4);
    std::string out;
    utf8::append(out, kind == 0   ? pick(kChanged)
                      : kind == 1 ? 1 + below(0x7E)
                      : kind == 2 ? below(0x3000)
                                  : below(0x30000));
    return out;
  }

  std::vector<std::vector<std::string>> languages_;
  uint32_t state_;
};

}  // namespace signalbox::tools
