// Definitions are written one after the other once the root is complete; writing one may ask for
// more.

#include "router/config/schema.h"

#include "base/ascii.h"

namespace signalbox::config {
namespace {

constexpr std::string_view kVariable = "variable";  // the definition of a ${VARIABLE}

std::string reference(std::string_view name) {
  return std::string("#/$defs/").append(name);
}

}  // namespace

std::string any_case(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (ascii::is_alpha(c)) {
      out.append({'[', ascii::lower(c), ascii::upper(c), ']'});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void Schema::type(std::initializer_list<std::string_view> names) {
  out_.key("type").begin_array();
  for (const std::string_view name : names) out_.string(name);
  out_.string("null").end_array();
}

void Schema::text() {
  type({"string", "number", "boolean"});
}

void Schema::nested(std::string_view key, const std::function<void()>& members) {
  out_.key(key).begin_object();
  members();
  out_.end_object();
}

void Schema::or_variable(const std::function<void()>& members) {
  out_.key("anyOf").begin_array().begin_object();
  members();
  out_.end_object().begin_object().member("$ref", reference(kVariable)).end_object().end_array();
}

void Schema::words(const std::vector<std::string_view>& words) {
  or_variable([&] {
    out_.key("anyOf").begin_array().begin_object().key("enum").begin_array();
    for (const std::string_view word : words) out_.string(word);
    out_.null().end_array().end_object().begin_object();
    std::string pattern;
    for (const std::string_view word : words)
      pattern.append(pattern.empty() ? "^(" : "|").append(any_case(word));
    out_.member("type", "string").member("pattern", pattern.append(")$"));
    out_.end_object().end_array();
  });
}

void Schema::section(const void* identity, std::function<void(Schema&)> describe) {
  const auto found = names_.emplace(identity, path_);
  if (found.second) waiting_.push_back({path_, std::move(describe)});
  out_.member("$ref", reference(found.first->second));
}

void Schema::write_definitions() {
  out_.key("$defs").begin_object();
  out_.key(kVariable).begin_object().member("type", "string").member("pattern", "\\$\\{");
  out_.member("description", "a value that an environment variable holds").end_object();
  while (!waiting_.empty()) {
    Definition next = std::move(waiting_.front());
    waiting_.pop_front();
    path_ = next.name;
    nested(next.name, [&] { next.describe(*this); });
  }
  out_.end_object();
}

std::string Schema::document(const std::function<void(Schema&)>& describe_root) {
  Schema schema;
  schema.out_.begin_object();
  schema.out_.member("$schema", "https://json-schema.org/draft/2020-12/schema");
  schema.out_.member("title", "Signalbox configuration, version v0.3");
  describe_root(schema);
  schema.write_definitions();
  return schema.out_.end_object().take();
}

}  // namespace signalbox::config
