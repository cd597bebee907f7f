// The list stands here, not with the rules, since a configuration is checked without them; a test
// holds it against them and against the labels that models are trained on.

#include "router/config/pii_types.h"

#include <fmt/core.h>
#include <algorithm>

#include "base/ascii.h"

namespace signalbox::config {
namespace {

constexpr auto kKnownPiiTypes = std::to_array<std::string_view>({"AGE",         "API_KEY",
                                                                 "CREDIT_CARD", "DATE_TIME",
                                                                 "DOMAIN_NAME", "EMAIL_ADDRESS",
                                                                 "GPE",         "IBAN_CODE",
                                                                 "IP_ADDRESS",  "JWT",
                                                                 "NRP",         "ORGANIZATION",
                                                                 "PERSON",      "PHONE_NUMBER",
                                                                 "PRIVATE_KEY", "STREET_ADDRESS",
                                                                 "TITLE",       "US_DRIVER_LICENSE",
                                                                 "US_SSN",      "ZIP_CODE"});
static_assert(std::is_sorted(kKnownPiiTypes.begin(), kKnownPiiTypes.end()));

}  // namespace

std::span<const std::string_view> known_pii_types() {
  return kKnownPiiTypes;
}

void note_unknown_pii_types(Reader& reader, const yaml::Node& node,
                            std::span<const std::string> types) {
  for (size_t i = 0; i < node.items.size() && i < types.size(); ++i) {
    const std::string type = ascii::upper_case(types[i]);
    if (std::binary_search(kKnownPiiTypes.begin(), kKnownPiiTypes.end(), type)) continue;
    reader.at_index(i, [&] {
      reader.notice(node.items[i].line,
                    fmt::format("\"{}\" is found only by a model of your own that has this label{}",
                                types[i], suggestion(type, kKnownPiiTypes)));
    });
  }
}

}  // namespace signalbox::config
