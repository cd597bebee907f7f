// Helpers shared by the section readers.

#include "tokenizer/hf/sections.h"

namespace signalbox::tokenizer {

tl::unexpected<Error> unsupported(const Field& at, std::string_view supported) {
  const json::Value value = at.value();
  return fail(
      Code::kUnsupported, "{}: {} is not supported (supported: {})", at.path(),
      value.is_string() ? in_quotes(value.text()) : std::string(json::type_name(value.type())),
      supported);
}

Result<void> check_added_size(const Field& at, std::string_view content) {
  if (content.size() <= kAddedBytesMax) return {};
  return at.corrupt("a token of {} bytes, expected at most {}", content.size(), kAddedBytesMax);
}

Result<Field> type_of(const Field& component) {
  SIGNALBOX_TRY(Field type, component.member("type"));
  SIGNALBOX_TRY_VOID(type.expect(json::Type::kString));
  return type;
}

Result<bool> flag(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const Field field, object.member(key));
  return field.boolean();
}

Result<std::optional<bool>> optional_flag(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const auto field, object.optional_member(key));
  if (!field) return std::nullopt;
  SIGNALBOX_TRY(const bool value, field->boolean());
  return value;
}

Result<bool> flag_or(const Field& object, std::string_view key, bool otherwise) {
  SIGNALBOX_TRY(const auto value, optional_flag(object, key));
  return value.value_or(otherwise);
}

Result<std::string_view> text(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const Field field, object.member(key));
  return field.string();
}

Result<int32_t> id_of_piece(const Field& name, const Vocabulary& vocabulary) {
  SIGNALBOX_TRY(const std::string_view piece, name.string());
  const int32_t id = vocabulary.find(piece);
  if (id < 0) return name.corrupt("expected a piece of model.vocab, found {}", in_quotes(piece));
  return id;
}

}  // namespace signalbox::tokenizer
