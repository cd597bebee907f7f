// A scalar is written plain if it would read back unchanged. A quoted text that looks like a number
// keeps its quotes, as does any text that is YAML syntax.

#include "base/yaml_writer.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/json_writer.h"

namespace signalbox::yaml {
namespace {

constexpr std::string_view kPlainPunctuation = "_-./+@$%=~^() ";

bool is_plain_byte(char c) {
  return ascii::is_word_byte(c) || kPlainPunctuation.find(c) != std::string_view::npos ||
         c == ':' || c == ',' || c == '\'' || c == ';';
}

// Returns true if any version of YAML would read the plain text as something other than a string.
bool looks_typed(std::string_view text) {
  const std::string low = ascii::lower_case(text);
  for (const std::string_view word :
       {"", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<"}) {
    if (low == word) return true;
  }
  return low.find_first_not_of("0123456789abcdefox+-.:_eint") == std::string::npos &&
         (low[0] == '+' || low[0] == '-' || low[0] == '.' || (low[0] >= '0' && low[0] <= '9'));
}

bool reads_back_plain(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.front() == '\xEF' || text.back() == ' ' ||
      text.back() == ':')
    return false;
  if (!std::all_of(text.begin(), text.end(), is_plain_byte)) return false;
  if (text.find(": ") != std::string_view::npos) return false;
  const std::string_view odd_starts = "-.+@%=~:,';$^()";
  if (odd_starts.find(text.front()) == std::string_view::npos) return true;
  // "-5", ".5" and the like are safe as plain scalars; "- x", "---" and "@x" are YAML syntax.
  return text.size() > 1 && (text.front() == '-' || text.front() == '.' || text.front() == '+') &&
         text[1] >= '0' && text[1] <= '9';
}

// Returns true if a literal block can represent the text unchanged.
bool fits_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n')
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7F || c == 0xC2 || c == 0xE2 || c == 0xEF) return false;
  }
  return text.find(" \n") == std::string_view::npos && text.back() != ' ';
}

class Writer {
 public:
  std::string take() { return std::move(out_); }

  // Writes the value after "key:" or "-", on the same line or the lines below.
  void value(const Node& node, size_t indent) {
    switch (node.kind) {
      case Kind::kNull:
        out_ += " null\n";
        return;
      case Kind::kScalar:
        return scalar(node, indent);
      case Kind::kSequence:
        if (node.items.empty()) {
          out_ += " []\n";
          return;
        }
        out_.push_back('\n');
        return items(node, indent);
      case Kind::kMapping:
        if (node.entries.empty()) {
          out_ += " {}\n";
          return;
        }
        out_.push_back('\n');
        return entries(node, indent, true);
    }
  }

  void items(const Node& node, size_t indent) {
    for (const Node& item : node.items) {
      out_.append(indent, ' ').push_back('-');
      if (item.kind == Kind::kMapping && !item.entries.empty()) {
        out_.push_back(' ');
        entries(item, indent + 2, false);
      } else {
        value(item, indent + 2);
      }
    }
  }

  void entries(const Node& node, size_t indent, bool indent_first) {
    for (const Entry& entry : node.entries) {
      if (indent_first) out_.append(indent, ' ');
      indent_first = true;
      const bool plain = reads_back_plain(entry.key) && !looks_typed(entry.key);
      out_ += plain ? entry.key : quoted(entry.key);
      out_.push_back(':');
      value(entry.value, indent + 2);
    }
  }

 private:
  // JSON escapes are valid in YAML, but YAML also requires escapes for some characters that JSON
  // leaves alone.
  static std::string quoted(std::string_view text) {
    std::string out;
    for (const char c : json::quote(text)) {
      if (c == 0x7F) {
        out += "\\x7F";
      } else {
        out.push_back(c);
      }
    }
    return out;
  }

  void scalar(const Node& node, size_t indent) {
    const std::string& text = node.scalar;
    if (fits_block(text)) return block(text, indent);
    const bool plain = reads_back_plain(text) && !(node.quoted && looks_typed(text));
    out_.append(" ").append(plain ? text : quoted(text)).push_back('\n');
  }

  void block(std::string_view text, size_t indent) {
    const bool ends = text.back() == '\n';
    const bool more = ends && text.ends_with("\n\n");
    out_ += more ? " |+\n" : ends ? " |\n" : " |-\n";
    if (ends) text.remove_suffix(1);
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) out_.append(indent, ' ').append(text.substr(at, end - at));
      out_.push_back('\n');
      at = end + 1;
    }
  }

  std::string out_;
};

}  // namespace

std::string write(const Node& root) {
  Writer writer;
  if (root.kind == Kind::kMapping && !root.entries.empty()) {
    writer.entries(root, 0, true);
  } else if (root.kind == Kind::kSequence && !root.items.empty()) {
    writer.items(root, 0);
  } else {
    writer.value(root, 0);
  }
  return writer.take();
}

}  // namespace signalbox::yaml
