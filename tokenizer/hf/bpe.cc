// Reads a `model` of type BPE.

#include "tokenizer/hf/sections.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/byte_alphabet.h"

namespace signalbox::tokenizer {
namespace {

// Returns a text member, or "" if it is missing or null.
Result<std::string> optional_text(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const auto field, object.optional_member(key));
  if (!field) return std::string();
  SIGNALBOX_TRY(const std::string_view value, field->string());
  return std::string(value);
}

bool is_fallback(std::string_view piece) {
  return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
}

char32_t last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return utf8::decode(text, begin).code_point;
}

struct Pair {
  std::string_view left;
  std::string_view right;
};

// Parses a merge: "left right" or ["left", "right"].
std::optional<Pair> read_pair(const json::Value& merge) {
  if (merge.is_string()) {
    const std::string_view text = merge.text();
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      return std::nullopt;
    }
    return Pair{text.substr(0, space), text.substr(space + 1)};
  }
  Pair pair;
  size_t count = 0;
  for (const json::Value part : merge.items()) {
    if (!part.is_string() || ++count > 2) return std::nullopt;
    (count == 1 ? pair.left : pair.right) = part.text();
  }
  if (count != 2) return std::nullopt;
  return pair;
}

Result<std::vector<Pair>> read_pairs(const Field& merges, size_t prefix) {
  SIGNALBOX_TRY_VOID(merges.expect(json::Type::kArray));
  std::vector<Pair> pairs;
  for (const json::Value merge : merges.value().items()) {
    const auto pair = read_pair(merge);
    if (!pair || pair->left.empty() || pair->right.size() <= prefix) {
      const Field at(merge, fmt::format("{}[{}]", merges.path(), pairs.size()));
      return at.corrupt("expected two pieces, found {}", in_quotes(merge.raw()));
    }
    pairs.push_back(*pair);
  }
  return pairs;
}

// Converts the pairs to ids.
Result<std::vector<Merges::Rule>> resolve(const Field& merges, const std::vector<Pair>& pairs,
                                          const Vocabulary& vocabulary, size_t prefix) {
  constexpr size_t kAtOnce = 256;
  std::vector<Merges::Rule> rules;
  rules.reserve(pairs.size());
  std::array<std::string, kAtOnce> joined;
  std::array<std::string_view, 3 * kAtOnce> wanted;
  std::array<int32_t, 3 * kAtOnce> ids;
  for (size_t begin = 0; begin < pairs.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, pairs.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const Pair& pair = pairs[begin + i];
      joined[i].assign(pair.left).append(pair.right.substr(prefix));
      wanted[3 * i] = pair.left;
      wanted[3 * i + 1] = pair.right;
      wanted[3 * i + 2] = joined[i];
    }
    vocabulary.find_all({wanted.data(), 3 * count}, {ids.data(), 3 * count});
    for (size_t i = 0; i < 3 * count; ++i) {
      if (ids[i] >= 0) continue;
      return fail(Code::kCorrupt, "{}[{}]: expected a piece of model.vocab, found {}",
                  merges.path(), begin + i / 3, in_quotes(wanted[i]));
    }
    for (size_t i = 0; i < count; ++i)
      rules.push_back({ids[3 * i], ids[3 * i + 1], ids[3 * i + 2]});
  }
  return rules;
}

Junctions junctions_of(const std::vector<Pair>& pairs, bool byte_level) {
  Junctions junctions;
  for (const Pair& pair : pairs) {
    const char32_t left = last_character(pair.left);
    const char32_t right = utf8::decode(pair.right, 0).code_point;
    if (!byte_level) {
      junctions.add(left, right);
      continue;
    }
    // A piece that is not written in the byte alphabet never occurs.
    const int32_t left_byte = byte_of(left);
    const int32_t right_byte = byte_of(right);
    if (left_byte < 0 || right_byte < 0) continue;
    junctions.add(static_cast<char32_t>(left_byte), static_cast<char32_t>(right_byte));
  }
  return junctions;
}

Result<void> refuse_dropout(const Field& model) {
  SIGNALBOX_TRY(const auto dropout, model.optional_member("dropout"));
  if (!dropout) return {};
  const auto number = dropout->value().number();
  if (number && *number == 0) return {};
  return unsupported(*dropout, "null, because dropout makes ids random");
}

// Rejects settings whose meaning in the reference depends on implementation accidents. No published
// file combines them.
Result<void> refuse_combinations(const Field& model, const Bpe::Options& options, bool covers_all) {
  if (!options.byte_fallback || (options.byte_level && covers_all)) return {};
  if (options.byte_level) {
    return fail(Code::kUnsupported,
                "{}.byte_fallback: not supported with ByteLevel unless every byte is a piece",
                model.path());
  }
  if (!options.continuing_prefix.empty() || !options.end_suffix.empty()) {
    return fail(
        Code::kUnsupported,
        "{}.byte_fallback: not supported with continuing_subword_prefix or end_of_word_suffix",
        model.path());
  }
  return {};
}

Result<Bpe::Options> read_options(const Field& model, const Vocabulary& vocabulary,
                                  bool byte_level) {
  Bpe::Options options;
  options.byte_level = byte_level;
  SIGNALBOX_TRY_VOID(refuse_dropout(model));
  SIGNALBOX_TRY(options.byte_fallback, flag_or(model, "byte_fallback", false));
  SIGNALBOX_TRY(options.fuse_unknown, flag_or(model, "fuse_unk", false));
  SIGNALBOX_TRY(options.ignore_merges, flag_or(model, "ignore_merges", false));
  SIGNALBOX_TRY(options.continuing_prefix, optional_text(model, "continuing_subword_prefix"));
  SIGNALBOX_TRY(options.end_suffix, optional_text(model, "end_of_word_suffix"));
  const bool covers_all = Bpe::covers_all(vocabulary, options);
  SIGNALBOX_TRY_VOID(refuse_combinations(model, options, covers_all));
  SIGNALBOX_TRY(const auto unknown, model.optional_member("unk_token"));
  if (!unknown) return options;
  const auto id = id_of_piece(*unknown, vocabulary);
  // If no character can be unknown, files may name tokens that are not pieces.
  if (!id && !covers_all) return tl::unexpected(id.error());
  options.unknown_id = id ? *id : -1;
  return options;
}

LoadedModel loaded(Vocabulary vocabulary, Merges merges, Junctions junctions,
                   Bpe::Options options) {
  auto bpe = std::make_unique<const Bpe>(std::move(vocabulary), std::move(merges),
                                         std::move(junctions), std::move(options));
  const Vocabulary* pieces = &bpe->vocabulary();
  return {std::move(bpe), pieces};
}

Result<LoadedModel> read_tables(const Field& model, bool byte_level, const BpeTables& tables) {
  SIGNALBOX_TRY(Vocabulary vocabulary, Vocabulary::of(tables.vocabulary, kIdMax));
  SIGNALBOX_TRY(Merges merges, Merges::of(tables.merges, vocabulary.ids_end()));
  SIGNALBOX_TRY(Junctions junctions, Junctions::of(tables.junctions));
  SIGNALBOX_TRY(Bpe::Options options, read_options(model, vocabulary, byte_level));
  options.fallback_merges = tables.fallback_merges;
  return loaded(std::move(vocabulary), std::move(merges), std::move(junctions), std::move(options));
}

}  // namespace

Result<LoadedModel> read_bpe(const Field& model, bool byte_level, const BpeTables* tables) {
  if (tables != nullptr) return read_tables(model, byte_level, *tables);
  SIGNALBOX_TRY(const Field vocab, model.member("vocab"));
  SIGNALBOX_TRY(Vocabulary vocabulary, read_vocabulary(vocab));
  SIGNALBOX_TRY(Bpe::Options options, read_options(model, vocabulary, byte_level));
  const size_t prefix = options.continuing_prefix.size();
  SIGNALBOX_TRY(const Field merges, model.member("merges"));
  SIGNALBOX_TRY(const std::vector<Pair> pairs, read_pairs(merges, prefix));
  SIGNALBOX_TRY(const auto rules, resolve(merges, pairs, vocabulary, prefix));
  options.fallback_merges =
      options.byte_fallback && std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
        return is_fallback(pair.left) || is_fallback(pair.right);
      });
  return loaded(std::move(vocabulary), Merges(rules), junctions_of(pairs, byte_level),
                std::move(options));
}

}  // namespace signalbox::tokenizer
