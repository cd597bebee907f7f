// Only formats that are text are read. PDF and office formats need parsers of their own, each with
// a long history of faults.

#include "router/vector_stores/document_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::vector_stores {
namespace {

constexpr std::array<std::string_view, 14> kExtensions{
    ".txt", ".md",   ".markdown", ".json", ".jsonl", ".csv", ".tsv",
    ".log", ".html", ".htm",      ".xml",  ".yaml",  ".yml", ".rst"};
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8, at the beginning of a file

bool is_html(std::string_view extension) {
  return extension == ".html" || extension == ".htm";
}

// --- HTML ---

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kEntities{{{"amp", "&"},
                                                                                  {"lt", "<"},
                                                                                  {"gt", ">"},
                                                                                  {"quot", "\""},
                                                                                  {"apos", "'"},
                                                                                  {"nbsp", " "},
                                                                                  {"ndash", "-"},
                                                                                  {"mdash", "-"}}};
constexpr size_t kEntityBytesMax = 10;

/// Elements whose content is not text of the page.
constexpr std::array<std::string_view, 4> kHidden{"script", "style", "template", "noscript"};
/// Elements within a line.
constexpr std::array<std::string_view, 14> kInline{
    "a", "abbr", "b", "code", "em", "i", "mark", "q", "s", "small", "span", "strong", "u", "sub"};

template <size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names,
                             [&](std::string_view each) { return ascii::iequals(each, name); });
}

/// Reads HTML from its beginning to its end once.
class HtmlReader {
 public:
  explicit HtmlReader(std::string_view html) : html_(html) {}

  std::string run() {
    while (at_ < html_.size()) {
      const char c = html_[at_];
      if (c == '<' && begins_tag()) {
        skip_tag();
      } else if (c == '&') {
        add_entity();
      } else {
        add(c);
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  bool begins_tag() const {
    if (at_ + 1 >= html_.size()) return false;
    const char next = html_[at_ + 1];
    return ascii::is_alpha(next) || next == '/' || next == '!' || next == '?';
  }

  /// White space is one space, as in a browser.
  void add(char c) {
    if (!ascii::is_space(c)) {
      out_ += c;
    } else if (!out_.empty() && !ascii::is_space(out_.back())) {
      out_ += ' ';
    }
  }
  void end_line() {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }

  /// Moves behind the mark; to the end if there is none.
  void skip_past(std::string_view mark) {
    const size_t found = html_.find(mark, at_);
    at_ = found == html_.npos ? html_.size() : found + mark.size();
  }

  void skip_tag() {
    if (html_.substr(at_).starts_with("<!--")) {
      at_ += 4;
      return skip_past("-->");
    }
    const bool closes = html_[at_ + 1] == '/';
    const size_t begin = at_ + (closes ? 2 : 1);
    size_t end = begin;
    while (end < html_.size() && ascii::is_alnum(html_[end])) ++end;
    const std::string_view name = html_.substr(begin, end - begin);
    skip_past(">");
    if (!is_among(kInline, name)) end_line();
    if (!closes && is_among(kHidden, name)) skip_element(name);
  }

  /// Moves to the element's end tag. An element that is never closed ends with the page.
  void skip_element(std::string_view name) {
    for (;;) {
      skip_past("</");
      if (at_ == html_.size()) return;
      if (!ascii::iequals(html_.substr(at_, name.size()), name)) continue;
      return skip_past(">");
    }
  }

  void add_entity() {
    const std::string_view rest = html_.substr(at_ + 1, kEntityBytesMax);
    const size_t end = rest.find(';');
    const std::string_view name = rest.substr(0, end);
    if (end == rest.npos || !add_named(name)) {
      out_ += '&';
      ++at_;
      return;
    }
    at_ += end + 2;
  }
  bool add_named(std::string_view name) {
    for (const auto& [entity, text] : kEntities) {
      if (entity != name) continue;
      text == " " ? add(' ') : void(out_ += text);
      return true;
    }
    if (!name.starts_with('#')) return false;
    name.remove_prefix(1);
    const bool is_hex = name.starts_with('x') || name.starts_with('X');
    if (is_hex) name.remove_prefix(1);
    uint32_t number = 0;
    const auto read =
        std::from_chars(name.data(), name.data() + name.size(), number, is_hex ? 16 : 10);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size() || number == 0)
      return false;
    utf8::append(out_, number);
    return true;
  }

  const std::string_view html_;
  size_t at_ = 0;
  std::string out_;
};

// --- chunks ---

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

size_t character_begin(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && continues_character(text[at])) --at;
  return at;
}

/// The place behind the last end of a part within [from, to); 0 if there is none.
size_t end_of_part(std::string_view text, size_t from, size_t to, std::string_view mark) {
  const size_t found = text.substr(from, to - from).rfind(mark);
  return found == std::string_view::npos ? 0 : from + found + mark.size();
}

size_t end_of_chunk(std::string_view text, size_t begin, size_t bytes_max) {
  if (text.size() - begin <= bytes_max) return text.size();
  const size_t end = begin + bytes_max;
  const size_t from = begin + bytes_max - bytes_max / 4;
  for (const std::string_view mark : {"\n\n", "\n", ". ", " "}) {
    if (const size_t found = end_of_part(text, from, end, mark)) return found;
  }
  const size_t whole = character_begin(text, end);
  return whole > begin ? whole : end;
}

/// The next chunk begins with a word, if there is a beginning of one in the overlap.
size_t begin_of_next(std::string_view text, size_t begin, size_t end, size_t overlap) {
  const size_t from = std::max(end - std::min(overlap, end - begin), begin + 1);
  if (from >= end) return end;
  const size_t space = text.substr(from, end - from).find_first_of(" \n");
  if (space != std::string_view::npos) return from + space + 1;
  const size_t whole = character_begin(text, from);
  return whole > begin ? whole : end;
}

}  // namespace

std::string extension_of(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos || file_name.find('/', dot) != std::string_view::npos)
    return "";
  return ascii::lower_case(file_name.substr(dot));
}

bool is_readable(std::string_view extension) {
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

std::vector<std::string> readable_extensions() {
  return {kExtensions.begin(), kExtensions.end()};
}

Result<std::string> document_text(std::string_view file_name, std::string_view bytes) {
  if (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
  if (bytes.find('\0') != bytes.npos || !utf8::is_valid(bytes))
    return fail(Code::kInvalid, "file: expected text in UTF-8, found other bytes");
  std::string out = is_html(extension_of(file_name)) ? html_text(bytes) : std::string(bytes);
  if (ascii::trimmed(out).empty()) return fail(Code::kInvalid, "file: there is no text in it");
  return out;
}

std::string html_text(std::string_view html) {
  return HtmlReader(html).run();
}

std::vector<std::string_view> cut(std::string_view text, size_t bytes_max, size_t overlap) {
  bytes_max = std::max<size_t>(bytes_max, 16);
  overlap = std::min(overlap, bytes_max / 2);
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = end_of_chunk(text, begin, bytes_max);
    const std::string_view chunk = ascii::trimmed(text.substr(begin, end - begin));
    if (!chunk.empty()) out.push_back(chunk);
    begin = end == text.size() ? end : begin_of_next(text, begin, end, overlap);
  }
  return out;
}

}  // namespace signalbox::vector_stores
