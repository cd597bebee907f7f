// The columns are as wide as their contents, so that short names do not leave gaps.

#include "tools/models_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include "base/json_writer.h"
#include "tools/hub/receipt.h"
#include "tools/progress_bar.h"
#include "tools/pull.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;
using weights::Manifest;
using weights::ManifestModel;
using weights::ManifestSource;

// For JSON.
std::string_view state_name(Installed installed) {
  switch (installed) {
    case Installed::kYes:
      return "pulled";
    case Installed::kInPart:
      return "part";
    case Installed::kNo:
      return "absent";
  }
  return "";
}

// For people.
std::string_view state_text(Installed installed) {
  switch (installed) {
    case Installed::kYes:
      return "installed";
    case Installed::kInPart:
      return "in part";
    case Installed::kNo:
      return "-";
  }
  return "";
}

/// A repository that was pulled, but that the manifest does not name.
struct OtherModel {
  fs::path directory;
  PullReceipt receipt;
  Installed state;

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const RepositoryFile& file : receipt.files) sum += file.bytes;
    return sum;
  }
};

std::vector<OtherModel> find_other_models(const Manifest& manifest, const fs::path& models) {
  std::vector<OtherModel> out;
  std::error_code error;
  for (fs::directory_iterator at(models, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto is_named = [&](const ManifestModel& model) { return model.name == name; };
    if (name.starts_with('.') || std::ranges::any_of(manifest.models, is_named)) continue;
    auto receipt = read_receipt(at->path());
    if (!receipt || !*receipt) continue;
    const bool whole = find_damage(at->path(), **receipt, true).empty();
    out.push_back({at->path(), **std::move(receipt), whole ? Installed::kYes : Installed::kInPart});
  }
  std::ranges::sort(out, {}, &OtherModel::directory);
  return out;
}

// The bytes of the download where they are known, otherwise the number of parameters.
std::string size_text(const ManifestModel& model) {
  const ManifestSource& source = model.sources.front();
  if (source.is_pinned()) return bytes_text(source.bytes());
  return model.parameters.empty() ? "?" : fmt::format("{} parameters", model.parameters);
}

void write_texts(json::Writer& row, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  row.key(key).begin_array();
  for (const std::string& text : texts) row.string(text);
  row.end_array();
}

void write_sources(json::Writer& row, const ManifestModel& model) {
  row.key("sources").begin_array();
  for (const ManifestSource& source : model.sources) {
    row.begin_object().member("from", kind_name(source.kind)).member("origin", source.origin);
    if (source.is_pinned()) {
      row.member("version", source.version);
      row.member("bytes", static_cast<int64_t>(source.bytes()));
    }
    row.member("checksums", source.is_pinned() ? "known" : "first use").end_object();
  }
  row.end_array();
}

}  // namespace

std::string models_as_table(const Manifest& manifest, const fs::path& models) {
  constexpr size_t kColumns = 5;
  using Row = std::array<std::string, kColumns>;
  std::vector<Row> rows = {{"NAME", "STATE", "FOR", "SIZE", "LICENCE"}};
  std::vector<std::string> notes = {""};  // below each row
  for (const ManifestModel& model : manifest.models) {
    const Installed state = find_installed(model, models / model.name);
    rows.push_back({model.name, std::string(state_text(state)), model.purpose, size_text(model),
                    model.licence + (model.is_gated ? " (gated)" : "")});
    notes.push_back(model.summary);
  }
  for (const OtherModel& other : find_other_models(manifest, models)) {
    rows.push_back({other.directory.filename().string(), std::string(state_text(other.state)), "-",
                    bytes_text(other.bytes()), "see its card"});
    notes.push_back(fmt::format("{}{}", kHubPrefix, other.receipt.id));
  }
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i + 1 < kColumns; ++i) out += fmt::format("{:<{}}  ", rows[r][i], widths[i]);
    out += rows[r].back() + "\n";
    if (!notes[r].empty()) out += fmt::format("    {}\n", notes[r]);
  }
  return out;
}

std::string models_as_json(const Manifest& manifest, const fs::path& models) {
  std::string out;
  for (const ManifestModel& model : manifest.models) {
    const fs::path directory = models / model.name;
    json::Writer row;
    row.begin_object().member("name", model.name).member("summary", model.summary);
    row.member("licence", model.licence);
    row.member("state", state_name(find_installed(model, directory)));
    row.member("directory", directory.string());
    const std::pair<const char*, const std::string*> texts[] = {{"base", &model.base},
                                                                {"purpose", &model.purpose},
                                                                {"parameters", &model.parameters},
                                                                {"quality", &model.quality}};
    for (const auto& [key, text] : texts) {
      if (!text->empty()) row.member(key, *text);
    }
    if (model.is_gated) row.member("gated", true);
    write_texts(row, "heads", model.heads);
    write_texts(row, "aliases", model.aliases);
    if (!model.prompts.empty()) {
      row.key("prompts").begin_object();
      for (const auto& [role, text] : model.prompts) row.member(role, text);
      row.end_object();
    }
    write_sources(row, model);
    out += row.end_object().take() + "\n";
  }
  for (const OtherModel& other : find_other_models(manifest, models)) {
    json::Writer row;
    row.begin_object().member("name", other.directory.filename().string());
    row.member("state", state_name(other.state)).member("directory", other.directory.string());
    row.key("sources").begin_array().begin_object().member("from", "hub");
    row.member("origin", other.receipt.id).member("version", other.receipt.commit);
    row.member("bytes", static_cast<int64_t>(other.bytes())).end_object().end_array();
    out += row.end_object().take() + "\n";
  }
  return out;
}

}  // namespace signalbox::tools
