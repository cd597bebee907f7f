// Reporting to the person who wrote the file, and environment variables in its values.

#include "router/config/reader.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "base/ascii.h"

namespace signalbox::config {
namespace {

constexpr size_t kShownMax = 60;  // characters of a value that an error repeats

// A shorter value of a variable is replaced by the name only inside quotes: it is not a secret, and
// it occurs in ordinary words.
constexpr size_t kTellingMin = 6;

// Makes "http://********@host" of "http://user:password@host". A password may contain a slash that
// should have been written %2F.
std::string without_credentials(std::string_view text) {
  std::string out;
  for (size_t scheme = 0; (scheme = text.find("://")) != std::string_view::npos;) {
    const size_t begin = scheme + 3;
    const size_t end = std::min(text.find_first_of(" \"\n", begin), text.size());
    const size_t at = text.substr(0, end).rfind('@');
    out += text.substr(0, begin);
    if (at != std::string_view::npos && at >= begin) {
      out += "********";
      text.remove_prefix(at);
    } else {
      text.remove_prefix(begin);
    }
  }
  return out.append(text);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// True for a key of a section that decides who may connect, and for a listener's key that names
// TLS or secrets. Ignoring such a key would open the router to everybody, or serve in clear text.
bool was_to_protect(std::string_view section, std::string_view key) {
  if (section == "global.access" || section.starts_with("global.access.") ||
      section == "global.services.management_api.auth")
    return true;
  if (!section.starts_with("listeners[") && section != "global.services.management_api" &&
      section != "global.services.ext_proc")
    return false;
  const std::string lower = ascii::lower_case(key);
  return std::ranges::any_of(
      std::array{"tls", "ssl", "https", "certificate", "auth", "token", "api_key", "password"},
      [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// True for a section of the top of the file. Nobody means another program's key by these names.
bool is_top_section(std::string_view key) {
  constexpr std::array<std::string_view, 6> kSections{"listeners", "providers",   "routing",
                                                      "global",    "entrypoints", "recipes"};
  return std::ranges::find(kSections, key) != kSections.end();
}

std::string without_indices(std::string_view path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == ']') inside = false;
    if (!inside) out.push_back(c);
    if (c == '[') inside = true;
  }
  return out;
}

bool is_variable(std::string_view name) {
  if (name.empty() || ascii::is_digit(name[0])) return false;
  for (const char c : name) {
    if (!ascii::is_alnum(c) && c != '_') return false;
  }
  return true;
}

// `inside` is the text between the braces.
Result<std::string> value_of(std::string_view inside, std::vector<FromEnvironment>* used) {
  const size_t dash = inside.find(":-");
  const std::string name(inside.substr(0, dash));
  if (!is_variable(name))
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

// One pass from left to right, so a value is never expanded again.
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
    SIGNALBOX_TRY(const std::string value, value_of(text.substr(open + 2, close - open - 2), used));
    out += value;
    at = close + 1;
  }
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view meant = nearest(name, known);
  if (meant.empty()) return fmt::format(" (known: {})", join(known));
  return fmt::format("; did you mean \"{}\"?", meant);
}

std::string join(std::span<const std::string_view> names) {
  if (names.empty()) return "none";
  std::string out;
  std::set<std::string_view> seen;  // a file with mistakes may use a name twice
  for (const std::string_view name : names) {
    if (!seen.insert(name).second) continue;
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

std::string found(const yaml::Node& node) {
  switch (node.kind) {
    case yaml::Kind::kNull:
      return "nothing";
    case yaml::Kind::kSequence:
      return "a list";
    case yaml::Kind::kMapping:
      return "a mapping";
    case yaml::Kind::kScalar:
      break;
  }
  // Hide passwords before cutting: a cut URL no longer looks like one.
  const std::string shown = without_credentials(node.scalar);
  if (shown.size() <= kShownMax) return fmt::format("\"{}\"", shown);
  return fmt::format("\"{}...\"", shown.substr(0, kShownMax));
}

void Reader::error(uint32_t line, std::string text) {
  errors_.push_back({line, path_, std::move(text), {}});
}

void Reader::expected(const yaml::Node& node, std::string_view what) {
  error(node.line, fmt::format("expected {}, found {}", what, found(node)));
}

void Reader::does_without(uint32_t line, std::string_view consequence) {
  if (not_built_depth_ > 0) return;
  notice(line, fmt::format("{} (docs/upstream.md)", consequence));
}

void Reader::notice(uint32_t line, std::string text) {
  Remark remark{line, path_, std::move(text), without_indices(path_)};
  for (Remark& known : notices_) {
    if (known.pattern == remark.pattern && known.text == remark.text) {
      ++known.more;
      return;
    }
  }
  notices_.push_back(std::move(remark));
}

void Reader::settle(bool are_needed) {
  const std::string here = path_;
  for (Remark& each : unset_) {
    path_ = std::move(each.path);
    are_needed ? error(each.line, std::move(each.text)) : notice(each.line, std::move(each.text));
  }
  path_ = here;
  unset_.clear();
}

void Reader::unknown_key(const yaml::Entry& entry, std::span<const std::string_view> known) {
  unknown_.emplace_back(path_, &entry);
  // A misspelt section, `decision` for `decisions`, would lose everything in it, and so would one
  // of the top of the file that is indented too far. If only its first line is indented, the
  // section is empty, and its keys stand beside it.
  const bool is_section = !entry.value.items.empty() || !entry.value.entries.empty();
  if (entry.value.kind != yaml::Kind::kScalar && not_built_depth_ == 0 && !path_.empty() &&
      is_top_section(entry.key)) {
    return error(entry.line,
                 fmt::format("unknown key \"{0}\"; `{0}:` stands at the top of the file, without "
                             "spaces in front",
                             entry.key));
  }
  std::string text = fmt::format("unknown key \"{}\"{}", entry.key, suggestion(entry.key, known));
  const std::string_view meant = nearest(entry.key, known);
  const bool is_slip =
      is_section && not_built_depth_ == 0 && !meant.empty() && edit_distance(entry.key, meant) == 1;
  if (options_.strict || is_slip || was_to_protect(path_, entry.key)) {
    error(entry.line, std::move(text));
  } else {
    notice(entry.line, std::move(text));
  }
}

void Reader::sort_variables() {
  std::sort(variables_.begin(), variables_.end(),
            [](const FromEnvironment& a, const FromEnvironment& b) {
              return a.value.size() != b.value.size() ? a.value.size() > b.value.size()
                                                      : a.value < b.value;
            });
  const auto last = std::unique(
      variables_.begin(), variables_.end(),
      [](const FromEnvironment& a, const FromEnvironment& b) { return a.value == b.value; });
  variables_.erase(last, variables_.end());
}

std::string Reader::without_secrets(std::string text) const {
  for (const FromEnvironment& variable : variables_) {
    const std::string name = fmt::format("${{{}}}", variable.name);
    if (variable.value.size() >= kTellingMin) {
      replace_all(text, variable.value, name);
    } else {
      replace_all(text, fmt::format("\"{}\"", variable.value), fmt::format("\"{}\"", name));
    }
  }
  return without_credentials(text);
}

std::string Reader::render(const Remark& remark) const {
  std::string out = source_;
  if (remark.line != 0) out += fmt::format(":{}", remark.line);
  out += ": ";
  if (!remark.path.empty()) out += remark.path + ": ";
  out += without_secrets(remark.text);
  if (remark.more != 0) out += fmt::format(" (and {} more like it)", remark.more);
  return out;
}

void Reader::sort_by_line(std::vector<Remark>& remarks) {
  std::stable_sort(remarks.begin(), remarks.end(),
                   [](const Remark& a, const Remark& b) { return a.line < b.line; });
}

Error Reader::take_errors() {
  sort_variables();
  sort_by_line(errors_);
  std::string all;
  for (const Remark& remark : errors_) {
    if (!all.empty()) all.push_back('\n');
    all += render(remark);
  }
  return Error{Code::kInvalid, std::move(all)};
}

std::vector<std::string> Reader::take_notices() {
  sort_variables();
  sort_by_line(notices_);
  std::vector<std::string> all;
  for (const Remark& remark : notices_) all.push_back(render(remark));
  return all;
}

std::optional<Scalar> Reader::scalar(const yaml::Node& node, std::string_view what) {
  if (node.kind != yaml::Kind::kScalar) {
    expected(node, what);
    return std::nullopt;
  }
  auto text = substitute_environment(node.scalar, &variables_);
  if (!text) {
    std::string message = std::move(text).error().message;
    if (is_optional_)
      unset_.push_back({node.line, path_, std::move(message), {}});
    else if (not_built_depth_ > 0)
      notice(node.line, std::move(message));
    else
      error(node.line, std::move(message));
    return std::nullopt;
  }
  // YAML needs the quotes of "${PORT}", so a replaced value counts as unquoted.
  const bool replaced = *text != node.scalar;
  return Scalar{*std::move(text), node.quoted && !replaced};
}

void note_unset(Reader& reader, const yaml::Node& node, std::string_view key,
                const std::string& variable, std::string_view consequence) {
  const char* const value = std::getenv(variable.c_str());
  if (value != nullptr && *value != '\0') return;
  std::string text =
      fmt::format("{}, because the environment variable {} is not set", consequence, variable);
  const uint32_t line = node.find(key)->line;
  reader.at_key(key, [&] {
    reader.requires_keys() ? reader.error(line, std::move(text))
                           : reader.notice(line, std::move(text));
  });
}

}  // namespace signalbox::config
