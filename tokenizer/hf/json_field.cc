// Type and range checks on base/json values.

#include "tokenizer/hf/json_field.h"

#include "base/json_writer.h"

namespace signalbox::tokenizer {
namespace {

constexpr size_t kShownBytesMax = 64;

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out;
  json::append_string(out, text.substr(0, kShownBytesMax));
  if (text.size() > kShownBytesMax) out += "...";
  return out;
}

Result<Field> Field::member(std::string_view key) const {
  SIGNALBOX_TRY_VOID(expect(json::Type::kObject));
  std::optional<json::Value> found;
  int count = 0;
  for (const json::Member& member : value_.members()) {
    if (member.key != key) continue;
    found = member.value;
    ++count;
  }
  Field field(found.value_or(value_),
              path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), repeated_);
  if (count == 0) return field.corrupt("missing");
  if (count > 1 && repeated_ == Repeated::kRefused) return field.corrupt("there {} times", count);
  return field;
}

Result<std::optional<Field>> Field::optional_member(std::string_view key) const {
  SIGNALBOX_TRY_VOID(expect(json::Type::kObject));
  if (value_.count(key) == 0) return std::nullopt;
  SIGNALBOX_TRY(Field field, member(key));
  if (field.value().is_null()) return std::nullopt;
  return field;
}

Result<std::vector<Field>> Field::elements() const {
  SIGNALBOX_TRY_VOID(expect(json::Type::kArray));
  std::vector<Field> out;
  for (const json::Value& item : value_.items()) {
    out.emplace_back(item, fmt::format("{}[{}]", path_, out.size()), repeated_);
  }
  return out;
}

Result<bool> Field::boolean() const {
  SIGNALBOX_TRY_VOID(expect(json::Type::kBool));
  return value_.boolean();
}

Result<std::string_view> Field::string() const {
  SIGNALBOX_TRY_VOID(expect(json::Type::kString));
  return value_.text();
}

Result<int64_t> Field::integer(int64_t least, int64_t most) const {
  SIGNALBOX_TRY_VOID(expect(json::Type::kNumber));
  const auto found = value_.integer();
  if (found && *found >= least && *found <= most) return *found;
  return corrupt("expected an integer from {} to {}, found {}", least, most,
                 value_.raw().substr(0, kShownBytesMax));
}

Result<void> Field::expect(json::Type type) const {
  if (value_.type() == type) return {};
  const std::string_view article =
      type == json::Type::kArray || type == json::Type::kObject ? "an" : "a";
  return fail(Code::kCorrupt, "{}{}expected {} {}, found {}", path_, path_.empty() ? "" : ": ",
              article, json::type_name(type), json::type_name(value_.type()));
}

}  // namespace signalbox::tokenizer
