// Chooses the maker by the kind of the vocabulary.

#include "tools/vocabulary/make_tokenizer.h"

#include <sstream>
#include <vector>

#include "tools/vocabulary/added_pieces.h"
#include "tools/vocabulary/byte_pairs.h"
#include "tools/vocabulary/class_pieces.h"
#include "tools/vocabulary/wordpiece_to_hf.h"

namespace signalbox::tools {
namespace {

Result<std::vector<std::string>> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (std::ssize(out) > kHfIdMax) {
      return fail(Code::kTooLarge, "{}: expected at most {} lines", kBertVocabulary, kHfIdMax + 1);
    }
    if (line.ends_with('\r')) line.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

Result<std::string> from_lines(const WordPieceFamily& family, const std::string& vocabulary,
                               const tokenizer::Settings& settings) {
  WordPieceOptions options{.family = family};
  options.lowercase = settings.lowercase.value_or(true);
  options.split_chinese = settings.handle_chinese_chars.value_or(true);
  options.strip_accents = settings.strip_accents.value_or(std::nullopt);
  for (const auto& [role, mark] : {std::pair("cls_token", &options.begin),
                                   {"sep_token", &options.end},
                                   {"unk_token", &options.unknown}}) {
    *mark = settings.token_for(role, *mark);
  }
  SIGNALBOX_TRY(const std::vector<std::string> tokens, lines_of(vocabulary));
  KnownPieces pieces;
  for (const std::string& token : tokens) pieces.ids.emplace(token, pieces.size++);
  SIGNALBOX_TRY(options.added_tokens,
                join_added_tokens(added_wordpieces(family, tokens), settings, pieces));
  auto made = wordpiece_to_hf(tokens, options);
  if (!made) return fail_in(kBertVocabulary, std::move(made).error());
  return made;
}

}  // namespace

Result<std::string> make_tokenizer(const VocabularyClass& tokenizer, const ModelFiles& files) {
  SIGNALBOX_TRY(const tokenizer::Settings settings, settings_of(files));
  SIGNALBOX_TRY(std::string vocabulary, files.read(tokenizer.files[0]));
  switch (tokenizer.kind) {
    case VocabularyKind::kBert:
      return from_lines(kBertFamily, vocabulary, settings);
    case VocabularyKind::kMpnet:
      return from_lines(kMpnetFamily, vocabulary, settings);
    case VocabularyKind::kRoberta:
    case VocabularyKind::kGpt2:
    case VocabularyKind::kQwen2: {
      SIGNALBOX_TRY(const std::string merges, files.read(tokenizer.files[1]));
      return byte_pair_tokenizer(tokenizer, std::move(vocabulary), merges, settings);
    }
    default:
      return class_tokenizer(tokenizer, vocabulary, settings);
  }
}

}  // namespace signalbox::tools
