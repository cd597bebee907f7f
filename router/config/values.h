#pragma once
// What a key may take, each kind as one function: how the value is said in words, how it is read
// into its member, how the printed schema describes it. These are the scalars; section.h has the
// values that hold others.

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/config/reader.h"
#include "router/config/scalars.h"
#include "router/config/schema.h"

namespace signalbox::config {

/// The value of a key, whatever struct it lands in. Tables hold hundreds of these: what copies and
/// destroys them is compiled once, and the struct is known to the outermost function only.
struct AnyValue {
  using ReadInto = std::function<void(Reader&, const yaml::Node&, void* out)>;
  using Describe = std::function<void(Schema&)>;

  AnyValue();
  AnyValue(std::string expected, ReadInto read, Describe describe);
  AnyValue(const AnyValue&);
  AnyValue(AnyValue&&) noexcept;
  AnyValue& operator=(const AnyValue&);
  AnyValue& operator=(AnyValue&&) noexcept;
  ~AnyValue();

  std::string expected;  // "an integer from 0 to 65535"
  ReadInto read_into;
  Describe describe;  // adds members to the schema of the value
};

/// The value of a key that lands in the struct T of its section.
template <class T>
struct Value : AnyValue {
  Value() = default;
  /// `reads` is called with (Reader&, const yaml::Node&, T&).
  template <class Read>
  Value(std::string expects, Read reads, Describe describes)
      : AnyValue(
            std::move(expects),
            [reads = std::move(reads)](Reader& reader, const yaml::Node& node, void* out) {
              reads(reader, node, *static_cast<T*>(out));
            },
            std::move(describes)) {}

  void read(Reader& reader, const yaml::Node& node, T& out) const { read_into(reader, node, &out); }
};

/// The type behind a member: X for X and for std::optional<X>.
template <class M>
struct Stored {
  using type = M;
};
template <class X>
struct Stored<std::optional<X>> {
  using type = X;
};
template <class M>
using StoredType = typename Stored<M>::type;

inline void describe_text(Schema& schema) {
  schema.text();
}

/// Text that is not empty.
template <class T>
Value<T> text(std::string T::*member) {
  return {"a string",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            read_text(reader, node, out.*member);
          },
          [](Schema& schema) {
            schema.text();
            schema.out().member("minLength", 1);
          }};
}

/// Text that may be empty.
template <class T>
Value<T> string(std::string T::*member) {
  return {"a string",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            if (auto scalar = reader.scalar(node, "a string"))
              out.*member = std::move(scalar->text);
          },
          describe_text};
}

template <class T, class M>
Value<T> boolean(M T::*member) {
  return {"true or false",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            bool value = false;
            if (read_boolean(reader, node, value)) out.*member = value;
          },
          [](Schema& schema) { schema.or_variable([&] { schema.type({"boolean"}); }); }};
}

template <class T, class M>
Value<T> integer(M T::*member, int64_t low, int64_t high) {
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  return {expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            int64_t value = 0;
            if (read_integer(reader, node, expected, low, high, value))
              out.*member = static_cast<StoredType<M>>(value);
          },
          [=](Schema& schema) {
            schema.or_variable([&] {
              schema.type({"integer"});
              schema.out().member("minimum", low).member("maximum", high);
            });
          }};
}

/// A number of things, at most a thousand million.
template <class T, class M>
Value<T> count(M T::*member) {
  return integer(member, 0, 1'000'000'000);
}

template <class T, class M>
Value<T> number(M T::*member, double low, double high, const std::string& expected) {
  return {expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            double value = 0;
            if (read_number(reader, node, expected, low, high, value)) out.*member = value;
          },
          [=](Schema& schema) {
            schema.or_variable([&] {
              schema.type({"number"});
              schema.out().member("minimum", low).member("maximum", high);
            });
          }};
}

template <class T, class M>
Value<T> number(M T::*member, double low, double high) {
  return number(member, low, high, fmt::format("a number from {} to {}", low, high));
}

/// Any number of a size that has a meaning.
template <class T, class M>
Value<T> number(M T::*member) {
  return number(member, -1e9, 1e9, "a number");
}

/// A number that is not negative: a weight, a price, a bound.
template <class T, class M>
Value<T> positive(M T::*member) {
  return number(member, 0, 1e9, "a number that is not negative");
}

/// A probability, a confidence, a share of a whole.
template <class T, class M>
Value<T> share(M T::*member) {
  return number(member, 0, 1);
}

template <class T, class M>
Value<T> bytes(M T::*member, int64_t low, int64_t high) {
  const std::string expected =
      fmt::format("a size from {} to {} bytes such as 64KiB or 32MiB", low, high);
  return {expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            int64_t value = 0;
            if (read_bytes(reader, node, expected, low, high, value))
              out.*member = static_cast<StoredType<M>>(value);
          },
          [](Schema& schema) {
            schema.or_variable([&] {
              schema.type({"integer", "string"});
              schema.out().member("minimum", 0).member("pattern", "^[0-9]+([KMG]iB)?$");
            });
          }};
}

/// A number of tokens, in thousands with K and in millions with M behind it. Quoted or not.
template <class T, class M>
Value<T> tokens(M T::*member) {
  constexpr std::string_view kExpected = "a number of tokens such as 4096, 32K or 1M";
  return {std::string(kExpected),
          [=](Reader& reader, const yaml::Node& node, T& out) {
            int64_t value = 0;
            if (read_tokens(reader, node, kExpected, value))
              out.*member = static_cast<StoredType<M>>(value);
          },
          [](Schema& schema) {
            schema.or_variable([&] {
              schema.type({"integer", "string"});
              schema.out().member("minimum", 0).member("pattern", "^ *[0-9.]+ *[kKmM]? *$");
            });
          }};
}

template <class T>
Value<T> duration(std::chrono::milliseconds T::*member, std::chrono::milliseconds low,
                  std::chrono::milliseconds high) {
  const std::string expected = fmt::format("a duration from {}ms to {}s such as 300s or 250ms",
                                           low.count(), high.count() / 1000);
  return {expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            read_duration(reader, node, expected, low, high, out.*member);
          },
          [](Schema& schema) {
            schema.or_variable([&] {
              schema.type({"string"});
              schema.out().member("pattern", "^([0-9.]+(ms|s|m|h))+$");
            });
          }};
}

/// A duration up to a year.
template <class T>
Value<T> duration(std::chrono::milliseconds T::*member) {
  return duration(member, std::chrono::milliseconds(0), std::chrono::hours(24 * 365));
}

/// One of some words, upper and lower case alike.
template <class T, class E>
Value<T> choice(E T::*member, std::vector<std::pair<std::string_view, StoredType<E>>> words) {
  std::vector<std::string_view> names;
  for (const auto& [word, value] : words) names.push_back(word);
  const std::string expected = "one of " + join(names);
  return {expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            if (const auto index = read_choice(reader, node, expected, names))
              out.*member = words[*index].second;
          },
          [=](Schema& schema) { schema.words(names); }};
}

/// The same for words that are kept as they are, in lower case: what only one place compares.
/// An empty text stands for the default.
template <class T>
Value<T> word(std::string T::*member, std::vector<std::string_view> names) {
  const std::string expected = "one of " + join(names);
  return {expected,
          [=](Reader& reader, const yaml::Node& node, T& out) {
            if (node.kind == yaml::Kind::kScalar && node.scalar.empty()) return;
            if (const auto index = read_choice(reader, node, expected, names))
              out.*member = names[*index];
          },
          [=](Schema& schema) {
            std::vector<std::string_view> all = names;
            all.push_back("");
            schema.words(all);
          }};
}

/// A list of non-empty strings.
template <class T>
Value<T> texts(std::vector<std::string> T::*member) {
  return {"a list of strings",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            (out.*member).clear();
            read_texts(reader, node, out.*member);
          },
          [](Schema& schema) {
            schema.type({"array"});
            schema.nested("items", [&] { schema.text(); });
          }};
}

/// A list of numbers.
template <class T>
Value<T> numbers(std::vector<double> T::*member) {
  return {"a list of numbers",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            (out.*member).clear();
            read_numbers(reader, node, out.*member);
          },
          [](Schema& schema) {
            schema.type({"array"});
            schema.nested("items", [&] { schema.or_variable([&] { schema.type({"number"}); }); });
          }};
}

/// A mapping from names to text.
template <class T>
Value<T> text_map(std::map<std::string, std::string> T::*member) {
  return {"a mapping from names to strings",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            read_text_map(reader, node, out.*member);
          },
          [](Schema& schema) {
            schema.type({"object"});
            schema.nested("additionalProperties", [&] { schema.text(); });
          }};
}

/// A mapping from names to numbers.
template <class T>
Value<T> number_map(std::map<std::string, double> T::*member) {
  return {"a mapping from names to numbers",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            read_number_map(reader, node, out.*member);
          },
          [](Schema& schema) {
            schema.type({"object"});
            schema.nested("additionalProperties",
                          [&] { schema.or_variable([&] { schema.type({"number"}); }); });
          }};
}

/// A mapping from names to lists of strings.
template <class T>
Value<T> texts_map(std::map<std::string, std::vector<std::string>> T::*member) {
  return {"a mapping from names to lists of strings",
          [member](Reader& reader, const yaml::Node& node, T& out) {
            read_texts_map(reader, node, out.*member);
          },
          [](Schema& schema) {
            schema.type({"object"});
            schema.nested("additionalProperties", [&] {
              schema.type({"array"});
              schema.nested("items", [&] { schema.text(); });
            });
          }};
}

/// Anything at all, kept as JSON text for whoever it is passed to. A ${NAME} in it is left alone:
/// it is that reader's, not ours.
template <class T>
Value<T> anything(std::string T::*member) {
  return {"anything",
          [member](Reader&, const yaml::Node& node, T& out) { out.*member = to_json(node); },
          [](Schema&) {}};
}

}  // namespace signalbox::config
