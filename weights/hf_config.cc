// Lookups of keys with range checks.

#include "weights/hf_config.h"

#include "base/mapped_file.h"

namespace signalbox::weights {
namespace {

constexpr size_t kConfigBytesMax = 1 << 20;

}  // namespace

std::optional<json::Value> HfObject::find(std::string_view key) const {
  const auto value = value_.find(key);
  return value && !value->is_null() ? value : std::nullopt;
}

std::string HfObject::where(std::string_view key) const {
  return fmt::format("{}: {}{}", file_, path_, key);
}

tl::unexpected<Error> HfObject::unexpected(std::string_view key, std::string_view expected,
                                           json::Value found) const {
  return fail(Code::kCorrupt, "{}: expected {}, found {}", where(key), expected,
              found.raw().substr(0, 64));
}

Result<int32_t> HfObject::integer(std::string_view key, int32_t least, int32_t most) const {
  const auto value = find(key);
  if (!value) return fail(Code::kCorrupt, "{}: missing", where(key));
  const auto number = value->integer();
  if (!number || *number < least || *number > most) {
    return unexpected(key, fmt::format("an integer from {} to {}", least, most), *value);
  }
  return static_cast<int32_t>(*number);
}

Result<int32_t> HfObject::integer(std::string_view key, int32_t least, int32_t most,
                                  int32_t fallback) const {
  return has(key) ? integer(key, least, most) : fallback;
}

Result<double> HfObject::number(std::string_view key, double least, double most) const {
  const auto value = find(key);
  if (!value) return fail(Code::kCorrupt, "{}: missing", where(key));
  const auto number = value->number();
  if (!number || *number < least || *number > most) {
    return unexpected(key, fmt::format("a number from {} to {}", least, most), *value);
  }
  return *number;
}

Result<double> HfObject::number(std::string_view key, double least, double most,
                                double fallback) const {
  return has(key) ? number(key, least, most) : fallback;
}

Result<std::string> HfObject::string(std::string_view key, std::string_view fallback) const {
  const auto value = find(key);
  if (!value) return std::string(fallback);
  if (!value->is_string()) return unexpected(key, "a string", *value);
  return std::string(value->text());
}

Result<bool> HfObject::boolean(std::string_view key, bool fallback) const {
  const auto value = find(key);
  if (!value) return fallback;
  if (!value->is_bool()) return unexpected(key, "true or false", *value);
  return value->boolean();
}

Result<std::vector<std::string>> HfObject::strings(std::string_view key) const {
  std::vector<std::string> out;
  const auto value = find(key);
  if (!value) return out;
  if (!value->is_array()) return unexpected(key, "an array of strings", *value);
  for (const json::Value& item : value->items()) {
    if (!item.is_string()) {
      return unexpected(fmt::format("{}[{}]", key, out.size()), "a string", item);
    }
    out.emplace_back(item.text());
  }
  return out;
}

Result<std::optional<HfObject>> HfObject::object(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_object()) return unexpected(key, "an object", *value);
  return HfObject(*value, file_, fmt::format("{}{}.", path_, key));
}

Result<HfConfig> HfConfig::open(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  return parse(std::string(file.text().substr(0, kConfigBytesMax + 1)), path.string());
}

Result<HfConfig> HfConfig::parse(std::string text, std::string_view name) {
  auto document = json::Document::parse(std::move(text), {.bytes = kConfigBytesMax, .depth = 32});
  if (!document) return fail(Code::kCorrupt, "{}: {}", name, document.error().message);
  if (!document->root().is_object())
    return fail(Code::kCorrupt, "{}: expected a JSON object", name);
  return HfConfig(*std::move(document), name);
}

}  // namespace signalbox::weights
