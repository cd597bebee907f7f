// The adapter to simdjson On-Demand: one recursive walk that visits, and so validates, every value.

#include "base/json.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace signalbox::json {
namespace {

namespace ondemand = simdjson::ondemand;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

// simdjson checks the grammar only when it converts a number, and that conversion rejects long
// integers.
bool is_number_token(std::string_view s) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < s.size() && ascii::is_digit(s[i])) ++i;
    return i > start;
  };
  if (i < s.size() && s[i] == '-') ++i;
  const size_t integer = i;
  if (!digits()) return false;
  if (s[integer] == '0' && i - integer > 1) return false;
  if (i < s.size() && s[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == s.size();
}

// Walks the document once and fills the nodes.
class Builder {
 public:
  Builder(Document& document, uint32_t depth_max) : document_(document), depth_max_(depth_max) {}

  Result<void> build() {
    static thread_local ondemand::parser parser;
    ondemand::document root;
    const simdjson::padded_string_view padded(document_.text_.data(), document_.size_,
                                              document_.text_.size());
    if (auto error = parser.iterate(padded).get(root)) return failure(error, 0);
    // In simdjson a scalar document has no value(). No caller needs one.
    ondemand::value value;
    if (auto error = root.get_value().get(value)) {
      if (error == simdjson::SCALAR_DOCUMENT_AS_VALUE) {
        return fail(Code::kInvalid, "JSON: expected an object or an array at the top");
      }
      return failure(error, 0);
    }
    SIGNALBOX_TRY_VOID(walk(value, 1));
    for (size_t i = document_.nodes_[0].end; i < document_.size_; ++i) {
      if (!is_space(document_.text_[i])) {
        return fail(Code::kInvalid, "JSON: unexpected content after the end at byte {}", i);
      }
    }
    return {};
  }

 private:
  using Node = Document::Node;

  static tl::unexpected<Error> failure(simdjson::error_code error, size_t offset) {
    return fail(Code::kInvalid, "JSON: {} near byte {}", simdjson::error_message(error), offset);
  }

  size_t offset_of(const char* p) const { return static_cast<size_t>(p - document_.text_.data()); }

  uint32_t open(size_t begin, Type type) {
    document_.nodes_.push_back(
        {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin), 0, Document::kPlain, type});
    return static_cast<uint32_t>(document_.nodes_.size() - 1);
  }

  void close(uint32_t node, size_t end) {
    document_.nodes_[node].end = static_cast<uint32_t>(end);
    document_.nodes_[node].next = static_cast<uint32_t>(document_.nodes_.size());
  }

  Result<void> walk(ondemand::value value, uint32_t depth) {
    std::string_view token = value.raw_json_token();
    while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
    const size_t begin = offset_of(token.data());
    if (token.empty()) return fail(Code::kInvalid, "JSON: a value is missing near byte {}", begin);
    switch (token.front()) {
      case '{':
        return walk_object(value, begin, depth);
      case '[':
        return walk_array(value, begin, depth);
      case '"':
        return walk_string(value, begin, token);
      case 't':
      case 'f':
        if (token == "true" || token == "false") return scalar(value, begin, token, Type::kBool);
        break;
      case 'n':
        if (token == "null") return scalar(value, begin, token, Type::kNull);
        break;
      default:
        if (is_number_token(token)) return scalar(value, begin, token, Type::kNumber);
    }
    return fail(Code::kInvalid, "JSON: not a value: \"{}\" at byte {}", token.substr(0, 32), begin);
  }

  Result<void> scalar(ondemand::value value, size_t begin, std::string_view token, Type type) {
    static_cast<void>(value);  // not consumed: the enclosing iteration skips it
    close(open(begin, type), begin + token.size());
    return {};
  }

  Result<void> walk_string(ondemand::value value, size_t begin, std::string_view token) {
    const uint32_t node = open(begin, Type::kString);
    if (token.find('\\') != std::string_view::npos) {
      std::string_view text;
      if (auto error = value.get_string().get(text)) return failure(error, begin);
      keep_unescaped(node, text);
    }
    close(node, begin + token.size());
    return {};
  }

  void keep_unescaped(uint32_t node, std::string_view text) {
    document_.nodes_[node].unescaped = static_cast<uint32_t>(document_.unescaped_.size());
    document_.unescaped_.emplace_back(text);
  }

  Result<void> walk_array(ondemand::value value, size_t begin, uint32_t depth) {
    SIGNALBOX_TRY_VOID(check_depth(depth, begin));
    const uint32_t node = open(begin, Type::kArray);
    ondemand::array array;
    if (auto error = value.get_array().get(array)) return failure(error, begin);
    size_t last = begin + 1;
    for (auto item : array) {
      ondemand::value element;
      if (auto error = std::move(item).get(element)) return failure(error, last);
      const uint32_t child = static_cast<uint32_t>(document_.nodes_.size());
      SIGNALBOX_TRY_VOID(walk(element, depth + 1));
      last = document_.nodes_[child].end;
    }
    return close_container(node, last, ']');
  }

  Result<void> walk_object(ondemand::value value, size_t begin, uint32_t depth) {
    SIGNALBOX_TRY_VOID(check_depth(depth, begin));
    const uint32_t node = open(begin, Type::kObject);
    ondemand::object object;
    if (auto error = value.get_object().get(object)) return failure(error, begin);
    size_t last = begin + 1;
    for (auto item : object) {
      ondemand::field field;
      if (auto error = std::move(item).get(field)) return failure(error, last);
      SIGNALBOX_TRY_VOID(add_key(field));
      const uint32_t child = static_cast<uint32_t>(document_.nodes_.size());
      SIGNALBOX_TRY_VOID(walk(field.value(), depth + 1));
      last = document_.nodes_[child].end;
    }
    return close_container(node, last, '}');
  }

  Result<void> add_key(ondemand::field& field) {
    const size_t begin = offset_of(field.key().raw()) - 1;
    size_t end = begin + 1;
    bool escaped = false;
    while (document_.text_[end] != '"') {
      const bool backslash = document_.text_[end] == '\\';
      escaped |= backslash;
      end += backslash ? 2 : 1;
    }
    const uint32_t node = open(begin, Type::kString);
    if (escaped) {
      std::string_view text;
      if (auto error = field.unescaped_key().get(text)) return failure(error, begin);
      keep_unescaped(node, text);
    }
    close(node, end + 1);
    return {};
  }

  Result<void> close_container(uint32_t node, size_t last, char bracket) {
    while (last < document_.size_ && is_space(document_.text_[last])) ++last;
    if (last >= document_.size_ || document_.text_[last] != bracket) {
      return fail(Code::kInvalid, "JSON: expected '{}' at byte {}", bracket, last);
    }
    close(node, last + 1);
    return {};
  }

  Result<void> check_depth(uint32_t depth, size_t begin) const {
    if (depth <= depth_max_) return {};
    return fail(Code::kTooLarge, "JSON: nested deeper than {} at byte {}", depth_max_, begin);
  }

  Document& document_;
  uint32_t depth_max_;
};

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "boolean";
    case Type::kNumber:
      return "number";
    case Type::kString:
      return "string";
    case Type::kArray:
      return "array";
    case Type::kObject:
      return "object";
  }
  return "unknown";
}

Result<Document> Document::parse(std::string text, const Limits& limits) {
  // Offsets are 32 bits wide.
  const size_t bytes_max = std::min<size_t>(limits.bytes, UINT32_MAX - simdjson::SIMDJSON_PADDING);
  if (text.size() > bytes_max) {
    return fail(Code::kTooLarge, "JSON: {} bytes, at most {} are read", text.size(), bytes_max);
  }
  Document document;
  static_assert(kPadding >= simdjson::SIMDJSON_PADDING);
  document.size_ = text.size();
  document.nodes_.reserve(text.size() / 16);  // estimate for dense JSON: one value per 16 bytes
  document.text_ = std::move(text);
  document.text_.resize(document.size_ + simdjson::SIMDJSON_PADDING, '\0');
  SIGNALBOX_TRY_VOID(Builder(document, limits.depth).build());
  return document;
}

std::string_view Document::text_of(const Node& node) const {
  if (node.unescaped != kPlain) return unescaped_[node.unescaped];
  return source().substr(node.begin + 1, node.end - node.begin - 2);
}

Type Value::type() const {
  return document_->nodes_[node_].type;
}
size_t Value::begin() const {
  return document_->nodes_[node_].begin;
}
size_t Value::end() const {
  return document_->nodes_[node_].end;
}
std::string_view Value::raw() const {
  return document_->source().substr(begin(), end() - begin());
}

std::string_view Value::text() const {
  SIGNALBOX_CHECK(is_string());
  return document_->text_of(document_->nodes_[node_]);
}

bool Value::boolean() const {
  SIGNALBOX_CHECK(is_bool());
  return raw() == "true";
}

Result<int64_t> Value::integer() const {
  int64_t out = 0;
  const std::string_view token = raw();
  if (is_number()) {
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), out);
    if (error == std::errc() && end == token.data() + token.size()) return out;
  }
  return fail(Code::kInvalid, "expected an integer, found {}", token.substr(0, 64));
}

Result<double> Value::number() const {
  double out = 0;
  const std::string_view token = raw();
  if (is_number()) {
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), out);
    if (error == std::errc() && end == token.data() + token.size() && std::isfinite(out))
      return out;
  }
  return fail(Code::kInvalid, "expected a number, found {}", token.substr(0, 64));
}

std::optional<Value> Value::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return member.value;
  }
  return std::nullopt;
}

size_t Value::count(std::string_view key) const {
  size_t n = 0;
  for (const Member& member : members()) n += member.key == key;
  return n;
}

Items Value::items() const {
  if (!is_array()) return {document_, 0, 0};
  return {document_, node_ + 1, document_->nodes_[node_].next};
}

Members Value::members() const {
  if (!is_object()) return {document_, 0, 0};
  return {document_, node_ + 1, document_->nodes_[node_].next};
}

Items::Iterator& Items::Iterator::operator++() {
  node_ = document_->nodes_[node_].next;
  return *this;
}

Member Members::Iterator::operator*() const {
  return {document_->text_of(document_->nodes_[node_]), Value(document_, node_ + 1)};
}

Members::Iterator& Members::Iterator::operator++() {
  node_ = document_->nodes_[node_ + 1].next;
  return *this;
}

}  // namespace signalbox::json
