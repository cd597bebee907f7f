#pragma once
// A section of the file as constant data: one table of its keys, each with the kind of value that
// it takes, the place of the member that it fills, bounds, and a text for people. One interpreter
// (table.cc) reads every section; the messages that suggest a known key, the JSON Schema and the
// reference page walk the same tables. To add a key, add a line:
//
//   constexpr Key kListenerKeys[] = {
//       integer(FIELD(Listener, port), 0, 65535, "TCP port.").required(),
//       duration(FIELD(Listener, timeout), 1ms, 24h, "Time limit of a request."),
//       object(FIELD(Listener, tls), kTls, "Certificates.").not_built("connections are clear
//       text"),
//   };
//   constexpr Section kListener{kListenerKeys, checked<check_listener>};
//
// Rejected: tables of std::function, which are flexible and took a seventh of the whole build's
// compile time.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "router/config/reader.h"

namespace signalbox::config {

struct Section;
struct Variant;

/// Reads a node into an object or a member of the type that the function was made for.
using ReadInto = void (*)(Reader&, const yaml::Node&, void* out);

enum class Kind : uint8_t {
  kText,       // std::string, not empty
  kString,     // std::string
  kBoolean,    // bool
  kInteger,    // any integer type
  kNumber,     // double
  kBytes,      // an integer type; "64KiB"
  kTokens,     // an integer type; "32K"
  kDuration,   // std::chrono::milliseconds
  kChoice,     // an enumeration: one of `choices`
  kWord,       // std::string: one of `words`, in lower or upper case; "" keeps the default
  kConstant,   // nothing is stored: the value must be `words`
  kTexts,      // std::vector<std::string>
  kTextLists,  // std::vector<std::vector<std::string>>
  kNumbers,    // std::vector<double>
  kTextMap,    // std::map<std::string, std::string>
  kNumberMap,  // std::map<std::string, double>
  kTextsMap,   // std::map<std::string, std::vector<std::string>>
  kAnything,   // std::string: the node as JSON; a ${NAME} in it is left for its reader
  kObject,     // a struct of `section`, or an optional or a list that gets one
  kList,       // std::vector of structs of `section`
  kNamed,      // the same; no two elements have the same name
  kMap,        // std::map<std::string, struct of `section`>
  kVariants,   // a list of mappings with `type` and `configuration`; see `variants`
  kRemark,     // for people; nothing is stored
  kRemoved,    // an error: `text` is what to write instead
};

/// A word of a choice and the enumerator that it stands for.
struct Choice {
  template <class E>
  constexpr Choice(std::string_view name, E enumerator)
      : word(name), value(static_cast<int64_t>(enumerator)) {}
  std::string_view word;
  int64_t value;
};

/// How a member of one type is filled. Functions that the type does not need are nullptr.
struct Access {
  void (*store)(void* member, int64_t integer, double number) = nullptr;
  /// Returns the object that a mapping is read into: the member itself, or a new element of an
  /// optional or a list.
  void* (*object)(void* member) = nullptr;
  void (*append)(Reader&, const yaml::Node&, const Section&, void* list) = nullptr;
  const std::string& (*name)(const void* list, size_t index) = nullptr;
  bool (*has)(const void* optional) = nullptr;
  void* (*entry)(void* map, const std::string& key) = nullptr;
  const char* element = nullptr;  // the identity of the struct inside
};

/// Its address identifies the struct S, so that a table cannot be applied to another struct.
template <class S>
inline constexpr char kIdentity = 0;

/// A member of type M: the name of its key and its place in the struct `owner`.
template <class M>
struct At {
  std::string_view name;
  size_t offset;
  const char* owner;
};

// The member `member` of the struct S under a key of the same name, and under another.
#define FIELD(S, member) FIELD_AS(#member, S, member)
#define FIELD_AS(key, S, member)                                                      \
  ::signalbox::config::At<std::remove_cvref_t<decltype(std::declval<S&>().member)>> { \
    key, offsetof(S, member), &::signalbox::config::kIdentity<S>                      \
  }

/// A mapping that fills the struct S around it.
template <class S>
constexpr At<S> same(std::string_view key) {
  return {key, 0, &kIdentity<S>};
}

template <class T>
void call(void (*read)(Reader&, const yaml::Node&, T&), Reader& reader, const yaml::Node& node,
          void* out) {
  read(reader, node, *static_cast<std::remove_const_t<T>*>(out));
}
/// A function of (Reader&, const yaml::Node&, T&) as a ReadInto.
template <auto kRead>
void checked(Reader& reader, const yaml::Node& node, void* out) {
  call(kRead, reader, node, out);
}

struct Key {
  std::string_view name;
  Kind kind = Kind::kRemark;
  bool is_required = false;
  bool is_exact = false;      // a kWord that may not be ""
  bool may_be_text = false;   // a kObject that files also have as a text
  bool may_be_empty = false;  // a kDuration
  uint16_t offset = 0;
  const char* owner = nullptr;  // the identity of the struct around the member
  const Access* access = nullptr;
  int64_t low = 0, high = 0;     // bounds of kInteger, kBytes and, in milliseconds, kDuration
  double least = 0, most = 0;    // bounds of kNumber
  std::string_view words;        // for kWord and kConstant, with spaces between them
  std::string_view expectation;  // "a number"; "": from kind and bounds
  std::span<const Choice> choices;
  const Section* section = nullptr;
  std::span<const Variant> variants;
  ReadInto read = nullptr;   // instead of the interpreter
  ReadInto after = nullptr;  // after the interpreter
  std::string_view text;
  std::string_view consequence;  // set if the key has no effect
  std::string_view effective;    // values that get no notice of it
  std::string_view alias;        // another name under which files have the key

  constexpr Key required() const {
    Key key = *this;
    key.is_required = true;
    return key;
  }
  constexpr Key also(std::string_view other) const {
    Key key = *this;
    key.alias = other;
    return key;
  }
  /// The key is read and checked, but its function is missing. A file that has it gets a notice of
  /// the consequence, and docs/upstream.md has the reason.
  constexpr Key not_built(std::string_view what_follows) const { return no_effect(what_follows); }
  /// The same for a key that will never have an effect.
  constexpr Key no_effect(std::string_view what_follows) const {
    Key key = *this;
    key.consequence = what_follows;
    return key;
  }
  /// These values get no notice, because they request what happens anyway.
  constexpr Key unless(std::string_view values) const {
    Key key = *this;
    key.effective = values;
    return key;
  }
  /// The same function for a key without a member.
  constexpr Key with(ReadInto function) const {
    Key key = *this;
    key.read = function;
    return key;
  }
  /// Its read_by() accepts a text in the place of the mapping.
  constexpr Key or_text() const {
    Key key = *this;
    key.may_be_text = true;
    return key;
  }
  /// An empty duration keeps the default, as in the Semantic Router.
  constexpr Key or_empty() const {
    Key key = *this;
    key.may_be_empty = true;
    return key;
  }
  /// A function of (Reader&, const yaml::Node&, M&) instead of the interpreter, or after it.
  template <auto kRead>
  constexpr Key read_by() const {
    Key key = *this;
    key.read = checked<kRead>;
    return key;
  }
  template <auto kCheck>
  constexpr Key then() const {
    Key key = *this;
    key.after = checked<kCheck>;
    return key;
  }
  /// The key in a struct that has this key's struct as the member `outer`.
  template <class M>
  constexpr Key inside(At<M> outer) const {
    Key key = *this;
    key.offset = static_cast<uint16_t>(key.offset + outer.offset);
    key.owner = outer.owner;
    return key;
  }
};

struct Section {
  /// `more` checks rules between keys after all of them are read.
  constexpr Section(std::span<const Key> table, ReadInto more = nullptr)
      : keys(table), check(more) {
    for (const Key& key : table) {
      if (key.owner == nullptr) continue;
      if (owner == nullptr) owner = key.owner;
      if (owner != key.owner)
        throw "the keys of a section belong to one struct";  // at compile time
    }
  }

  std::span<const Key> keys;  // read in this order, whatever the file's order is
  ReadInto check;
  const char* owner = nullptr;
};

/// One form of the elements of a kVariants list, by its `type`.
struct Variant {
  std::string_view names;  // with spaces between them; the first is the one to use
  Key configuration;       // its kind is kObject
};

/// The words of a text with spaces between them.
std::vector<std::string_view> split_words(std::string_view words);

/// Reads a mapping into `out`, the struct that the section is for. Unknown keys are reported.
void read_section(Reader& reader, const yaml::Node& node, const Section& section, void* out);

// --- how members are filled ---

/// The type behind a member: X for X and for an optional, a list or a map of X.
template <class M>
struct Stored {
  using type = M;
  static constexpr bool kIsOptional = false, kIsList = false, kIsMap = false;
};
template <class X>
struct Stored<std::optional<X>> {
  using type = X;
  static constexpr bool kIsOptional = true, kIsList = false, kIsMap = false;
};
template <class X>
struct Stored<std::vector<X>> {
  using type = X;
  static constexpr bool kIsOptional = false, kIsList = true, kIsMap = false;
};
template <class X>
struct Stored<std::map<std::string, X>> {
  using type = X;
  static constexpr bool kIsOptional = false, kIsList = false, kIsMap = true;
};

template <class M>
void store_value(void* member, int64_t integer, double number) {
  using X = typename Stored<M>::type;
  if constexpr (std::is_floating_point_v<X>) {
    *static_cast<M*>(member) = number;
  } else {
    *static_cast<M*>(member) = static_cast<X>(integer);
  }
}

template <class M>
void* object_in(void* member) {
  M& holder = *static_cast<M*>(member);
  if constexpr (Stored<M>::kIsOptional) {
    // With a value, because clang 14 finds no default for a struct within the class that holds it.
    return &holder.emplace(typename M::value_type{});
  } else if constexpr (Stored<M>::kIsList) {
    return &holder.emplace_back();
  } else {
    return &holder;
  }
}

// An element is kept even when it has errors: then what refers to it is not an error as well.
template <class U>
void append_to(Reader& reader, const yaml::Node& node, const Section& section, void* list) {
  U item{};
  read_section(reader, node, section, &item);
  static_cast<std::vector<U>*>(list)->push_back(std::move(item));
}

template <class U>
const std::string& name_in(const void* list, size_t index) {
  return (*static_cast<const std::vector<U>*>(list))[index].name;
}

template <class U>
bool has_value(const void* optional) {
  return static_cast<const std::optional<U>*>(optional)->has_value();
}

template <class U>
void* entry_in(void* map, const std::string& key) {
  return &(*static_cast<std::map<std::string, U>*>(map))[key];
}

template <class M>
constexpr Access access_of() {
  using X = typename Stored<M>::type;
  Access access;
  access.element = &kIdentity<X>;
  if constexpr (std::is_arithmetic_v<X> || std::is_enum_v<X> ||
                std::is_same_v<X, std::chrono::milliseconds> ||
                std::is_same_v<X, std::chrono::seconds>) {
    if constexpr (!Stored<M>::kIsList && !Stored<M>::kIsMap) access.store = store_value<M>;
  } else if constexpr (std::is_class_v<X> && !std::is_same_v<X, std::string>) {
    if constexpr (!Stored<M>::kIsMap) access.object = object_in<M>;
    if constexpr (Stored<M>::kIsMap) access.entry = entry_in<X>;
    if constexpr (Stored<M>::kIsOptional) access.has = has_value<X>;
    if constexpr (Stored<M>::kIsList) {
      access.append = append_to<X>;
      if constexpr (requires(X x) { x.name; }) access.name = name_in<X>;
    }
  }
  return access;
}
template <class M>
inline constexpr Access kAccess = access_of<M>();

// --- keys ---

template <class M>
constexpr Key key_of(At<M> at, Kind kind, std::string_view text) {
  Key key;
  key.name = at.name;
  key.kind = kind;
  key.offset = static_cast<uint16_t>(at.offset);
  key.owner = at.owner;
  key.access = &kAccess<M>;
  key.text = text;
  return key;
}

constexpr Key text(At<std::string> at, std::string_view why) {
  return key_of(at, Kind::kText, why);
}
constexpr Key string(At<std::string> at, std::string_view why) {
  return key_of(at, Kind::kString, why);
}
constexpr Key anything(At<std::string> at, std::string_view why) {
  return key_of(at, Kind::kAnything, why);
}
constexpr Key texts(At<std::vector<std::string>> at, std::string_view why) {
  return key_of(at, Kind::kTexts, why);
}
constexpr Key text_lists(At<std::vector<std::vector<std::string>>> at, std::string_view why) {
  return key_of(at, Kind::kTextLists, why);
}
constexpr Key numbers(At<std::vector<double>> at, std::string_view why) {
  return key_of(at, Kind::kNumbers, why);
}
constexpr Key text_map(At<std::map<std::string, std::string>> at, std::string_view why) {
  return key_of(at, Kind::kTextMap, why);
}
constexpr Key number_map(At<std::map<std::string, double>> at, std::string_view why) {
  return key_of(at, Kind::kNumberMap, why);
}
constexpr Key texts_map(At<std::map<std::string, std::vector<std::string>>> at,
                        std::string_view why) {
  return key_of(at, Kind::kTextsMap, why);
}
template <class M>
constexpr Key boolean(At<M> at, std::string_view why) {
  static_assert(std::is_same_v<typename Stored<M>::type, bool>);
  return key_of(at, Kind::kBoolean, why);
}

template <class M>
constexpr Key bounded(At<M> at, Kind kind, int64_t low, int64_t high, std::string_view why) {
  static_assert(std::is_integral_v<typename Stored<M>::type>);
  Key key = key_of(at, kind, why);
  key.low = low;
  key.high = high;
  return key;
}
template <class M>
constexpr Key integer(At<M> at, int64_t low, int64_t high, std::string_view why) {
  return bounded(at, Kind::kInteger, low, high, why);
}
/// A number of things, at most a thousand million.
template <class M>
constexpr Key count(At<M> at, std::string_view why) {
  return bounded(at, Kind::kInteger, 0, 1'000'000'000, why);
}
template <class M>
constexpr Key bytes(At<M> at, int64_t low, int64_t high, std::string_view why) {
  return bounded(at, Kind::kBytes, low, high, why);
}
template <class M>
constexpr Key tokens(At<M> at, std::string_view why) {
  return bounded(at, Kind::kTokens, 0, 0, why);
}
constexpr Key duration(At<std::chrono::milliseconds> at, std::chrono::milliseconds low,
                       std::chrono::milliseconds high, std::string_view why) {
  Key key = key_of(at, Kind::kDuration, why);
  key.low = low.count();
  key.high = high.count();
  return key;
}

template <class M>
constexpr Key number(At<M> at, double least, double most, std::string_view why) {
  static_assert(std::is_same_v<typename Stored<M>::type, double>);
  Key key = key_of(at, Kind::kNumber, why);
  key.least = least;
  key.most = most;
  return key;
}
/// Any number of a size that has a meaning.
template <class M>
constexpr Key number(At<M> at, std::string_view why) {
  Key key = number(at, -1e9, 1e9, why);
  key.expectation = "a number";
  return key;
}
/// A weight, a price, a bound.
template <class M>
constexpr Key positive(At<M> at, std::string_view why) {
  Key key = number(at, 0, 1e9, why);
  key.expectation = "a number that is not negative";
  return key;
}
/// A probability, a confidence, a share of a whole.
template <class M>
constexpr Key share(At<M> at, std::string_view why) {
  return number(at, 0, 1, why);
}

template <class M>
constexpr Key choice(At<M> at, std::span<const Choice> choices, std::string_view why) {
  Key key = key_of(at, Kind::kChoice, why);
  key.choices = choices;
  return key;
}
constexpr Key word(At<std::string> at, std::string_view words, std::string_view why) {
  Key key = key_of(at, Kind::kWord, why);
  key.words = words;
  return key;
}

template <class M>
constexpr Key nested(At<M> at, Kind kind, const Section& section, std::string_view why) {
  Key key = key_of(at, kind, why);
  key.section = &section;
  return key;
}
template <class M>
constexpr Key object(At<M> at, const Section& section, std::string_view why) {
  return nested(at, Kind::kObject, section, why);
}
template <class M>
constexpr Key list(At<M> at, const Section& section, std::string_view why) {
  return nested(at, Kind::kList, section, why);
}
template <class M>
constexpr Key named(At<M> at, const Section& section, std::string_view why) {
  return nested(at, Kind::kNamed, section, why);
}
template <class M>
constexpr Key map(At<M> at, const Section& section, std::string_view why) {
  return nested(at, Kind::kMap, section, why);
}

/// A list whose elements have the forms of `variants`. `kRead` reads it into an S.
template <auto kRead, class S>
constexpr Key variants(At<S> at, std::span<const Variant> forms, std::string_view why) {
  Key key = key_of(at, Kind::kVariants, why).template read_by<kRead>();
  key.variants = forms;
  return key;
}
constexpr Key unbound(std::string_view name, Kind kind, std::string_view text) {
  Key key;
  key.name = name;
  key.kind = kind;
  key.text = text;
  return key;
}
inline void skip_value(Reader&, const yaml::Node&, void*) {}
/// A key of the Semantic Router's newer files: nothing reads its value, and a file that has it gets
/// a notice.
constexpr Key unread(std::string_view name, std::string_view why, std::string_view consequence) {
  Key key = unbound(name, Kind::kAnything, why);
  key.read = skip_value;
  return key.not_built(consequence);
}
constexpr Key remark(std::string_view name) {
  return unbound(name, Kind::kRemark, "For people; the program ignores it.");
}
constexpr Key removed(std::string_view name, std::string_view instead) {
  return unbound(name, Kind::kRemoved, instead);
}
constexpr Key constant(std::string_view name, std::string_view value, std::string_view why) {
  Key key = unbound(name, Kind::kConstant, why);
  key.words = key.expectation = value;
  return key;
}

}  // namespace signalbox::config
