// Supports two forms: from index (as a string) to name, and from name to index.

#include "engine/labels.h"

#include <charconv>

namespace signalbox::engine {
namespace {

// Sets `name` at `index` of `out`, which contains an empty string for each class that has no name
// yet.
Result<void> place(const weights::HfObject& object, std::string_view key, int64_t index,
                   std::string_view name, std::vector<std::string>& out) {
  if (index < 0 || index >= static_cast<int64_t>(out.size())) {
    return fail(Code::kCorrupt, "{}: the head has {} classes", object.where(key), out.size());
  }
  if (name.empty() || !out[index].empty()) {
    return fail(Code::kCorrupt, "{}: expected one name for class {}", object.where(key), index);
  }
  out[index] = name;
  return {};
}

// Reads {"0": "law", ...}.
Result<void> read_names(const weights::HfObject& object, std::vector<std::string>& out) {
  for (const json::Member& member : object.value().members()) {
    int64_t index = -1;
    const char* end = member.key.data() + member.key.size();
    const auto [stopped, error] = std::from_chars(member.key.data(), end, index);
    if (error != std::errc() || stopped != end || !member.value.is_string()) {
      return fail(Code::kCorrupt, "{}: expected a class number and its name, found {}",
                  object.where(member.key), member.value.raw().substr(0, 64));
    }
    SIGNALBOX_TRY_VOID(place(object, member.key, index, member.value.text(), out));
  }
  return {};
}

// Reads {"law": 0, ...}.
Result<void> read_indices(const weights::HfObject& object, std::vector<std::string>& out) {
  for (const json::Member& member : object.value().members()) {
    const auto index = member.value.integer();
    if (!index) {
      return fail(Code::kCorrupt, "{}: expected a class number, found {}", object.where(member.key),
                  member.value.raw().substr(0, 64));
    }
    SIGNALBOX_TRY_VOID(place(object, member.key, *index, member.key, out));
  }
  return {};
}

// Fills `out` from the first of `keys` that exists; returns false if there is none.
Result<bool> read_first(const weights::HfObject& config, std::initializer_list<const char*> keys,
                        std::vector<std::string>& out) {
  for (const std::string_view key : keys) {
    SIGNALBOX_TRY(const auto object, config.object(key));
    if (!object) continue;
    const bool names_first = key.starts_with("id");  // id2label, idx_to_category, id_to_label
    SIGNALBOX_TRY_VOID(names_first ? read_names(*object, out) : read_indices(*object, out));
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].empty()) {
        return fail(Code::kCorrupt, "{}: no name for class {}, the head has {} classes",
                    config.where(key), i, out.size());
      }
    }
    return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> read_labels(const std::filesystem::path& directory,
                                             const weights::HfConfig& config, int32_t count) {
  constexpr std::string_view kCount = "num_labels";
  SIGNALBOX_TRY(const int32_t stated, config.root().integer(kCount, 1, 1 << 16, count));
  if (stated != count) {
    return fail(Code::kCorrupt, "{}: {}, but the head has {} classes", config.root().where(kCount),
                stated, count);
  }
  std::vector<std::string> out(count);
  SIGNALBOX_TRY(const bool is_named, read_first(config.root(), {"id2label"}, out));
  for (const char* name :
       {"category_mapping.json", "pii_type_mapping.json", "jailbreak_type_mapping.json"}) {
    if (!std::filesystem::exists(directory / name)) continue;
    SIGNALBOX_TRY(const auto mapping, weights::HfConfig::open(directory / name));
    out.assign(count, "");
    SIGNALBOX_TRY(const bool found, read_first(mapping.root(),
                                               {"idx_to_category", "idx_to_label", "id_to_label",
                                                "category_to_idx", "label_to_idx", "label_to_id"},
                                               out));
    if (found) return out;
    return fail(Code::kCorrupt, "{}: expected idx_to_category, idx_to_label or label_to_idx",
                mapping.name());
  }
  for (int32_t i = 0; i < count && !is_named; ++i) out[i] = fmt::format("LABEL_{}", i);
  return out;
}

}  // namespace signalbox::engine
