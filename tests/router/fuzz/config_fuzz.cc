// Feeds arbitrary bytes as a configuration file. It must be refused with a message, or load. If an
// older form loads, its migration must load strictly.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"
#include "base/yaml_writer.h"
#include "router/config/load.h"
#include "router/config/migrate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > (1 << 14)) return 0;
  const config::Inspection inspection = config::inspect(text, "fuzz");
  if (!inspection.config) {
    SIGNALBOX_CHECK(!inspection.config.error().message.empty());
    return 0;
  }
  const auto root = yaml::parse(text, "fuzz");
  SIGNALBOX_CHECK(root.has_value());
  if (!config::is_older_form(*root)) return 0;
  config::Reader reader("fuzz", {});
  const std::string migrated = yaml::write(config::migrate(reader, *root));
  SIGNALBOX_CHECK(config::parse(migrated, "fuzz", {.strict = true}).has_value());
  return 0;
}
