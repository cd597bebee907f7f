// Every value is optional. Keys that do not concern the split of a text are ignored.

#include "tools/vocabulary/tokenizer_settings.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "tools/vocabulary/vocabulary_files.h"

namespace signalbox::tools {
namespace {

using weights::HfConfig;
using weights::HfObject;

constexpr std::string_view kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
constexpr std::string_view kAdditional = "additional_special_tokens";
constexpr const char* kDecoder = "added_tokens_decoder";

// Reads a token that is an object of its content and flags.
Result<StatedToken> token_of(const HfObject& object, bool special) {
  HfAddedToken out;
  SIGNALBOX_TRY(out.content, object.string("content", ""));
  if (out.content.empty()) {
    return fail(Code::kCorrupt, "{}: expected a token, found nothing", object.where("content"));
  }
  SIGNALBOX_TRY(out.special, object.boolean("special", special));
  SIGNALBOX_TRY(out.single_word, object.boolean("single_word", false));
  SIGNALBOX_TRY(out.lstrip, object.boolean("lstrip", false));
  SIGNALBOX_TRY(out.rstrip, object.boolean("rstrip", false));
  SIGNALBOX_TRY(out.normalized, object.boolean("normalized", !out.special));
  return StatedToken{.token = std::move(out), .has_flags = true};
}

// Reads the tokens that have a role. They replace those that another file states.
Result<void> read_named(const HfObject& file, TokenizerSettings& out) {
  for (const std::string_view name : kNames) {
    if (!file.has(name)) continue;
    StatedToken token;
    if (file.value().find(name)->is_object()) {
      SIGNALBOX_TRY(const auto object, file.object(name));
      SIGNALBOX_TRY(token, token_of(*object, true));
    } else {
      SIGNALBOX_TRY(token.token.content, file.string(name, ""));
    }
    if (!token.token.content.empty())
      out.named.insert_or_assign(std::string(name), std::move(token));
  }
  return {};
}

// Reads a list of tokens, each a text or an object. They follow those of another file.
Result<void> read_additional(const HfObject& file, TokenizerSettings& out) {
  const auto list = file.value().find(kAdditional);
  if (!list || !list->is_array()) return {};
  for (const json::Value& item : list->items()) {
    StatedToken token;
    if (item.is_string()) {
      token.token.content = item.text();
    } else {
      SIGNALBOX_TRY(const HfConfig object,
                    HfConfig::parse(std::string(item.raw()), file.where(kAdditional)));
      SIGNALBOX_TRY(token, token_of(object.root(), true));
    }
    if (!token.token.content.empty()) out.additional.push_back(std::move(token));
  }
  return {};
}

Result<int64_t> parse_id(std::string_view text, const std::string& where) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size() && id >= 0 && id <= kHfIdMax)
    return id;
  return fail(Code::kCorrupt, "{}: expected an id from 0 to {}, found {}", where, kHfIdMax,
              json::quote_briefly(text));
}

// Reads {"5": {"content": "<s>", ...}}. Members are read in place, because there may be many.
Result<void> read_decoder(const HfObject& decoder, TokenizerSettings& out) {
  for (const json::Member& member : decoder.value().members()) {
    const std::string where = decoder.where(member.key);
    SIGNALBOX_TRY(const HfConfig object, HfConfig::parse(std::string(member.value.raw()), where));
    SIGNALBOX_TRY(StatedToken token, token_of(object.root(), false));
    SIGNALBOX_TRY(token.token.id, parse_id(member.key, where));
    out.added.push_back(std::move(token));
  }
  return {};
}

// Reads {"<mask>": 250001}.
Result<void> read_added(const std::string& text, TokenizerSettings& out) {
  SIGNALBOX_TRY(const HfConfig file, HfConfig::parse(text, kAddedTokensFile));
  for (const json::Member& member : file.root().value().members()) {
    if (member.key.empty()) continue;
    SIGNALBOX_TRY(const int64_t id,
                  parse_id(member.value.raw(), fmt::format("{}: {}", kAddedTokensFile,
                                                           json::quote_briefly(member.key))));
    out.added.push_back(
        {{.content = std::string(member.key), .id = id, .normalized = true, .special = false}});
  }
  return {};
}

Result<HfConfig> parse_if_there(const ModelFiles& files, const char* name) {
  if (!files.has(name)) return HfConfig::parse("{}", name);
  SIGNALBOX_TRY(std::string text, files.read(name));
  return HfConfig::parse(std::move(text), name);
}

// The tokens so far, in the order in which they were stated.
class Tokens {
 public:
  void put(const StatedToken& stated) {
    const auto [at, is_new] = index_.emplace(stated.token.content, list_.size());
    if (is_new) {
      list_.push_back(stated.token);
    } else if (stated.has_flags) {
      list_[at->second] = stated.token;
    } else {
      list_[at->second].id = stated.token.id;
    }
  }
  std::vector<HfAddedToken>& list() { return list_; }

 private:
  std::vector<HfAddedToken> list_;
  std::unordered_map<std::string, size_t> index_;
};

// Gives tokens that extend the vocabulary their ids. Those with an id come first and must fit.
Result<void> number_new_tokens(std::vector<HfAddedToken*>& tokens, const std::string& file,
                               int64_t next) {
  std::ranges::stable_sort(tokens, {}, [](const HfAddedToken* token) {
    return token->id < 0 ? kHfIdMax + 1 : token->id;
  });
  for (HfAddedToken* const token : tokens) {
    if (token->id >= 0 && token->id != next) {
      return fail(Code::kCorrupt,
                  "{}: {}: expected the id {}, the first after the vocabulary, "
                  "found {}",
                  file, json::quote_briefly(token->content), next, token->id);
    }
    token->id = next++;
  }
  return {};
}

}  // namespace

Result<TokenizerSettings> TokenizerSettings::read(const ModelFiles& files) {
  SIGNALBOX_TRY(HfConfig config, parse_if_there(files, kTokenizerConfigFile));
  TokenizerSettings out{.config = std::move(config)};
  const HfObject root = out.config.root();
  SIGNALBOX_TRY_VOID(read_named(root, out));
  SIGNALBOX_TRY_VOID(read_additional(root, out));
  SIGNALBOX_TRY(const auto decoder, root.object(kDecoder));
  if (decoder) {
    out.added_file = fmt::format("{}: {}", kTokenizerConfigFile, kDecoder);
    SIGNALBOX_TRY_VOID(read_decoder(*decoder, out));
    return out;
  }
  SIGNALBOX_TRY(const HfConfig special, parse_if_there(files, kSpecialTokensFile));
  SIGNALBOX_TRY_VOID(read_named(special.root(), out));
  SIGNALBOX_TRY_VOID(read_additional(special.root(), out));
  if (!files.has(kAddedTokensFile)) return out;
  out.added_file = kAddedTokensFile;
  SIGNALBOX_TRY(const std::string added, files.read(kAddedTokensFile));
  SIGNALBOX_TRY_VOID(read_added(added, out));
  return out;
}

std::string TokenizerSettings::token_for(std::string_view role, std::string_view otherwise) const {
  const auto found = named.find(role);
  return found == named.end() ? std::string(otherwise) : found->second.token.content;
}

Result<std::vector<HfAddedToken>> join_added_tokens(const std::vector<HfAddedToken>& known,
                                                    const TokenizerSettings& settings,
                                                    const KnownPieces& pieces) {
  Tokens tokens;
  for (const HfAddedToken& token : known) tokens.put({.token = token});
  for (const std::string_view name : kNames) {
    if (const auto found = settings.named.find(name); found != settings.named.end())
      tokens.put(found->second);
  }
  for (const StatedToken& token : settings.additional) tokens.put(token);
  for (const StatedToken& token : settings.added) tokens.put(token);
  std::vector<HfAddedToken*> added;
  for (HfAddedToken& token : tokens.list()) {
    const auto found = pieces.ids.find(token.content);
    if (found == pieces.ids.end()) {
      added.push_back(&token);
      continue;
    }
    if (token.id >= 0 && token.id != found->second) {
      return fail(Code::kCorrupt,
                  "{}: {}: expected the id {}, which this piece has in the "
                  "vocabulary, found {}",
                  settings.added_file, json::quote_briefly(token.content), found->second, token.id);
    }
    token.id = found->second;
  }
  SIGNALBOX_TRY_VOID(number_new_tokens(added, settings.added_file, pieces.size));
  std::ranges::sort(tokens.list(), {}, &HfAddedToken::id);
  return std::move(tokens.list());
}

}  // namespace signalbox::tools
