// RFC 7578 and RFC 2046, without what no client sends: a preamble, an epilogue, white space behind
// a boundary, folded lines, and lines that end in a bare line feed.

#include "router/endpoints/multipart.h"

#include <cstring>
#include <optional>

#include "base/ascii.h"

namespace signalbox::endpoints {
namespace {

constexpr std::string_view kFormData = "multipart/form-data";
constexpr std::string_view kLineEnd = "\r\n";
constexpr size_t kBoundaryBytesMax = 70;  // RFC 2046
constexpr size_t kPartHeadBytesMax = 8 << 10;

/// Like find(), in linear time also for a boundary that nearly occurs everywhere.
size_t find_in(std::string_view text, std::string_view wanted, size_t begin) {
  const void* found =
      memmem(text.data() + begin, text.size() - begin, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Parameter {
  std::string_view name, value;  // the value without its quotes
};

/// Takes the next parameter ("; name=value") from the rest of a field. nullopt if it is malformed.
std::optional<Parameter> take_parameter(std::string_view& rest) {
  if (!rest.starts_with(';')) return std::nullopt;
  rest = without_spaces(rest.substr(1));
  const size_t equals = rest.find('=');
  if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
  Parameter out{without_spaces(rest.substr(0, equals)), {}};
  rest.remove_prefix(equals + 1);
  if (!rest.starts_with('"')) {
    const size_t end = std::min(rest.find(';'), rest.size());
    out.value = without_spaces(rest.substr(0, end));
    rest.remove_prefix(end);
    if (out.value.empty() || out.value.find_first_of("\" \t") != out.value.npos)
      return std::nullopt;
    return out;
  }
  size_t end = 1;
  while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
  if (end >= rest.size()) return std::nullopt;
  out.value = rest.substr(1, end - 1);
  rest = without_spaces(rest.substr(end + 1));
  return out;
}

/// The one parameter of that name; nullopt if there is none, several, or a malformed one. Marks
/// the field as a file if there is a name of one.
std::optional<std::string_view> only_parameter(std::string_view rest, std::string_view name,
                                               FormField& field) {
  constexpr std::string_view kFile = "filename";
  std::optional<std::string_view> out;
  while (!rest.empty()) {
    const auto parameter = take_parameter(rest);
    if (!parameter) return std::nullopt;
    const std::string_view key = parameter->name;
    const bool is_it = ascii::iequals(key, name);
    // "name*" and "name*0" are encoded forms of "name".
    const bool is_like_it = !is_it && ascii::iequals(key.substr(0, name.size()), name);
    if (is_like_it || (is_it && out)) return std::nullopt;
    if (is_it) out = parameter->value;
    field.is_file = field.is_file || ascii::iequals(key.substr(0, kFile.size()), kFile);
    if (ascii::iequals(key, kFile)) field.file_name = parameter->value;
  }
  return out;
}

Result<std::string_view> boundary_of(std::string_view content_type) {
  FormField ignored;
  const auto boundary =
      only_parameter(without_spaces(content_type.substr(kFormData.size())), "boundary", ignored);
  if (!boundary || boundary->empty() || boundary->size() > kBoundaryBytesMax ||
      boundary->find('\\') != boundary->npos) {
    return fail(Code::kInvalid, "Content-Type: expected one boundary of 1 to {} bytes",
                kBoundaryBytesMax);
  }
  return *boundary;
}

/// Reads the header of a part.
Result<FormField> read_head(std::string_view head, size_t number) {
  const auto wrong = [number](std::string_view what) {
    return fail(Code::kInvalid, "multipart: part {}: {}", number, what);
  };
  FormField out;
  bool is_named = false;
  while (!head.empty()) {
    const size_t end = std::min(head.find(kLineEnd), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + kLineEnd.size(), head.size()));
    const size_t colon = line.find(':');
    if (colon == line.npos || line.find_first_of("\r\n") != line.npos || line.front() == ' ' ||
        line.front() == '\t')
      return wrong("expected lines of the form \"name: value\"");
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_spaces(line.substr(colon + 1));
    if (ascii::iequals(name, "content-transfer-encoding") && !ascii::iequals(value, "binary") &&
        !ascii::iequals(value, "8bit") && !ascii::iequals(value, "7bit"))
      return wrong("Content-Transfer-Encoding: expected binary, 8bit or 7bit");
    if (!ascii::iequals(name, "content-disposition")) continue;
    constexpr std::string_view kDisposition = "form-data";
    if (is_named || !ascii::iequals(value.substr(0, kDisposition.size()), kDisposition))
      return wrong("expected one Content-Disposition, form-data");
    const auto field =
        only_parameter(without_spaces(value.substr(kDisposition.size())), "name", out);
    if (!field || field->empty() || field->find_first_of("\\%") != field->npos)
      return wrong("Content-Disposition: expected one plain name");
    out.name = *field;
    is_named = true;
  }
  if (!is_named) return wrong("expected a Content-Disposition");
  return out;
}

}  // namespace

bool is_multipart(std::string_view content_type) {
  if (!ascii::iequals(content_type.substr(0, kFormData.size()), kFormData)) return false;
  const std::string_view rest = without_spaces(content_type.substr(kFormData.size()));
  return rest.empty() || rest.front() == ';';
}

Result<std::vector<FormField>> read_form(std::string_view body, std::string_view content_type) {
  SIGNALBOX_TRY(const std::string_view boundary, boundary_of(content_type));
  const std::string mark = fmt::format("--{}", boundary);
  std::vector<FormField> out;
  if (!body.starts_with(mark))
    return fail(Code::kInvalid, "multipart: expected the boundary at the beginning");
  size_t at = mark.size();
  for (;;) {
    const std::string_view rest = body.substr(at);
    if (rest == "--" || rest == "--\r\n") return out;
    if (!rest.starts_with(kLineEnd)) {
      return fail(Code::kInvalid,
                  "multipart: byte {}: expected a line end or the end of the form behind the "
                  "boundary",
                  at);
    }
    if (out.size() == kFieldsMax)
      return fail(Code::kTooLarge, "multipart: more than {} fields", kFieldsMax);
    at += kLineEnd.size();
    constexpr std::string_view kHeadEnd = "\r\n\r\n";
    const size_t head_end = body.substr(at, kPartHeadBytesMax).find(kHeadEnd);
    if (head_end == std::string_view::npos) {
      return fail(Code::kInvalid, "multipart: part {}: expected a header of at most {} bytes",
                  out.size() + 1, kPartHeadBytesMax);
    }
    const std::string_view head = body.substr(at, head_end);
    if (head.find(mark) != head.npos) {
      return fail(Code::kInvalid, "multipart: part {}: the boundary is inside the header",
                  out.size() + 1);
    }
    SIGNALBOX_TRY(FormField field, read_head(head, out.size() + 1));
    const size_t begin = at + head_end + kHeadEnd.size();
    const size_t next = find_in(body, mark, begin);
    if (next == std::string_view::npos || next < begin + kLineEnd.size() ||
        body.substr(next - kLineEnd.size(), kLineEnd.size()) != kLineEnd) {
      return fail(Code::kInvalid,
                  "multipart: part {}: expected a line end and the boundary after it",
                  out.size() + 1);
    }
    field.value = body.substr(begin, next - kLineEnd.size() - begin);
    out.push_back(field);
    at = next + mark.size();
  }
}

}  // namespace signalbox::endpoints
