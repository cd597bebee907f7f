// One pass from left to right, so that a value never becomes a pattern.

#include "router/config/environment.h"

#include <cstdlib>

#include "base/ascii.h"

namespace signalbox::config {
namespace {

bool is_name(std::string_view name) {
  if (name.empty() || ascii::is_digit(name[0])) return false;
  for (const char c : name) {
    if (!ascii::is_alnum(c) && c != '_') return false;
  }
  return true;
}

// `inside` is what stands between the braces.
Result<std::string> lookup(std::string_view inside, std::vector<FromEnvironment>* used) {
  const size_t dash = inside.find(":-");
  const std::string name(inside.substr(0, dash));
  if (!is_name(name))
    return fail(Code::kInvalid, "expected the name of a variable, found \"${{{}}}\"", inside);
  const char* value = std::getenv(name.c_str());
  const bool holds_text = value != nullptr && *value != '\0';
  if (used != nullptr && holds_text) used->push_back({value, name});
  if (dash != std::string_view::npos)
    return std::string(holds_text ? value : inside.substr(dash + 2));
  if (value == nullptr) return fail(Code::kInvalid, "the environment variable {} is not set", name);
  return std::string(value);
}

}  // namespace

Result<std::string> substitute_environment(std::string_view text,
                                           std::vector<FromEnvironment>* used) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t open = text.find("${", at);
    if (open == std::string_view::npos) return out.append(text.substr(at));
    if (open > at && text[open - 1] == '$') {
      out.append(text.substr(at, open - at - 1)).append("${");
      at = open + 2;
      continue;
    }
    out.append(text.substr(at, open - at));
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) {
      return fail(Code::kInvalid, "expected a }} after ${{, found \"{}\"", text.substr(open, 40));
    }
    SIGNALBOX_TRY(const std::string value, lookup(text.substr(open + 2, close - open - 2), used));
    out += value;
    at = close + 1;
  }
}

}  // namespace signalbox::config
