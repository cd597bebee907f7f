#pragma once
// JSON as a tree of source ranges. Every value records its exact source bytes. A request can
// therefore be edited by splicing and forwarded otherwise unchanged: unknown fields, 23-digit
// integers, key order and white space survive. simdjson does the parsing. The tree exists because
// simdjson's On-Demand interface is single-pass and exposes the source bytes of scalars only.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::json {

enum class Type : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

/// "null", "boolean", "number", "string", "array" or "object".
std::string_view type_name(Type type);

/// Returns true if the text is a number by RFC 8259's grammar, of any length.
bool is_number_token(std::string_view text);

class Document;
class Items;
class Members;

/// One value: a view into its Document. It is valid while the Document exists and is not moved.
class Value {
 public:
  Type type() const;
  bool is_null() const { return type() == Type::kNull; }
  bool is_bool() const { return type() == Type::kBool; }
  bool is_number() const { return type() == Type::kNumber; }
  bool is_string() const { return type() == Type::kString; }
  bool is_array() const { return type() == Type::kArray; }
  bool is_object() const { return type() == Type::kObject; }

  /// The bytes of the value in the source, quotes and brackets included: source.substr(begin(),
  /// end() - begin()).
  std::string_view raw() const;
  size_t begin() const;
  size_t end() const;

  /// The text of a string with escapes resolved. Precondition: is_string().
  std::string_view text() const;
  /// Precondition: is_bool().
  bool boolean() const;
  /// Returns an integer that fits; otherwise kInvalid with the value in the message. May be called
  /// on a value of any type.
  Result<int64_t> integer() const;
  /// Returns a finite number; otherwise kInvalid. May be called on a value of any type.
  Result<double> number() const;

  /// Returns the first member of that name, or nullopt. Returns nullopt if this is not an object.
  std::optional<Value> find(std::string_view key) const;
  /// Returns the number of members of that name. More than 1 is a contradiction that the caller may
  /// reject.
  size_t count(std::string_view key) const;
  /// The elements of an array. Empty if this is not an array.
  Items items() const;
  /// The members of an object in source order, including duplicates. Empty if this is not an
  /// object.
  Members members() const;

 private:
  friend class Document;
  friend class Items;
  friend class Members;
  Value(const Document* document, uint32_t node) : document_(document), node_(node) {}

  const Document* document_;
  uint32_t node_;
};

struct Member {
  std::string_view key;  // escapes resolved
  Value value;
};

struct Limits {
  size_t bytes = size_t{1} << 30;
  uint32_t depth = 128;  // of nested arrays and objects
};

/// Owns the source and the tree. Immutable after parse(), so reading it is thread-safe.
class Document {
 public:
  /// The parser needs this many spare bytes behind the text. A string with enough spare capacity is
  /// not reallocated.
  static constexpr size_t kPadding = 64;

  /// Requires that the whole text is one well-formed JSON array or object in UTF-8. Errors:
  /// kInvalid with the byte offset, kTooLarge.
  static Result<Document> parse(std::string text, const Limits& limits = {});

  Value root() const { return Value(this, 0); }
  std::string_view source() const { return {text_.data(), size_}; }

 private:
  friend class Value;
  friend class Items;
  friend class Members;
  friend class Builder;

  struct Node {
    uint32_t begin;
    uint32_t end;
    uint32_t next;  // index of the node after this subtree; an object's children alternate key,
                    // value
    uint32_t unescaped;  // index into unescaped_, or kPlain
    Type type;
  };
  static constexpr uint32_t kPlain = UINT32_MAX;

  std::string_view text_of(const Node& node) const;

  std::string text_;  // the source and the padding that simdjson reads
  size_t size_ = 0;
  std::vector<Node> nodes_;            // in source order
  std::deque<std::string> unescaped_;  // strings that contain a backslash in the source
};

/// Range of an array's elements, for range-for.
class Items {
 public:
  class Iterator {
   public:
    Value operator*() const { return {document_, node_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    friend class Items;
    Iterator(const Document* document, uint32_t node) : document_(document), node_(node) {}
    const Document* document_;
    uint32_t node_;
  };
  Iterator begin() const { return {document_, first_}; }
  Iterator end() const { return {document_, last_}; }

 private:
  friend class Value;
  Items(const Document* document, uint32_t first, uint32_t last)
      : document_(document), first_(first), last_(last) {}
  const Document* document_;
  uint32_t first_, last_;
};

/// Range of an object's members, for range-for.
class Members {
 public:
  class Iterator {
   public:
    Member operator*() const;
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    friend class Members;
    Iterator(const Document* document, uint32_t node) : document_(document), node_(node) {}
    const Document* document_;
    uint32_t node_;  // node of the key
  };
  Iterator begin() const { return {document_, first_}; }
  Iterator end() const { return {document_, last_}; }

 private:
  friend class Value;
  Members(const Document* document, uint32_t first, uint32_t last)
      : document_(document), first_(first), last_(last) {}
  const Document* document_;
  uint32_t first_, last_;
};

}  // namespace signalbox::json
