#pragma once
// A section of the file as data: a table of its keys, each with the type it takes, where it lands
// and what it is for. The reader walks the table, and so do the messages that name the nearest
// known key and the schema that `signalbox config schema` prints: adding a key is adding a line.
//
//   const Section<Listener>& listener_section() {
//     static const Section<Listener> section{{
//         required("port", integer(&Listener::port, 0, 65535), "TCP port"),
//         optional("timeout", duration(&Listener::timeout, 1ms, 24h), "for a whole request"),
//         optional("tls", object(&Listener::tls, tls_section), "certificates")
//             .not_built("connections are not encrypted"),
//     }};
//     return section;
//   }

#include "router/config/values.h"

namespace signalbox::config {

enum class Presence : uint8_t {
  kOptional,  // null is the same as not given
  kRequired,
  kRemark,   // for people; changes nothing
  kRemoved,  // an error: it meant something in older files
};

/// A key of a section, whatever struct the section is for.
struct AnyField {
  AnyField(std::string_view name, Presence how, AnyValue what, std::string_view why);
  AnyField(const AnyField&);
  AnyField(AnyField&&) noexcept;
  AnyField& operator=(const AnyField&);
  AnyField& operator=(AnyField&&) noexcept;
  ~AnyField();

  std::string_view key;
  Presence presence;
  AnyValue value;
  std::string_view doc;     // of a removed key: what to write instead
  std::string consequence;  // of the key's meaning not being built yet; "": it is built
  std::vector<std::string_view> aliases;
};

template <class T>
struct Field : AnyField {
  using AnyField::AnyField;

  /// The key is read and checked, and a file that uses it is told what follows from its having no
  /// effect.
  Field not_built(std::string_view what_follows) && {
    consequence = what_follows;
    return std::move(*this);
  }
  /// Another name under which files have the key.
  Field alias(std::string_view other) && {
    aliases.push_back(other);
    return std::move(*this);
  }
};

struct AnySection {
  AnySection() = default;
  AnySection(const AnySection&);
  AnySection(AnySection&&) noexcept;
  ~AnySection();

  std::vector<AnyField> fields;  // read in this order, whatever the file's is
  /// Rules between keys, run after them. May be empty.
  std::function<void(Reader&, const yaml::Node&, void* out)> check;
};

template <class T>
struct Section : AnySection {
  /// `more` is called with (Reader&, const yaml::Node&, T&).
  Section(std::initializer_list<Field<T>> keys) {
    fields.reserve(keys.size());
    for (const Field<T>& field : keys) fields.push_back(field);
  }
  template <class Check>
  Section(std::initializer_list<Field<T>> keys, Check more) : Section(keys) {
    check = [more = std::move(more)](Reader& reader, const yaml::Node& node, void* out) {
      more(reader, node, *static_cast<T*>(out));
    };
  }
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
  return {key, Presence::kRemark, {}, "for people"};
}
template <class T>
Field<T> removed(std::string_view key, std::string_view instead) {
  return {key, Presence::kRemoved, {}, instead};
}

// --- reading ---

/// Reads a mapping into the struct that the section is for; unknown keys are reported.
void read_section(Reader& reader, const yaml::Node& node, const AnySection& section, void* out);
template <class T>
void read_section(Reader& reader, const yaml::Node& node, const Section<T>& section, T& out) {
  read_section(reader, node, section, static_cast<void*>(&out));
}

// --- describing ---

/// The members of a section's schema.
void describe_section(Schema& schema, const AnySection& section);

template <class T>
void refer_to(Schema& schema, SectionOf<T> section) {
  schema.section(reinterpret_cast<const void*>(section),
                 [section](Schema& inner) { describe_section(inner, section()); });
}

// --- values that hold others ---

/// A mapping with a struct of its own; an optional member is there when the mapping is.
template <class T, class M>
Value<T> object(M T::*member, SectionOf<StoredType<M>> section) {
  return {"a mapping",
          [=](Reader& reader, const yaml::Node& node, T& out) {
            if constexpr (std::is_same_v<M, StoredType<M>>) {
              read_section(reader, node, section(), out.*member);
            } else {
              read_section(reader, node, section(), (out.*member).emplace());
            }
          },
          [=](Schema& schema) { refer_to(schema, section); }};
}

/// A value of a struct that is a member of the section's.
template <class T, class U>
Value<T> inside(U T::*member, const Value<U>& value) {
  return {value.expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            value.read(reader, node, out.*member);
          },
          value.describe};
}

/// A mapping that lands in the same struct as the section around it.
template <class T>
Value<T> group(SectionOf<T> section) {
  return {"a mapping",
          [=](Reader& reader, const yaml::Node& node, T& out) {
            read_section(reader, node, section(), out);
          },
          [=](Schema& schema) { refer_to(schema, section); }};
}

/// A list of mappings. An element is kept even when it has errors: what refers to it is then not an
/// error as well.
template <class T, class U>
Value<T> list(std::vector<U> T::*member, SectionOf<U> section) {
  return {"a list of mappings",
          [=](Reader& reader, const yaml::Node& node, T& out) {
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
          },
          [=](Schema& schema) {
            schema.type({"array"});
            schema.nested("items", [&] { refer_to(schema, section); });
          }};
}

/// The same for elements with a name that must not occur twice.
template <class T, class U>
Value<T> named_list(std::vector<U> T::*member, SectionOf<U> section) {
  Value<T> plain = list(member, section);
  return {plain.expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            plain.read(reader, node, out);
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
          },
          plain.describe};
}

/// A mapping from names to mappings.
template <class T, class U>
Value<T> map(std::map<std::string, U> T::*member, SectionOf<U> section) {
  return {"a mapping",
          [=](Reader& reader, const yaml::Node& node, T& out) {
            if (node.kind == yaml::Kind::kNull) return;
            if (node.kind != yaml::Kind::kMapping) return reader.expected(node, "a mapping");
            for (const yaml::Entry& entry : node.entries) {
              reader.at_key(entry.key, [&] {
                read_section(reader, entry.value, section(), (out.*member)[entry.key]);
              });
            }
          },
          [=](Schema& schema) {
            schema.type({"object"});
            schema.nested("additionalProperties", [&] { refer_to(schema, section); });
          }};
}

}  // namespace signalbox::config
