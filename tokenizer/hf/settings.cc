// Only keys that concern ids and lengths are read. padding_side is none of them, because nothing is
// padded here.

#include "tokenizer/hf/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"
#include "tokenizer/hf/classes.h"
#include "tokenizer/hf/json_field.h"
#include "tokenizer/hf/sections.h"

namespace signalbox::tokenizer {
namespace {

constexpr const char* kDecoder = "added_tokens_decoder";
constexpr size_t kFileBytesMax = size_t{1} << 26;
constexpr double kTokensMax = 1 << 24;  // larger values stand for no limit

constexpr std::array<std::string_view, 2> kLists = {"additional_special_tokens",
                                                    "extra_special_tokens"};

// Reads a token that is a text or an object of its content and flags.
Result<StatedToken> read_token(const Field& field, const char* file, bool special) {
  StatedToken out;
  out.token.id = -1;
  out.special = special;
  out.path = fmt::format("{} of {}", field.path(), file);
  const bool is_text = field.value().is_string();
  if (is_text) {
    out.token.content = field.value().text();
  } else {
    SIGNALBOX_TRY(out.token.content, text(field, "content"));
  }
  SIGNALBOX_TRY_VOID(check_added_size(field, out.token.content));
  if (is_text) return out;
  out.has_flags = true;
  SIGNALBOX_TRY(out.special, flag_or(field, "special", special));
  SIGNALBOX_TRY(out.token.normalized, flag_or(field, "normalized", !out.special));
  SIGNALBOX_TRY(out.token.lstrip, flag_or(field, "lstrip", false));
  SIGNALBOX_TRY(out.token.rstrip, flag_or(field, "rstrip", false));
  SIGNALBOX_TRY(out.token.single_word, flag_or(field, "single_word", false));
  return out;
}

// Reads the tokens that have a role, which replace those of another file, and the lists of further
// special tokens, which follow them. A list may also be an object of names and tokens.
Result<void> read_named(const Field& file, const char* name, Settings& out) {
  for (size_t role = 0; role < kRoles.size(); ++role) {
    if (!file.value().find(kRoles[role])) continue;
    SIGNALBOX_TRY(const Field field, file.member(kRoles[role]));
    out.states_role[role] = true;
    if (field.value().is_null()) {
      out.roles[role].reset();
      continue;
    }
    SIGNALBOX_TRY(StatedToken token, read_token(field, name, true));
    if (!token.token.content.empty()) out.roles[role] = std::move(token);
  }
  for (const std::string_view key : kLists) {
    SIGNALBOX_TRY(const auto list, file.optional_member(key));
    if (!list) continue;
    std::vector<Field> tokens;
    if (list->value().is_object()) {
      for (const json::Member& member : list->value().members())
        tokens.emplace_back(member.value, fmt::format("{}.{}", list->path(), member.key),
                            Repeated::kLast);
    } else {
      SIGNALBOX_TRY(tokens, list->elements());
    }
    for (const Field& field : tokens) {
      if (field.value().is_null()) continue;
      SIGNALBOX_TRY(StatedToken token, read_token(field, name, true));
      if (!token.token.content.empty()) out.listed.push_back(std::move(token));
    }
  }
  return {};
}

Result<int32_t> parse_id(std::string_view text, const Field& field) {
  int32_t id = -1;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, id);
  if (error == std::errc() && end == last && id >= 0 && id <= kIdMax) return id;
  return field.corrupt("expected an id from 0 to {}, found {}", kIdMax, in_quotes(text));
}

// Sorts the added tokens by id. Of several with the same key the last counts.
template <class KeyOf>
void sort_added(const KeyOf& key_of, Settings& out) {
  std::vector<StatedToken> kept;
  std::unordered_set<std::string> seen;
  for (auto token = out.added.rbegin(); token != out.added.rend(); ++token) {
    if (seen.insert(key_of(*token)).second) kept.push_back(*token);
  }
  std::ranges::sort(kept, {}, [](const StatedToken& token) { return token.token.id; });
  out.added = std::move(kept);
}

// Reads {"5": {"content": "<s>", ...}}.
Result<void> read_decoder(const Field& decoder, Settings& out) {
  SIGNALBOX_TRY_VOID(decoder.expect(json::Type::kObject));
  for (const json::Member& member : decoder.value().members()) {
    const Field field(member.value, fmt::format("{}.{}", decoder.path(), member.key),
                      Repeated::kLast);
    SIGNALBOX_TRY(const int32_t id, parse_id(member.key, field));
    SIGNALBOX_TRY(StatedToken token, read_token(field, kTokenizerConfigFile, false));
    if (token.token.content.empty()) return field.corrupt("expected a token, found nothing");
    token.token.id = id;
    out.added.push_back(std::move(token));
  }
  out.added_file = fmt::format("{}: {}", kTokenizerConfigFile, kDecoder);
  sort_added([](const StatedToken& token) { return std::to_string(token.token.id); }, out);
  return {};
}

// Reads {"<mask>": 250001}. A token with a role is special.
Result<void> read_added(const Field& file, Settings& out) {
  SIGNALBOX_TRY_VOID(file.expect(json::Type::kObject));
  for (const json::Member& member : file.value().members()) {
    if (member.key.empty()) continue;
    const Field field(member.value, in_quotes(member.key));
    StatedToken stated;
    stated.path = fmt::format("{} of {}", field.path(), kAddedTokensFile);
    stated.token.content = member.key;
    SIGNALBOX_TRY(stated.token.id, parse_id(member.value.raw(), field));
    SIGNALBOX_TRY_VOID(check_added_size(field, member.key));
    const auto is_same = [&](const auto& other) {
      return other && other->token.content == member.key;
    };
    stated.special = std::ranges::any_of(out.roles, is_same) ||
                     std::ranges::any_of(out.listed, [&](const StatedToken& other) {
                       return other.token.content == member.key;
                     });
    stated.token.normalized = !stated.special;
    out.added.push_back(std::move(stated));
  }
  out.added_file = kAddedTokensFile;
  sort_added([](const StatedToken& token) { return token.token.content; }, out);
  return {};
}

Result<void> read_options(const Field& file, Settings& out) {
  SIGNALBOX_TRY(out.lowercase, optional_flag(file, "do_lower_case"));
  SIGNALBOX_TRY(out.handle_chinese_chars, optional_flag(file, "tokenize_chinese_chars"));
  if (file.value().find("strip_accents")) {
    SIGNALBOX_TRY(out.strip_accents.emplace(), optional_flag(file, "strip_accents"));
  }
  SIGNALBOX_TRY(out.add_prefix_space, optional_flag(file, "add_prefix_space"));
  SIGNALBOX_TRY(out.trim_offsets, optional_flag(file, "trim_offsets"));
  SIGNALBOX_TRY(out.keep_accents, optional_flag(file, "keep_accents"));
  SIGNALBOX_TRY(out.remove_space, optional_flag(file, "remove_space"));
  SIGNALBOX_TRY(out.split_by_punct, optional_flag(file, "split_by_punct"));
  SIGNALBOX_TRY(out.legacy, optional_flag(file, "legacy"));
  SIGNALBOX_TRY(const auto extra_ids, file.optional_member("extra_ids"));
  if (extra_ids) {
    SIGNALBOX_TRY(out.extra_ids, extra_ids->integer(0, kIdMax));
  }
  SIGNALBOX_TRY(out.adds_bos, optional_flag(file, "add_bos_token"));
  SIGNALBOX_TRY(out.adds_eos, optional_flag(file, "add_eos_token"));
  SIGNALBOX_TRY(out.splits_special_tokens, flag_or(file, "split_special_tokens", false));
  SIGNALBOX_TRY(const auto inputs, file.optional_member("model_input_names"));
  if (!inputs) return {};
  SIGNALBOX_TRY(const auto names, inputs->elements());
  out.has_types = false;
  for (const Field& field : names) {
    SIGNALBOX_TRY(const std::string_view name, field.string());
    if (name == "token_type_ids") out.has_types = true;
  }
  return {};
}

Result<void> read_limits(const Field& file, Settings& out) {
  SIGNALBOX_TRY(const auto most, file.optional_member("model_max_length"));
  if (most) {
    const auto number = most->value().number();
    if (!number || *number < 1) {
      return most->corrupt("expected a number of tokens from 1, found {}",
                           most->value().raw().substr(0, 64));
    }
    if (*number <= kTokensMax) out.tokens_max = static_cast<int32_t>(*number);
  }
  SIGNALBOX_TRY(const auto side, file.optional_member("truncation_side"));
  if (!side) return {};
  SIGNALBOX_TRY(const std::string_view name, side->string());
  if (name != "left" && name != "right")
    return side->corrupt("expected left or right, found {}", in_quotes(name));
  out.side = name == "left" ? TruncationSide::kLeft : TruncationSide::kRight;
  return {};
}

Result<void> read_config(const Field& file, Settings& out) {
  SIGNALBOX_TRY(const auto name, file.optional_member("tokenizer_class"));
  if (name) {
    SIGNALBOX_TRY(const std::string_view text, name->string());
    out.own_class = without_fast(text);
  }
  SIGNALBOX_TRY_VOID(read_options(file, out));
  SIGNALBOX_TRY_VOID(read_limits(file, out));
  SIGNALBOX_TRY(const auto decoder, file.optional_member(kDecoder));
  if (decoder) SIGNALBOX_TRY_VOID(read_decoder(*decoder, out));
  return read_named(file, kTokenizerConfigFile, out);
}

// Skips wrong values, because the engine's reader of config.json reports them.
void read_model_config(const Field& file, Settings& out) {
  const auto text_of = [&](std::string_view key) -> std::string_view {
    const auto field = file.optional_member(key);
    return field && *field && (*field)->value().is_string() ? (*field)->value().text() : "";
  };
  out.model_class = without_fast(text_of("tokenizer_class"));
  out.type_class = class_of_model_type(text_of("model_type"));
}

// Replaces the words of Python's json that JSON lacks, except inside strings. An infinite length
// means no limit, like the library's own "very large integer".
void replace_python_numbers(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"Infinity", "1e30    "},
                                                                      {"NaN", "1e9"}};
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && (text[i] == 'I' || text[i] == 'N')) {
      for (const auto& [word, number] : kWords) {
        if (std::string_view(text).substr(i).starts_with(word))
          text.replace(i, word.size(), number);
      }
    }
  }
}

using Root = std::optional<json::Document>;

Result<Root> parse_file(std::optional<std::string> text, const char* name) {
  if (!text) return std::nullopt;
  replace_python_numbers(*text);
  auto document = json::Document::parse(*std::move(text), {.bytes = kFileBytesMax});
  if (!document) return fail(Code::kCorrupt, "{}: {}", name, document.error().message);
  return *std::move(document);
}

// Calls read(root) and adds the file's name to its errors.
template <class Read>
Result<void> with_root(const Root& file, const char* name, const Read& read) {
  if (!file) return {};
  auto done = read(Field(file->root(), "", Repeated::kLast));
  if (!done) return fail_in(name, std::move(done).error());
  return {};
}

Result<std::optional<std::string>> read_if_there(const std::filesystem::path& path) {
  std::error_code ignored;  // open() reports it
  if (status(path, ignored).type() == std::filesystem::file_type::not_found) return std::nullopt;
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  return std::string(file.text().substr(0, kFileBytesMax + 1));
}

// Names the tokens that the class has by itself for roles that the files do not mention.
void name_tokens_of_class(std::string_view name, const TokenizerClass& one, Settings& out) {
  for (size_t role = 0; role < kRoles.size(); ++role) {
    const bool takes_space = one.mask_takes_space && kRoles[role] == "mask_token";
    if (out.roles[role] && !out.roles[role]->has_flags) out.roles[role]->token.lstrip = takes_space;
    if (out.states_role[role] || one.roles[role].empty()) continue;
    StatedToken& token = out.roles[role].emplace();
    token.token.id = -1;
    token.token.content = one.roles[role];
    token.token.lstrip = takes_space;
    token.special = true;
    token.path = fmt::format("{} of {}", kRoles[role], name);
  }
}

}  // namespace

std::string Settings::token_for(std::string_view role, std::string_view otherwise) const {
  const auto at = static_cast<size_t>(std::ranges::find(kRoles, role) - kRoles.begin());
  return roles[at] ? roles[at]->token.content : std::string(otherwise);
}

Result<Settings> parse_settings(SettingsFiles files) {
  Settings out;
  if (auto model = parse_file(std::move(files.model), kModelConfigFile); model && *model)
    read_model_config(Field((*model)->root(), "", Repeated::kLast), out);
  SIGNALBOX_TRY(const Root config, parse_file(std::move(files.config), kTokenizerConfigFile));
  SIGNALBOX_TRY_VOID(with_root(config, kTokenizerConfigFile,
                               [&](const Field& file) { return read_config(file, out); }));
  if (!out.added_file.empty()) return out;
  SIGNALBOX_TRY(const Root special, parse_file(std::move(files.special), kSpecialTokensFile));
  SIGNALBOX_TRY_VOID(with_root(special, kSpecialTokensFile, [&](const Field& file) {
    return read_named(file, kSpecialTokensFile, out);
  }));
  SIGNALBOX_TRY(const Root added, parse_file(std::move(files.added), kAddedTokensFile));
  SIGNALBOX_TRY_VOID(
      with_root(added, kAddedTokensFile, [&](const Field& file) { return read_added(file, out); }));
  return out;
}

void apply_class_defaults(Settings& settings) {
  const std::string& name = !settings.own_class.empty()     ? settings.own_class
                            : !settings.model_class.empty() ? settings.model_class
                                                            : settings.type_class;
  const TokenizerClass one = class_named(name);
  name_tokens_of_class(name, one, settings);
  settings.has_types = settings.has_types.value_or(one.has_types);
  settings.keeps_normalizer = one.kind == ClassKind::kPlain;
  settings.replaces_marks = one.kind == ClassKind::kMarking || name == "TokenizersBackend";
  if (one.kind == ClassKind::kMarking) settings.begins_by_default = one.name;
  if (one.kind == ClassKind::kBert) {
    settings.lowercase = settings.lowercase.value_or(true);
    settings.handle_chinese_chars = settings.handle_chinese_chars.value_or(true);
    if (!settings.strip_accents) settings.strip_accents.emplace();
  }
  if (one.kind == ClassKind::kByteLevel || one.kind == ClassKind::kRoberta)
    settings.add_prefix_space = settings.add_prefix_space.value_or(false);
  if (one.kind == ClassKind::kRoberta) {
    settings.trim_offsets = settings.trim_offsets.value_or(true);
  } else {
    settings.trim_offsets.reset();
  }
}

Result<Settings> read_settings(const std::filesystem::path& directory) {
  SettingsFiles files;
  for (const auto& [name, text] : {std::pair(kTokenizerConfigFile, &files.config),
                                   {kSpecialTokensFile, &files.special},
                                   {kAddedTokensFile, &files.added},
                                   {kModelConfigFile, &files.model}}) {
    SIGNALBOX_TRY(*text, read_if_there(directory / name));
  }
  auto settings = parse_settings(std::move(files));
  if (!settings) return fail_in(directory.string(), std::move(settings).error());
  apply_class_defaults(*settings);
  return settings;
}

}  // namespace signalbox::tokenizer
