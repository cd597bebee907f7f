// Lookups with ranges.

#include "weights/hf_config.h"

#include "base/mapped_file.h"

namespace signalbox::weights {
namespace {

constexpr size_t kBytesMax = 1 << 20;

}  // namespace

Result<HfConfig> HfConfig::open(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  return parse(std::string(file.text().substr(0, kBytesMax + 1)), path.string());
}

Result<HfConfig> HfConfig::parse(std::string text, std::string_view name) {
  auto document = json::Document::parse(std::move(text), {.bytes = kBytesMax, .depth = 32});
  if (!document) return fail(Code::kCorrupt, "{}: {}", name, document.error().message);
  if (!document->root().is_object())
    return fail(Code::kCorrupt, "{}: expected a JSON object", name);
  return HfConfig(*std::move(document), name);
}

Result<int32_t> HfConfig::integer(std::string_view key, int32_t least, int32_t most) const {
  const auto value = root().find(key);
  if (!value) return fail(Code::kCorrupt, "{}: {}: missing", name_, key);
  const auto number = value->integer();
  if (!number || *number < least || *number > most) {
    return fail(Code::kCorrupt, "{}: {}: expected an integer from {} to {}, found {}", name_, key,
                least, most, value->raw().substr(0, 64));
  }
  return static_cast<int32_t>(*number);
}

Result<double> HfConfig::number(std::string_view key, double least, double most) const {
  const auto value = root().find(key);
  if (!value) return fail(Code::kCorrupt, "{}: {}: missing", name_, key);
  const auto number = value->number();
  if (!number || *number < least || *number > most) {
    return fail(Code::kCorrupt, "{}: {}: expected a number from {} to {}, found {}", name_, key,
                least, most, value->raw().substr(0, 64));
  }
  return *number;
}

Result<std::string> HfConfig::string(std::string_view key, std::string_view fallback) const {
  const auto value = root().find(key);
  if (!value || value->is_null()) return std::string(fallback);
  if (!value->is_string()) {
    return fail(Code::kCorrupt, "{}: {}: expected a string, found {}", name_, key,
                value->raw().substr(0, 64));
  }
  return std::string(value->text());
}

bool HfConfig::has(std::string_view key) const {
  return root().find(key).has_value();
}

}  // namespace signalbox::weights
