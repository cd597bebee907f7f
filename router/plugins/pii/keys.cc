// The keys of the plugin pii_mask, and a notice about types of personal data that other keys share.

#include <algorithm>

#include "base/ascii.h"
#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

constexpr Choice kMaskOnError[] = {{"refuse", PiiMaskPlugin::OnError::kRefuse},
                                   {"rules", PiiMaskPlugin::OnError::kRules}};

constexpr Key kPiiMaskKeys[] = {
    enabled<PiiMaskPlugin>(kLeavesRequest),
    texts(FIELD(PiiMaskPlugin, types), "Types of personal data to mask. Default: all.")
        .also("entity_types")
        .then<note_unknown_pii_types>(),
    share(FIELD(PiiMaskPlugin, threshold),
          "Least confidence. Default: the threshold of the classifier."),
    choice(FIELD(PiiMaskPlugin, on_error), kMaskOnError,
           "If the model fails: refuse the request (default), or mask what rules find."),
    unread("placeholders", "Texts in place of the data.", "masks have one form"),
};

}  // namespace

constinit const Section kPiiMask{kPiiMaskKeys};

void note_unknown_pii_types(Reader& reader, const yaml::Node& node,
                            std::vector<std::string>& types) {
  const auto known = known_pii_types();
  for (size_t i = 0; i < node.items.size() && i < types.size(); ++i) {
    const std::string type = ascii::upper_case(types[i]);
    if (std::ranges::binary_search(known, type)) continue;
    reader.at_index(i, [&] {
      reader.notice(
          node.items[i].line,
          fmt::format("neither rules nor built-in models find \"{}\"; a model of your own can{}",
                      types[i], suggestion(type, known)));
    });
  }
}

}  // namespace signalbox::config
