// The keys of the plugin header_mutation.

#include "router/config/endpoint.h"
#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

using Header = HeaderMutationPlugin::Pair;

void check_header(Reader& reader, const yaml::Node& node, Header& header) {
  if (header.name.empty()) return;
  const uint32_t line = node.find("name")->line;
  reader.at_key("name", [&] {
    if (!is_header_name(header.name))
      return reader.error(line,
                          fmt::format("expected the name of a header, found \"{}\"", header.name));
    if (is_own_header(header.name))
      reader.error(line, fmt::format("the router sets \"{}\" itself", header.name));
  });
  if (is_header_value(header.value)) return;
  reader.at_key("value", [&] {
    reader.error(node.find("value")->line, "expected one line without control characters");
  });
}

constexpr Key kHeaderKeys[] = {
    text(FIELD(Header, name), "Name of the header.").required(),
    string(FIELD(Header, value), "Value of the header."),
};
constexpr Section kHeader{kHeaderKeys, checked<check_header>};

void check_removed_headers(Reader& reader, const yaml::Node& node, HeaderMutationPlugin& plugin) {
  for (const std::string& name : plugin.remove) {
    if (!is_own_header(name)) continue;
    reader.at_key("delete", [&] {
      reader.notice(node.find("delete")->line,
                    fmt::format("has no effect on \"{}\"; the router sets it itself", name));
    });
  }
}

constexpr Key kHeaderMutationKeys[] = {
    list(FIELD(HeaderMutationPlugin, add), kHeader,
         "Headers to add, even if the request has them already."),
    list(FIELD(HeaderMutationPlugin, update), kHeader, "Headers to set or replace."),
    texts(FIELD_AS("delete", HeaderMutationPlugin, remove), "Names of headers to remove."),
};

}  // namespace

constinit const Section kHeaderMutation{kHeaderMutationKeys, checked<check_removed_headers>};

}  // namespace signalbox::config
