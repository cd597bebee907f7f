#pragma once
// JSON as views of its source. A value is the place where it begins; it is read when somebody looks
// at it. So a value that nobody looks at costs nothing, and a request can be edited by splicing and
// forwarded otherwise unchanged: unknown fields, 23-digit integers, key order and white space
// survive. A tree of nodes was rejected: a body of small values made one of 13 times its size.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_escapes.h"

namespace signalbox::json {

enum class Type : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

/// "null", "boolean", "number", "string", "array" or "object".
std::string_view type_name(Type type);

/// Returns true if the text is a number by RFC 8259's grammar, of any length.
bool is_number_token(std::string_view text);

class Document;
class Items;
class Members;

/// One value: a view into its Document. It is valid while the Document exists and is not moved. Its
/// end is searched whenever it is needed, which takes a time independent of the value's size. The
/// first look at a text with escapes resolves it.
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
  size_t begin() const { return begin_; }
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
  Value(const Document* document, uint32_t begin) : document_(document), begin_(begin) {}

  const Document* document_;
  uint32_t begin_;
};

struct Member {
  std::string_view key;  // escapes resolved
  Value value;
};

struct Limits {
  size_t bytes = size_t{1} << 30;
  uint32_t depth = 128;  // of nested arrays and objects
};

/// Owns the source. Reading it is thread-safe. Beside the source it holds at most a quarter of it,
/// to find ends, and the texts with escapes that were read, with at most an eighth of their source.
class Document {
 public:
  /// Requires that the whole text is one well-formed JSON array or object in UTF-8. Errors:
  /// kInvalid with the byte offset, kTooLarge.
  static Result<Document> parse(std::string text, const Limits& limits = {});
  /// The same, but takes the text only if it returns a document.
  static Result<Document> take(std::string& text, const Limits& limits = {});

  Value root() const { return Value(this, root_); }
  std::string_view source() const { return text_; }
  /// Gives the source away. Its values become invalid.
  std::string take_source() && { return std::move(text_); }
  /// The memory that the document holds, its source included.
  size_t memory_bytes() const;

 private:
  friend class Value;
  friend class Items;
  friend class Members;
  friend class Checker;

  struct Range {
    uint32_t begin, end;
  };

  uint32_t end_of(uint32_t begin) const;
  uint32_t near_end(uint32_t begin) const;
  uint32_t near_scalar_end(uint32_t begin) const;
  uint32_t after_space(uint32_t at) const;
  uint32_t next(uint32_t end) const;
  std::string_view text_of(uint32_t begin, uint32_t end) const;

  std::string text_;
  uint32_t root_ = 0;
  std::vector<Range> long_values_;  // by begin: values that take long to skip
  EscapedTexts escaped_;
};

/// Range of an array's elements, for range-for.
class Items {
 public:
  class Iterator {
   public:
    Value operator*() const { return {document_, at_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    friend class Items;
    Iterator(const Document* document, uint32_t at) : document_(document), at_(at) {}
    const Document* document_;
    uint32_t at_;
  };
  Iterator begin() const { return {document_, first_}; }
  Iterator end() const { return {document_, 0}; }

 private:
  friend class Value;
  Items(const Document* document, uint32_t first) : document_(document), first_(first) {}
  const Document* document_;
  uint32_t first_;  // 0: there is none
};

/// Range of an object's members, for range-for.
class Members {
 public:
  class Iterator {
   public:
    Member operator*() const;
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return key_ != other.key_; }

   private:
    friend class Members;
    Iterator(const Document* document, uint32_t key);
    const Document* document_;
    uint32_t key_;
    uint32_t key_end_ = 0;
    uint32_t value_ = 0;
  };
  Iterator begin() const { return {document_, first_}; }
  Iterator end() const { return {document_, 0}; }

 private:
  friend class Value;
  Members(const Document* document, uint32_t first) : document_(document), first_(first) {}
  const Document* document_;
  uint32_t first_;  // 0: there is none
};

}  // namespace signalbox::json
