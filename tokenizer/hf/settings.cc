// Only keys that concern ids and lengths are read. padding_side is none of them, because nothing is
// padded here.

#include "tokenizer/hf/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"
#include "tokenizer/hf/json_field.h"
#include "tokenizer/hf/sections.h"

namespace signalbox::tokenizer {
namespace {

constexpr const char* kConfigFile = "tokenizer_config.json";
constexpr const char* kMapFile = "special_tokens_map.json";
constexpr size_t kFileBytesMax = size_t{1} << 26;
constexpr double kTokensMax = 1 << 24;  // larger values stand for no limit

constexpr std::array<std::string_view, 2> kLists = {"additional_special_tokens",
                                                    "extra_special_tokens"};

// These classes make the marks of the tokenizer.json anew, the last one since release 5, which
// introduced it.
constexpr std::array<std::string_view, 5> kMarkingClasses = {"LlamaTokenizer", "CodeLlamaTokenizer",
                                                             "GemmaTokenizer", "CohereTokenizer",
                                                             "TokenizersBackend"};
// The names of release 4 and release 5. These classes take the normalizer as it is.
constexpr std::array<std::string_view, 2> kPlainClasses = {"PreTrainedTokenizer",
                                                           "TokenizersBackend"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

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
    SIGNALBOX_TRY(const auto field, file.optional_member(kRoles[role]));
    if (!field) continue;
    SIGNALBOX_TRY(StatedToken token, read_token(*field, name, true));
    if (!token.token.content.empty()) out.roles[role] = std::move(token);
  }
  for (const std::string_view key : kLists) {
    SIGNALBOX_TRY(const auto list, file.optional_member(key));
    if (!list) continue;
    std::vector<Field> tokens;
    if (list->value().is_object()) {
      for (const json::Member& member : list->value().members())
        tokens.emplace_back(member.value, fmt::format("{}.{}", list->path(), member.key));
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

// Reads {"5": {"content": "<s>", ...}}.
Result<void> read_decoder(const Field& decoder, Settings& out) {
  SIGNALBOX_TRY_VOID(decoder.expect(json::Type::kObject));
  for (const json::Member& member : decoder.value().members()) {
    const Field field(member.value, fmt::format("{}.{}", decoder.path(), member.key));
    int32_t id = -1;
    const char* const last = member.key.data() + member.key.size();
    const auto [end, error] = std::from_chars(member.key.data(), last, id);
    if (error != std::errc() || end != last || id < 0 || id > kIdMax)
      return field.corrupt("expected an id from 0 to {} as the key", kIdMax);
    SIGNALBOX_TRY(StatedToken token, read_token(field, kConfigFile, false));
    if (token.token.content.empty()) return field.corrupt("expected a token, found nothing");
    token.token.id = id;
    out.added.push_back(std::move(token));
  }
  std::ranges::sort(out.added, {}, [](const StatedToken& token) { return token.token.id; });
  return {};
}

Result<void> read_case(const Field& file, Settings& out) {
  SIGNALBOX_TRY(out.lowercase, optional_flag(file, "do_lower_case"));
  SIGNALBOX_TRY(out.handle_chinese_chars, optional_flag(file, "tokenize_chinese_chars"));
  if (file.value().find("strip_accents")) {
    SIGNALBOX_TRY(out.strip_accents.emplace(), optional_flag(file, "strip_accents"));
  }
  return {};
}

Result<void> read_marks(const Field& file, std::string_view name, Settings& out) {
  SIGNALBOX_TRY(out.adds_bos, optional_flag(file, "add_bos_token"));
  SIGNALBOX_TRY(out.adds_eos, optional_flag(file, "add_eos_token"));
  out.replaces_marks = contains(kMarkingClasses, name);
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
  SIGNALBOX_TRY(const auto field, file.optional_member("tokenizer_class"));
  std::string_view name;
  if (field) {
    SIGNALBOX_TRY(name, field->string());
  }
  if (name.ends_with("Fast")) name.remove_suffix(4);
  if (!is_plain_class(name)) SIGNALBOX_TRY_VOID(read_case(file, out));
  SIGNALBOX_TRY(out.add_prefix_space, optional_flag(file, "add_prefix_space"));
  SIGNALBOX_TRY_VOID(read_marks(file, name, out));
  SIGNALBOX_TRY(out.splits_special_tokens, flag_or(file, "split_special_tokens", false));
  return read_limits(file, out);
}

using Root = std::optional<json::Document>;

Result<Root> parse_file(std::optional<std::string> text, const char* name) {
  if (!text) return std::nullopt;
  auto document = json::Document::parse(*std::move(text), {.bytes = kFileBytesMax});
  if (!document) return fail(Code::kCorrupt, "{}: {}", name, document.error().message);
  return *std::move(document);
}

// Calls read(root) and adds the file's name to its errors.
template <class Read>
Result<void> with_root(const Root& file, const char* name, const Read& read) {
  if (!file) return {};
  auto done = read(Field(file->root(), ""));
  if (!done) return fail_in(name, std::move(done).error());
  return {};
}

Result<std::optional<std::string>> read_if_there(const std::filesystem::path& path) {
  std::error_code ignored;  // open() reports it
  if (status(path, ignored).type() == std::filesystem::file_type::not_found) return std::nullopt;
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  return std::string(file.text().substr(0, kFileBytesMax + 1));
}

}  // namespace

bool is_plain_class(std::string_view name) {
  return contains(kPlainClasses, name);
}

Result<Settings> parse_settings(std::optional<std::string> config, std::optional<std::string> map) {
  SIGNALBOX_TRY(const Root config_root, parse_file(std::move(config), kConfigFile));
  Settings out;
  bool has_decoder = false;
  const auto read = [&](const Field& file) -> Result<void> {
    SIGNALBOX_TRY_VOID(read_config(file, out));
    SIGNALBOX_TRY(const auto decoder, file.optional_member("added_tokens_decoder"));
    has_decoder = decoder.has_value();
    if (decoder) SIGNALBOX_TRY_VOID(read_decoder(*decoder, out));
    return read_named(file, kConfigFile, out);
  };
  SIGNALBOX_TRY_VOID(with_root(config_root, kConfigFile, read));
  if (has_decoder) return out;
  SIGNALBOX_TRY(const Root map_root, parse_file(std::move(map), kMapFile));
  SIGNALBOX_TRY_VOID(with_root(map_root, kMapFile,
                               [&](const Field& file) { return read_named(file, kMapFile, out); }));
  return out;
}

Result<Settings> read_settings(const std::filesystem::path& directory) {
  SIGNALBOX_TRY(auto config, read_if_there(directory / kConfigFile));
  SIGNALBOX_TRY(auto map, read_if_there(directory / kMapFile));
  auto settings = parse_settings(std::move(config), std::move(map));
  if (!settings) return fail_in(directory.string(), std::move(settings).error());
  return settings;
}

}  // namespace signalbox::tokenizer
