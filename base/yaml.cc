// The adapter to yaml-cpp's event interface. Its node tree is unsuitable: it loses lines, shares
// aliased nodes and silently keeps the last of two equal keys. We expand an alias into a copy and
// check the cost of the copy against the limits first, so a file of one kilobyte cannot grow to a
// gigabyte.

#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "base/mapped_file.h"
#include "base/utf8.h"

namespace signalbox::yaml {
namespace {

// Carries an Error out of yaml-cpp's parser. It never leaves this file.
struct Refusal {
  Error error;
};

template <class... Args>
[[noreturn]] void refuse(Code code, uint32_t line, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw Refusal{
      Error{code, fmt::format("{}: {}", line, fmt::format(format, std::forward<Args>(args)...))}};
}

// The cost of copying a finished subtree into the document.
struct Cost {
  size_t nodes = 1;
  size_t bytes = 0;     // in scalars and keys
  uint32_t height = 1;  // of the subtree; 1 for a scalar

  void add_child(const Cost& child) {
    nodes += child.nodes;
    bytes += child.bytes;
    height = std::max(height, child.height + 1);
  }
};

struct Anchored {
  Node node;
  Cost cost;
};

// A sequence or mapping that has not ended yet.
struct Open {
  Node node;
  Cost cost;
  YAML::anchor_t anchor = 0;
  std::optional<Entry> key;  // key of a mapping entry until its value arrives
  std::vector<Node> merges;  // values of `<<`
};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const Limits& limits) : limits_(limits) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      refuse(Code::kInvalid, line_of(mark), "expected one document, found another");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(leaf(mark, Kind::kNull), {}, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = leaf(mark, Kind::kScalar);
    node.quoted = is_string_tag(tag, mark);
    node.scalar = value;
    finish(std::move(node), {.bytes = value.size()}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!limits_.aliases)
      refuse(Code::kInvalid, line_of(mark),
             "an alias (*name); expected the value itself, written out");
    const Anchored* known =
        anchor < anchors_.size() && anchors_[anchor] ? &*anchors_[anchor] : nullptr;
    if (known == nullptr)
      refuse(Code::kInvalid, line_of(mark), "the alias refers to a node it is part of");
    check_depth(known->cost.height, line_of(mark));
    spend(known->cost, line_of(mark));
    attach(Node(known->node), known->cost);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Kind::kMapping);
  }
  void OnMapEnd() override {
    refuse_duplicates(open_.back().node);
    merge(open_.back());
    close();
  }

 private:
  static uint32_t line_of(const YAML::Mark& mark) {
    return static_cast<uint32_t>(std::max(mark.line, 0)) + 1;
  }

  static Node leaf(const YAML::Mark& mark, Kind kind) {
    Node node;
    node.kind = kind;
    node.line = line_of(mark);
    node.column = static_cast<uint32_t>(std::max(mark.column, 0)) + 1;
    return node;
  }

  // "?" and "" are plain and "!" is quoted. The only other supported tags are YAML's own types.
  static bool is_string_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return true;
    if (tag.empty() || tag == "?") return false;
    for (const char* plain : {"int", "float", "bool", "null", "seq", "map"}) {
      if (tag == std::string("tag:yaml.org,2002:") + plain) return false;
    }
    refuse(Code::kInvalid, line_of(mark), "unknown tag \"{}\"", tag);
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    static_cast<void>(is_string_tag(tag, mark));
    check_depth(1, line_of(mark));
    Open& frame = open_.emplace_back();
    frame.node = leaf(mark, kind);
    frame.anchor = anchor;
  }

  void close() {
    Open frame = std::move(open_.back());
    open_.pop_back();
    finish(std::move(frame.node), frame.cost, frame.anchor);
  }

  // Completes a subtree. This charges the node's own cost; its children were charged as they
  // arrived.
  void finish(Node node, Cost cost, YAML::anchor_t anchor) {
    spend({.nodes = 1, .bytes = node.scalar.size()}, node.line);
    if (anchor != 0) {
      spend(cost, node.line);  // for the copy kept for aliases
      if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
      anchors_[anchor] = Anchored{node, cost};
    }
    attach(std::move(node), cost);
  }

  void attach(Node node, const Cost& cost) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    parent.cost.add_child(cost);
    if (parent.node.kind == Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != Kind::kScalar)
        refuse(Code::kInvalid, node.line, "expected a scalar as a key");
      parent.key = Entry{std::move(node.scalar), node.line, node.column, {}};
      parent.key->value.quoted =
          node.quoted;  // distinguishes a merge key from a quoted "<<" until the value arrives
    } else {
      add_entry(parent, std::move(node));
    }
  }

  static void add_entry(Open& parent, Node value) {
    Entry entry = std::move(*parent.key);
    parent.key.reset();
    if (value.kind == Kind::kNull) {
      // yaml-cpp gives a missing value the position of the next token.
      value.line = entry.line;
      value.column = entry.column;
    }
    if (entry.key == "<<" && !entry.value.quoted) {
      add_merge(parent, std::move(value));
      return;
    }
    entry.value = std::move(value);
    parent.node.entries.push_back(std::move(entry));
  }

  static void add_merge(Open& parent, Node value) {
    std::vector<Node> sources;
    if (value.kind == Kind::kSequence) {
      sources = std::move(value.items);
    } else {
      sources.push_back(std::move(value));
    }
    for (Node& source : sources) {
      if (source.kind != Kind::kMapping) {
        refuse(Code::kInvalid, source.line,
               "expected a mapping, or a list of mappings, to merge with <<");
      }
      parent.merges.push_back(std::move(source));
    }
  }

  // Adds the entries from `<<`. Explicit entries win, then earlier merges.
  static void merge(Open& map) {
    if (map.merges.empty()) return;
    std::vector<Entry>& entries = map.node.entries;
    std::unordered_set<std::string> taken;
    for (const Entry& entry : entries) taken.insert(entry.key);
    for (Node& source : map.merges) {
      for (Entry& entry : source.entries) {
        if (taken.insert(entry.key).second) entries.push_back(std::move(entry));
      }
    }
  }

  static void refuse_duplicates(const Node& map) {
    std::vector<const Entry*> sorted;
    sorted.reserve(map.entries.size());
    for (const Entry& entry : map.entries) sorted.push_back(&entry);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Entry* a, const Entry* b) { return a->key < b->key; });
    const auto twin =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const Entry* a, const Entry* b) { return a->key == b->key; });
    if (twin == sorted.end()) return;
    refuse(Code::kInvalid, twin[1]->line, "the key \"{}\" is given twice, first on line {}",
           twin[1]->key, twin[0]->line);
  }

  void check_depth(uint32_t height, uint32_t line) const {
    if (open_.size() + height > limits_.depth) {
      refuse(Code::kTooLarge, line, "nested deeper than {} levels", limits_.depth);
    }
  }

  void spend(const Cost& cost, uint32_t line) {
    nodes_ += cost.nodes;
    bytes_ += cost.bytes;
    if (nodes_ > limits_.nodes) {
      refuse(Code::kTooLarge, line, "more than {} nodes once aliases are expanded", limits_.nodes);
    }
    if (bytes_ > limits_.bytes) {
      refuse(Code::kTooLarge, line, "more than {} bytes once aliases are expanded", limits_.bytes);
    }
  }

  const Limits& limits_;
  std::vector<Open> open_;
  std::vector<std::optional<Anchored>> anchors_;  // index: yaml-cpp's anchor number
  Node root_;
  uint32_t documents_ = 0;
  size_t nodes_ = 0;
  size_t bytes_ = 0;
};

// Returns the line of the first byte that is not UTF-8, or 0. yaml-cpp would replace such bytes
// silently.
uint32_t bad_utf8_line(std::string_view text) {
  if (utf8::is_valid(text)) return 0;
  uint32_t line = 1;
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find('\n'));
    if (!utf8::is_valid(first)) break;
    text.remove_prefix(std::min(first.size() + 1, text.size()));
    ++line;
  }
  return line;
}

bool indented_by_tab(std::string_view text, uint32_t line) {
  for (; line > 1 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  const std::string_view indent = text.substr(0, text.find_first_not_of(" \t"));
  return indent.find('\t') != std::string_view::npos;
}

// Returns the last line up to `end` that contains an unquoted ${...} inside open braces or
// brackets, or 0. YAML would parse its brace as the start of a mapping.
uint32_t bare_variable(std::string_view text, uint32_t end) {
  uint32_t found = 0;
  for (uint32_t line = 1; line <= end && !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    char quote = 0;
    int open = 0;
    for (size_t i = 0; i < one.size(); ++i) {
      const char c = one[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '#') {
        break;
      } else if (c == '{' || c == '[') {
        if (open > 0 && c == '{' && one[i - 1] == '$') found = line;
        ++open;
      } else if (c == '}' || c == ']') {
        --open;
      }
    }
  }
  return found;
}

/// Replaces messages about the state of yaml-cpp's scanner by ones that name the likely mistake.
std::string_view plain_message(std::string_view message) {
  if (message.find("flow") != std::string_view::npos)
    return "a bracket, a brace or a quote is not closed or is one too many, or a comma is missing, "
           "here or above";
  if (message == "illegal map value")
    return "expected \"key: value\", indented like its neighbours; a value with \": \" needs "
           "quotes";
  if (message == "end of map not found" || message == "end of sequence not found" ||
      message == "illegal block entry")
    return "expected \"key: value\" or \"- item\", indented like its neighbours";
  return message;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Result<Node> parse(std::string_view text, std::string_view name, const Limits& limits) {
  if (text.size() > limits.bytes) {
    return fail(Code::kTooLarge, "{}: {} bytes, at most {} are read", name, text.size(),
                limits.bytes);
  }
  if (const uint32_t line = bad_utf8_line(text)) {
    return fail(Code::kInvalid, "{}:{}: bytes that are not UTF-8", name, line);
  }
  // In a plain scalar, yaml-cpp treats a zero byte as the start of an escape.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    const auto before = text.substr(0, nul);
    return fail(Code::kInvalid, "{}:{}: a byte that is zero", name,
                1 + std::count(before.begin(), before.end(), '\n'));
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(limits);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (Refusal& refusal) {
    return fail(refusal.error.code, "{}:{}", name, refusal.error.message);
  } catch (const YAML::Exception& e) {
    const auto line = static_cast<uint32_t>(std::max(e.mark.line, 0)) + 1;
    if (indented_by_tab(text, line))
      return fail(Code::kInvalid, "{}:{}: a tab before the first word; expected spaces", name,
                  line);
    const uint32_t variable =
        e.msg.find("flow") == std::string::npos ? 0 : bare_variable(text, line);
    if (variable != 0) {
      return fail(Code::kInvalid,
                  "{}:{}: inside braces or brackets ${{...}} needs quotes around it", name,
                  variable);
    }
    return fail(Code::kInvalid, "{}:{}: YAML: {}", name, line, plain_message(e.msg));
  }
}

Result<Node> load(const std::filesystem::path& path, const Limits& limits) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  return parse(file.text(), path.string(), limits);
}

}  // namespace signalbox::yaml
