// The vocabulary is copied as it is; the reader of tokenizer.json checks its ids. Merges are
// checked here, because only here their lines are known.

#include "tools/vocabulary/byte_pairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tools/vocabulary/added_pieces.h"
#include "tools/vocabulary/vocabulary_files.h"

namespace signalbox::tools {
namespace {

using Merge = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kEndOfText = "<|endoftext|>";  // of GPT-2 and Qwen

// Splits a text into words, numbers of one digit, punctuation and white space, as Qwen's class
// does.
constexpr std::string_view kQwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr size_t kVocabularyBytesMax = size_t{256} << 20;

Result<KnownPieces> read_vocabulary(const json::Document& document) {
  if (!document.root().is_object()) {
    return fail(Code::kCorrupt, "{}: expected an object of pieces and ids", kBytePairVocabulary);
  }
  KnownPieces out;
  for (const json::Member& member : document.root().members()) {
    const auto id = member.value.integer();
    if (!id || *id < 0 || *id > kHfIdMax) {
      return fail(Code::kCorrupt, "{}: {}: expected an id from 0 to {}, found {}",
                  kBytePairVocabulary, json::quote_briefly(member.key), kHfIdMax,
                  json::quote_briefly(member.value.raw()));
    }
    out.size = std::max(out.size, *id + 1);
    if (out.ids.emplace(member.key, *id).second) continue;
    return fail(Code::kCorrupt, "{}: {} appears twice", kBytePairVocabulary,
                json::quote_briefly(member.key));
  }
  return out;
}

// Splits a line into its two pieces, which the vocabulary must contain, and so must their
// concatenation.
Result<Merge> read_merge(std::string_view line, const KnownPieces& vocabulary) {
  const size_t space = line.find(' ');
  const Merge merge(line.substr(0, space),
                    space == std::string_view::npos ? "" : line.substr(space + 1));
  if (merge.first.empty() || merge.second.empty() ||
      merge.second.find(' ') != std::string_view::npos) {
    return fail(Code::kCorrupt, "expected two pieces, found {}", json::quote_briefly(line));
  }
  for (const std::string& piece : {std::string(merge.first), std::string(merge.second),
                                   fmt::format("{}{}", merge.first, merge.second)}) {
    if (vocabulary.ids.contains(piece)) continue;
    return fail(Code::kCorrupt, "{} is not in {}", json::quote_briefly(piece), kBytePairVocabulary);
  }
  return merge;
}

Result<std::vector<Merge>> read_merges(std::string_view text, const KnownPieces& vocabulary) {
  std::vector<Merge> out;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    if (std::ssize(out) > kHfIdMax) {
      return fail(Code::kTooLarge, "{}: expected at most {} merges", kBytePairMerges, kHfIdMax + 1);
    }
    auto merge = read_merge(line, vocabulary);
    if (!merge)
      return fail_in(fmt::format("{}: line {}", kBytePairMerges, number), std::move(merge).error());
    out.push_back(*merge);
  }
  return out;
}

// Returns the tokens that the class itself defines and the vocabulary contains. Qwen's token is
// added to a vocabulary without it, unless the settings name other tokens for all of its roles.
std::vector<HfAddedToken> known_tokens(VocabularyKind kind, const tokenizer::Settings& settings,
                                       const KnownPieces& vocabulary) {
  std::vector<HfAddedToken> out;
  if (kind == VocabularyKind::kQwen2) {
    constexpr std::string_view kRoles[] = {"unk_token", "eos_token", "pad_token"};
    if (std::ranges::any_of(kRoles, [&](std::string_view role) {
          return settings.token_for(role, kEndOfText) == kEndOfText;
        }))
      out.push_back({.content = std::string(kEndOfText)});
    return out;
  }
  const auto add = [&](std::string_view text) {
    if (vocabulary.ids.contains(text))
      out.push_back({.content = std::string(text), .lstrip = text == "<mask>"});
  };
  if (kind == VocabularyKind::kGpt2) {
    add(kEndOfText);
  } else {
    for (const char* text : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) add(text);
  }
  return out;
}

struct Mark {
  std::string text;
  int64_t id = 0;
};

// Returns the mark that the settings or the class name for a role.
Result<Mark> byte_mark_of(const VocabularyClass& tokenizer, const tokenizer::Settings& settings,
                          std::string_view role, std::string_view otherwise,
                          const KnownPieces& vocabulary) {
  Mark mark{.text = settings.token_for(role, otherwise)};
  const auto found = vocabulary.ids.find(mark.text);
  if (found == vocabulary.ids.end()) {
    return fail(Code::kCorrupt, "{}: lacks {}, which {} requires", kBytePairVocabulary,
                json::quote_briefly(mark.text), tokenizer.name);
  }
  mark.id = found->second;
  return mark;
}

void write_mark(std::string_view name, const Mark& mark, json::Writer& out) {
  out.key(name).begin_array().string(mark.text).integer(mark.id).end_array();
}

struct ByteLevel {
  bool add_prefix_space = true;
  bool trim_offsets = true;
  bool use_regex = true;
};
void write_byte_level(const ByteLevel& options, json::Writer& out) {
  out.begin_object().member("type", "ByteLevel");
  out.member("add_prefix_space", options.add_prefix_space);
  out.member("trim_offsets", options.trim_offsets);
  out.member("use_regex", options.use_regex).end_object();
}

// Writes the composition of characters and the splitting of words, which both come before the
// bytes.
void write_qwen_words(bool add_prefix_space, json::Writer& out) {
  out.key("normalizer");
  write_component("NFC", out);
  out.key("pre_tokenizer").begin_object().member("type", "Sequence");
  out.key("pretokenizers").begin_array().begin_object().member("type", "Split");
  out.key("pattern").begin_object().member("Regex", kQwenWords).end_object();
  out.member("behavior", "Isolated").member("invert", false).end_object();
  write_byte_level({.add_prefix_space = add_prefix_space, .use_regex = false}, out);
  out.end_array().end_object();
}

Result<void> write_roberta(const VocabularyClass& tokenizer, const tokenizer::Settings& settings,
                           bool add_prefix_space, const KnownPieces& vocabulary,
                           json::Writer& out) {
  SIGNALBOX_TRY(const Mark begin,
                byte_mark_of(tokenizer, settings, "cls_token", "<s>", vocabulary));
  SIGNALBOX_TRY(const Mark end, byte_mark_of(tokenizer, settings, "sep_token", "</s>", vocabulary));
  out.begin_object().member("type", "RobertaProcessing");
  write_mark("sep", end, out);
  write_mark("cls", begin, out);
  out.member("trim_offsets", settings.trim_offsets.value_or(true))
      .member("add_prefix_space", add_prefix_space)
      .end_object();
  return {};
}

Result<void> write_gpt2(const VocabularyClass& tokenizer, const tokenizer::Settings& settings,
                        const KnownPieces& vocabulary, json::Writer& out) {
  if (!settings.adds_bos.value_or(false)) {
    write_byte_level({.trim_offsets = false}, out);
    return {};
  }
  SIGNALBOX_TRY(const Mark begin,
                byte_mark_of(tokenizer, settings, "bos_token", kEndOfText, vocabulary));
  const HfMarks marks{.single = {{begin.text}, {""}}, .pair = {{begin.text}, {""}, {"", 1}}};
  write_template_processing(
      marks, [&](std::string_view) { return begin.id; }, out);
  return {};
}

Result<void> write_qwen2(const VocabularyClass& tokenizer, const tokenizer::Settings& settings,
                         const KnownPieces& vocabulary, json::Writer& out) {
  if (!settings.adds_eos.value_or(false)) {
    write_byte_level({.trim_offsets = false}, out);
    return {};
  }
  SIGNALBOX_TRY(const Mark end,
                byte_mark_of(tokenizer, settings, "eos_token", kEndOfText, vocabulary));
  write_template_processing(
      HfMarks::of_decoder("", end.text), [&](std::string_view) { return end.id; }, out);
  return {};
}

Result<void> write_post_processor(const VocabularyClass& tokenizer,
                                  const tokenizer::Settings& settings, bool add_prefix_space,
                                  const KnownPieces& vocabulary, json::Writer& out) {
  out.key("post_processor");
  if (tokenizer.kind == VocabularyKind::kGpt2)
    return write_gpt2(tokenizer, settings, vocabulary, out);
  if (tokenizer.kind == VocabularyKind::kQwen2)
    return write_qwen2(tokenizer, settings, vocabulary, out);
  return write_roberta(tokenizer, settings, add_prefix_space, vocabulary, out);
}

void write_model(std::string_view vocabulary, const std::vector<Merge>& merges, json::Writer& out) {
  out.begin_object().member("type", "BPE").key("dropout").null().key("unk_token").null();
  out.member("continuing_subword_prefix", "").member("end_of_word_suffix", "");
  out.member("fuse_unk", false).member("byte_fallback", false);
  out.key("vocab").raw(vocabulary).key("merges").begin_array();
  for (const Merge& merge : merges)
    out.begin_array().string(merge.first).string(merge.second).end_array();
  out.end_array().end_object();
}

}  // namespace

Result<std::string> byte_pair_tokenizer(const VocabularyClass& tokenizer, std::string vocabulary,
                                        std::string_view merges,
                                        const tokenizer::Settings& settings) {
  auto document =
      json::Document::parse(std::move(vocabulary), {.bytes = kVocabularyBytesMax, .depth = 2});
  if (!document) return fail_in(kBytePairVocabulary, std::move(document).error());
  SIGNALBOX_TRY(KnownPieces pieces, read_vocabulary(*document));
  SIGNALBOX_TRY(const std::vector<Merge> pairs, read_merges(merges, pieces));
  SIGNALBOX_TRY(const auto tokens, join_added_tokens(known_tokens(tokenizer.kind, settings, pieces),
                                                     settings, pieces));
  for (const HfAddedToken& token : tokens) pieces.ids.emplace(token.content, token.id);
  const bool add_prefix_space = settings.add_prefix_space.value_or(false);
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  write_added_tokens(tokens, out);
  if (tokenizer.kind == VocabularyKind::kQwen2) {
    write_qwen_words(add_prefix_space, out);
  } else {
    out.key("normalizer").null().key("pre_tokenizer");
    write_byte_level({.add_prefix_space = add_prefix_space}, out);
  }
  SIGNALBOX_TRY_VOID(write_post_processor(tokenizer, settings, add_prefix_space, pieces, out));
  out.key("decoder");
  write_byte_level({}, out);
  out.key("model");
  write_model(document->root().raw(), pairs, out);
  return out.end_object().take();
}

}  // namespace signalbox::tools
