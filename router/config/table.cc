// The interpreter of the tables: how a value of each kind is read.

#include "router/config/table.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/yaml_tree.h"

namespace signalbox::config {
namespace {

/// The value that a key takes, in words: "an integer from 0 to 65535".
std::string expectation_of(const Key& key) {
  if (!key.expectation.empty()) return std::string(key.expectation);
  switch (key.kind) {
    case Kind::kText:
    case Kind::kString:
      return "a string";
    case Kind::kBoolean:
      return "true or false";
    case Kind::kInteger:
      return fmt::format("an integer from {} to {}", key.low, key.high);
    case Kind::kNumber:
      return fmt::format("a number from {} to {}", key.least, key.most);
    case Kind::kBytes:
      return fmt::format("a size from {} to {} bytes such as 64KiB or 32MiB", key.low, key.high);
    case Kind::kTokens:
      return "a number of tokens such as 4096, 32K or 1M";
    case Kind::kDuration:
      return fmt::format("a duration from {}ms to {}s such as 300s or 250ms", key.low,
                         key.high / 1000);
    case Kind::kChoice: {
      std::vector<std::string_view> words;
      for (const Choice& choice : key.choices) words.push_back(choice.word);
      return "one of " + join(words);
    }
    case Kind::kWord:
      return "one of " + join(split_words(key.words));
    case Kind::kTexts:
      return "a list of strings";
    case Kind::kTextLists:
      return "a list of lists of strings";
    case Kind::kNumbers:
      return "a list of numbers";
    case Kind::kTextMap:
      return "a mapping from names to strings";
    case Kind::kNumberMap:
      return "a mapping from names to numbers";
    case Kind::kTextsMap:
      return "a mapping from names to lists of strings";
    case Kind::kList:
    case Kind::kNamed:
    case Kind::kVariants:
      return "a list of mappings";
    case Kind::kObject:
    case Kind::kMap:
      return "a mapping";
    case Kind::kAnything:
    case Kind::kConstant:
    case Kind::kRemark:
    case Kind::kRemoved:
      break;
  }
  return "anything";
}

void read_number_like(Reader& reader, const yaml::Node& node, const Key& key, void* member) {
  const std::string expected = expectation_of(key);
  int64_t integer = 0;
  double number = 0;
  bool found = false;
  switch (key.kind) {
    case Kind::kInteger:
      found = read_integer(reader, node, expected, key.low, key.high, integer);
      break;
    case Kind::kNumber:
      found = read_number(reader, node, expected, key.least, key.most, number);
      break;
    case Kind::kBytes:
      found = read_bytes(reader, node, expected, key.low, key.high, integer);
      break;
    case Kind::kTokens:
      found = read_tokens(reader, node, expected, integer);
      break;
    default:
      found = read_milliseconds(reader, node, expected, key.low, key.high, integer);
      break;
  }
  if (found) key.access->store(member, integer, number);
}

void read_choice_of(Reader& reader, const yaml::Node& node, const Key& key, void* member) {
  std::vector<std::string_view> words;
  for (const Choice& choice : key.choices) words.push_back(choice.word);
  if (const auto index = read_choice(reader, node, expectation_of(key), words))
    key.access->store(member, key.choices[*index].value, 0);
}

void read_word(Reader& reader, const yaml::Node& node, const Key& key, std::string& out) {
  if (node.kind == yaml::Kind::kScalar && node.scalar.empty()) return;
  const std::vector<std::string_view> words = split_words(key.words);
  if (const auto index = read_choice(reader, node, expectation_of(key), words)) out = words[*index];
}

void read_constant(Reader& reader, const yaml::Node& node, const Key& key) {
  const auto value = reader.scalar(node, key.words);
  if (value && value->text != key.words) reader.expected(node, key.words);
}

void read_text_lists(Reader& reader, const yaml::Node& node, const Key& key,
                     std::vector<std::vector<std::string>>& out) {
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, expectation_of(key));
  for (size_t i = 0; i < node.items.size(); ++i)
    reader.at_index(i, [&] { read_texts(reader, node.items[i], out.emplace_back()); });
}

const Section& section_of(const Key& key) {
  SIGNALBOX_CHECK(key.access->element == key.section->owner);
  return *key.section;
}

void read_list(Reader& reader, const yaml::Node& node, const Key& key, void* list) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, expectation_of(key));
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] { key.access->append(reader, node.items[i], section_of(key), list); });
  }
}

void read_named(Reader& reader, const yaml::Node& node, const Key& key, void* list) {
  read_list(reader, node, key, list);
  std::map<std::string_view, uint32_t> lines;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = key.access->name(list, i);
    const yaml::Node* at = node.items[i].find("name");
    if (at == nullptr || name.empty()) continue;
    const auto found = lines.emplace(name, at->line);
    if (found.second) continue;
    const uint32_t first_line = found.first->second;  // clang 14 captures no binding
    reader.at_index(i, [&] {
      reader.at_key("name", [&] {
        reader.error(at->line, fmt::format("\"{}\" is already used on line {}", name, first_line));
      });
    });
  }
}

void read_map(Reader& reader, const yaml::Node& node, const Key& key, void* map) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kMapping) return reader.expected(node, expectation_of(key));
  for (const yaml::Entry& entry : node.entries) {
    reader.at_key(entry.key, [&] {
      read_section(reader, entry.value, section_of(key), key.access->entry(map, entry.key));
    });
  }
}

template <class T>
T& as(void* member) {
  return *static_cast<T*>(member);
}

void read_by_kind(Reader& reader, const yaml::Node& node, const Key& key, void* member) {
  switch (key.kind) {
    case Kind::kText:
      return read_text(reader, node, as<std::string>(member));
    case Kind::kString:
      if (auto scalar = reader.scalar(node, expectation_of(key)))
        as<std::string>(member) = std::move(scalar->text);
      return;
    case Kind::kBoolean: {
      bool value = false;
      if (read_boolean(reader, node, value)) key.access->store(member, value ? 1 : 0, 0);
      return;
    }
    case Kind::kInteger:
    case Kind::kNumber:
    case Kind::kBytes:
    case Kind::kTokens:
    case Kind::kDuration:
      return read_number_like(reader, node, key, member);
    case Kind::kChoice:
      return read_choice_of(reader, node, key, member);
    case Kind::kWord:
      return read_word(reader, node, key, as<std::string>(member));
    case Kind::kConstant:
      return read_constant(reader, node, key);
    case Kind::kTexts:
      as<std::vector<std::string>>(member).clear();
      return read_texts(reader, node, as<std::vector<std::string>>(member));
    case Kind::kTextLists:
      return read_text_lists(reader, node, key, as<std::vector<std::vector<std::string>>>(member));
    case Kind::kNumbers:
      as<std::vector<double>>(member).clear();
      return read_numbers(reader, node, as<std::vector<double>>(member));
    case Kind::kTextMap:
      return read_text_map(reader, node, as<std::map<std::string, std::string>>(member));
    case Kind::kNumberMap:
      return read_number_map(reader, node, as<std::map<std::string, double>>(member));
    case Kind::kTextsMap:
      return read_texts_map(reader, node,
                            as<std::map<std::string, std::vector<std::string>>>(member));
    case Kind::kAnything:
      as<std::string>(member) = to_json(node);
      return;
    case Kind::kObject:
      return read_section(reader, node, section_of(key), key.access->object(member));
    case Kind::kList:
      return read_list(reader, node, key, member);
    case Kind::kNamed:
      return read_named(reader, node, key, member);
    case Kind::kMap:
      return read_map(reader, node, key, member);
    case Kind::kVariants:
    case Kind::kRemark:
    case Kind::kRemoved:
      return;
  }
}

void read_value(Reader& reader, const yaml::Node& node, const Key& key, void* out) {
  void* member = static_cast<char*>(out) + key.offset;
  if (key.read != nullptr) {
    key.read(reader, node, member);
  } else {
    read_by_kind(reader, node, key, member);
  }
  if (key.after != nullptr) key.after(reader, node, member);
}

/// True if a value requests only what happens anyway.
bool is_met(const Key& key, const yaml::Node& node) {
  if (key.effective.empty()) return is_idle(node);
  if (node.kind != yaml::Kind::kScalar || node.scalar.empty()) return is_idle(node);
  const std::vector<std::string_view> words = split_words(key.effective);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view each) { return ascii::iequals(each, node.scalar); });
}

// The entry of a key under its name or its alias. Both at once are an error.
const yaml::Entry* find_entry(Reader& reader, const yaml::Node& node, const Key& key) {
  const yaml::Entry* found = nullptr;
  for (const yaml::Entry& entry : node.entries) {
    if (entry.key != key.name && (key.alias.empty() || entry.key != key.alias)) continue;
    if (found != nullptr) {
      reader.error(entry.line, fmt::format("\"{}\" and \"{}\" are the same; expected one of them",
                                           found->key, entry.key));
    }
    found = &entry;
  }
  return found;
}

void read_key(Reader& reader, const yaml::Node& node, const Key& key, void* out) {
  const yaml::Entry* entry = find_entry(reader, node, key);
  reader.at_key(entry == nullptr ? key.name : std::string_view(entry->key), [&] {
    if (entry == nullptr) {
      if (key.is_required)
        reader.error(node.line, fmt::format("missing; expected {}", expectation_of(key)));
      return;
    }
    const yaml::Node& value = entry->value;
    if (key.kind == Kind::kRemoved)
      return reader.error(entry->line, fmt::format("no longer a key; {}", key.text));
    if (key.kind == Kind::kRemark) return;
    if (!key.is_required && value.kind == yaml::Kind::kNull) return;
    if (key.may_be_empty && value.kind == yaml::Kind::kScalar &&
        ascii::trimmed(value.scalar).empty())
      return;
    if (key.consequence.empty()) return read_value(reader, value, key, out);
    if (!is_met(key, value))
      reader.does_without(value.line, fmt::format("has no effect: {}", key.consequence));
    reader.in_not_built([&] { read_value(reader, value, key, out); });
  });
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    out.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

void read_section(Reader& reader, const yaml::Node& node, const Section& section, void* out) {
  if (node.kind != yaml::Kind::kMapping && node.kind != yaml::Kind::kNull)
    return reader.expected(node, "a mapping");
  std::vector<std::string_view> suggested;
  std::vector<std::string_view> known;  // those, and names that are understood but not suggested
  for (const Key& key : section.keys) {
    if (key.kind != Kind::kRemoved && key.read != skip_value) suggested.push_back(key.name);
    known.push_back(key.name);
    if (!key.alias.empty()) known.push_back(key.alias);
    read_key(reader, node, key, out);
  }
  for (const yaml::Entry& entry : node.entries) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      reader.unknown_key(entry, suggested);
  }
  if (section.check != nullptr) section.check(reader, node, out);
}

}  // namespace signalbox::config
