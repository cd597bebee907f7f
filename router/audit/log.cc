// Opens both chains or none, because a log of changes alone would hide attacks.

#include "router/audit/log.h"

#include <utility>

namespace signalbox::audit {

std::filesystem::path refusals_file(const std::filesystem::path& file) {
  return file.parent_path() /
         fmt::format("{}-refusals{}", file.stem().string(), file.extension().string());
}

Result<void> Log::open(const config::Audit& settings, const std::filesystem::path& config_file) {
  if (settings.file.empty()) return {};
  const std::filesystem::path path = config_file.parent_path() / settings.file;
  const auto open = [&](const std::filesystem::path& file) -> Result<std::unique_ptr<ChainWriter>> {
    auto out = std::make_unique<ChainWriter>(file, settings.bytes_max, settings.files_max);
    if (const auto opened = out->open(); !opened)
      return fail(opened.error().code, "global.services.audit.file: {}", opened.error().message);
    return out;
  };
  SIGNALBOX_TRY(auto changes, open(path));
  SIGNALBOX_TRY(refusals_, open(refusals_file(path)));
  changes_ = std::move(changes);
  file_ = path;
  refuses_ = settings.unwritable == config::Audit::Unwritable::kRefuseChanges;
  return {};
}

void Log::add_start(std::string_view configuration, std::string_view keys) {
  Entry entry("started");
  entry.text("version", SIGNALBOX_VERSION).text("configuration", configuration).text("keys", keys);
  add(std::move(entry));
}

void Log::add(Entry entry) {
  if (is_open()) changes_->add(std::move(entry));
}

void Log::add_written(Entry entry) {
  if (is_open()) changes_->add_written(std::move(entry));
}

void Log::add_refusal(const Sender& sender, Entry entry) {
  if (is_open()) refusals_->add_refusal(sender, std::move(entry));
}

void Log::count_refusal(const Sender& sender) {
  if (is_open()) refusals_->count_refusal(sender);
}

Result<void> Log::announce(Entry entry) {
  if (!is_open() || !refuses_) return {};
  return changes_->add_and_wait(std::move(entry));
}

bool Log::refuses_changes() const {
  return refuses_ && changes_->is_failing();
}

}  // namespace signalbox::audit
