#pragma once
// A section of the file as data: a table of its keys, each with the type it takes, where it lands
// and what it is for. The reader walks the table, so adding a key is adding a line, and whatever
// else needs to know the keys (messages that name the nearest known one, a printed schema) reads
// the same table.
//
//   const Section<Listener>& listener_section() {
//     static const Section<Listener> section{{
//         required("port", integer(&Listener::port, 0, 65535), "TCP port; 0 lets the system
//         choose"),
//         ...
//     }};
//     return section;
//   }

#include <chrono>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/config/reader.h"
#include "router/config/scalars.h"

namespace signalbox::config {

/// What a key takes: in words, and as code that reads a node into the struct T of the section.
template <class T>
struct Value {
  std::string expected;  // "an integer from 0 to 65535"
  std::function<void(Reader&, const yaml::Node&, T&)> read;
};

enum class Presence : uint8_t {
  kOptional,
  kRequired,
  kRemark,    // for people; changes nothing
  kNotBuilt,  // known to the format; `doc` says what follows from its absence
};

template <class T>
struct Field {
  std::string_view key;
  Presence presence;
  Value<T> value;
  std::string_view doc;
};

template <class T>
struct Section {
  std::vector<Field<T>> fields;  // read in this order, whatever the file's is
  /// Rules between keys, run after them. May be empty.
  std::function<void(Reader&, const yaml::Node&, T&)> check = nullptr;
};

/// Sections refer to each other through functions, so that one may contain itself.
template <class T>
using SectionOf = const Section<T>& (*)();

template <class T>
Field<T> required(std::string_view key, Value<T> value, std::string_view doc) {
  return {key, Presence::kRequired, std::move(value), doc};
}
template <class T>
Field<T> optional(std::string_view key, Value<T> value, std::string_view doc) {
  return {key, Presence::kOptional, std::move(value), doc};
}
template <class T>
Field<T> remark(std::string_view key) {
  return {key, Presence::kRemark, {}, {}};
}
template <class T>
Field<T> not_built(std::string_view key, std::string_view consequence) {
  return {key, Presence::kNotBuilt, {}, consequence};
}

template <class T>
void read_section(Reader& reader, const yaml::Node& node, const Section<T>& section, T& out) {
  if (node.kind != yaml::Kind::kMapping && node.kind != yaml::Kind::kNull) {
    return reader.expected(node, "a mapping");
  }
  std::vector<std::string_view> known;
  for (const Field<T>& field : section.fields) {
    known.push_back(field.key);
    const yaml::Node* value = node.find(field.key);
    reader.at_key(field.key, [&] {
      if (value == nullptr) {
        if (field.presence == Presence::kRequired) {
          reader.error(node.line, fmt::format("missing; expected {}", field.value.expected));
        }
      } else if (field.presence == Presence::kNotBuilt) {
        if (!is_idle(*value)) reader.not_built(value->line, field.doc);
      } else if (field.presence != Presence::kRemark) {
        field.value.read(reader, *value, out);
      }
    });
  }
  for (const yaml::Entry& entry : node.entries) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      reader.unknown_key(entry.line, entry.key, known);
    }
  }
  if (section.check) section.check(reader, node, out);
}

// --- scalars ---

/// Text that is not empty.
template <class T>
Value<T> text(std::string T::*member) {
  return {"a string", [member](Reader& reader, const yaml::Node& node, T& out) {
            read_text(reader, node, out.*member);
          }};
}

template <class T, class M>
Value<T> boolean(M T::*member) {
  return {"true or false", [member](Reader& reader, const yaml::Node& node, T& out) {
            bool value = false;
            if (read_boolean(reader, node, value)) out.*member = value;
          }};
}

template <class T, class M>
Value<T> integer(M T::*member, int64_t low, int64_t high) {
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  return {expected, [=](Reader& reader, const yaml::Node& node, T& out) {
            int64_t value = 0;
            if (read_integer(reader, node, expected, low, high, value))
              out.*member = static_cast<M>(value);
          }};
}

template <class T>
Value<T> number(double T::*member, double low, double high) {
  const std::string expected = fmt::format("a number from {} to {}", low, high);
  return {expected, [=](Reader& reader, const yaml::Node& node, T& out) {
            read_number(reader, node, expected, low, high, out.*member);
          }};
}

template <class T, class M>
Value<T> bytes(M T::*member, int64_t low, int64_t high) {
  const std::string expected =
      fmt::format("a size from {} to {} bytes such as 64KiB or 32MiB", low, high);
  return {expected, [=](Reader& reader, const yaml::Node& node, T& out) {
            int64_t value = 0;
            if (read_bytes(reader, node, expected, low, high, value))
              out.*member = static_cast<M>(value);
          }};
}

template <class T>
Value<T> duration(std::chrono::milliseconds T::*member, std::chrono::milliseconds low,
                  std::chrono::milliseconds high) {
  const std::string expected = fmt::format("a duration from {}ms to {}s such as 300s or 250ms",
                                           low.count(), high.count() / 1000);
  return {expected, [=](Reader& reader, const yaml::Node& node, T& out) {
            read_duration(reader, node, expected, low, high, out.*member);
          }};
}

/// One of some words, upper and lower case alike.
template <class T, class E>
Value<T> choice(E T::*member, std::vector<std::pair<std::string_view, E>> words) {
  std::vector<std::string_view> names;
  for (const auto& [word, value] : words) names.push_back(word);
  const std::string expected = "one of " + join(names);
  return {expected, [=](Reader& reader, const yaml::Node& node, T& out) {
            if (const auto index = read_choice(reader, node, expected, names))
              out.*member = words[*index].second;
          }};
}

// --- containers ---

/// A list of non-empty strings.
template <class T>
Value<T> texts(std::vector<std::string> T::*member) {
  return {"a list of strings", [member](Reader& reader, const yaml::Node& node, T& out) {
            read_texts(reader, node, out.*member);
          }};
}

template <class T, class U>
Value<T> object(U T::*member, SectionOf<U> section) {
  return {"a mapping", [=](Reader& reader, const yaml::Node& node, T& out) {
            read_section(reader, node, section(), out.*member);
          }};
}

/// A mapping that lands in the same struct as the section around it.
template <class T>
Value<T> group(SectionOf<T> section) {
  return {"a mapping", [=](Reader& reader, const yaml::Node& node, T& out) {
            read_section(reader, node, section(), out);
          }};
}

/// A list of mappings. An element is kept even when it has errors: what refers to it is then not an
/// error as well.
template <class T, class U>
Value<T> list(std::vector<U> T::*member, SectionOf<U> section) {
  return {"a list of mappings", [=](Reader& reader, const yaml::Node& node, T& out) {
            if (node.kind == yaml::Kind::kNull) return;
            if (node.kind != yaml::Kind::kSequence)
              return reader.expected(node, "a list of mappings");
            for (size_t i = 0; i < node.items.size(); ++i) {
              reader.at_index(i, [&] {
                U item{};
                read_section(reader, node.items[i], section(), item);
                (out.*member).push_back(std::move(item));
              });
            }
          }};
}

/// The same for elements with a name that must not occur twice.
template <class T, class U>
Value<T> named_list(std::vector<U> T::*member, SectionOf<U> section) {
  Value<T> plain = list(member, section);
  return {plain.expected, [=, read = plain.read](Reader& reader, const yaml::Node& node, T& out) {
            read(reader, node, out);
            std::map<std::string_view, uint32_t> lines;
            for (size_t i = 0; i < node.items.size() && i < (out.*member).size(); ++i) {
              const std::string& name = (out.*member)[i].name;
              const yaml::Node* at = node.items[i].find("name");
              if (at == nullptr || name.empty()) continue;
              const auto found = lines.emplace(name, at->line);
              if (found.second) continue;
              const uint32_t first_line = found.first->second;  // clang 14 captures no binding
              reader.at_index(i, [&] {
                reader.at_key("name", [&] {
                  reader.error(at->line,
                               fmt::format("\"{}\" is taken since line {}", name, first_line));
                });
              });
            }
          }};
}

/// A mapping from names to mappings.
template <class T, class U>
Value<T> map(std::map<std::string, U> T::*member, SectionOf<U> section) {
  return {"a mapping", [=](Reader& reader, const yaml::Node& node, T& out) {
            if (node.kind == yaml::Kind::kNull) return;
            if (node.kind != yaml::Kind::kMapping) return reader.expected(node, "a mapping");
            for (const yaml::Entry& entry : node.entries) {
              reader.at_key(entry.key, [&] {
                read_section(reader, entry.value, section(), (out.*member)[entry.key]);
              });
            }
          }};
}

}  // namespace signalbox::config
