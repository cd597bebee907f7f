// The body goes to the server as the client wrote it, so it is lent to the parser.

#include "router/endpoints/request_reading.h"

#include <algorithm>
#include <span>

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/name_case.h"
#include "router/endpoints/multipart.h"
#include "router/splice/edit.h"

namespace signalbox::endpoints {
namespace {

constexpr std::string_view kModelField = "model";
constexpr size_t kNameBytesMax = 1024;

// The members and fields that hold texts for a model.
constexpr std::string_view kTexts[] = {"prompt", "negative_prompt", "input", "instructions",
                                       "query",  "documents",       "texts"};
// Those that hold pictures, as data or as URLs.
constexpr std::string_view kPictures[] = {"image", "images", "image_url", "mask"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string& place_of(std::string_view name, RequestReading& out) {
  return is_one_of(kTexts, name) ? out.texts : out.others;
}

// Text that begins like a picture is still read, because it may be text after all.
void add_text(std::string_view text, std::string& to, RequestReading& out) {
  if (text.starts_with("data:")) out.is_unreadable = true;
  to.reserve(to.size() + text.size() + 1);  // a long text does not leave twice its size
  to.append(text).append("\n");
}

// Numbers and names of members can be personal data, too.
void add_texts(const json::Value& value, std::string& to, RequestReading& out) {
  if (value.is_string()) return add_text(value.text(), to, out);
  if (value.is_number()) return add_text(value.raw(), to, out);
  for (const json::Value item : value.items()) {
    if (item.is_number()) out.is_unreadable = true;  // a token's id
    add_texts(item, to, out);
  }
  for (const json::Member member : value.members()) {
    if (is_one_of(kPictures, member.key)) out.is_unreadable = true;
    add_text(member.key, to, out);
    add_texts(member.value, to, out);
  }
}

// Some servers ignore case, white space, NUL and the brackets of a list in a name. Such a name of
// the model or of a text would be read there and not here.
Result<void> check_name(std::string_view name) {
  std::string plain;
  for (const char c : in_lower_case(name).value_or(std::string(name))) {
    if (ascii::is_alnum(c) || c == '_') plain += c;
  }
  if (plain == name || (plain != kModelField && !is_one_of(kTexts, plain))) return {};
  return fail(Code::kInvalid, "{}: expected {}: some servers take one for the other",
              json::quote_briefly(name), json::quote(plain));
}

Result<RequestReading> read_object(const json::Value& root) {
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  RequestReading out;
  if (root.count(kModelField) > 1) return fail(Code::kInvalid, "model: there are two");
  if (const auto model = root.find(kModelField); model && !model->is_null()) {
    if (!model->is_string()) return fail(Code::kInvalid, "model: expected a string");
    out.model = model->text();
    out.begin = model->begin();
    out.end = model->end();
  }
  for (const json::Member member : root.members()) {
    SIGNALBOX_TRY_VOID(check_name(member.key));
    if (is_one_of(kPictures, member.key)) out.is_unreadable = true;
    if (member.key == kModelField) continue;
    add_text(member.key, out.others, out);
    add_texts(member.value, place_of(member.key, out), out);
  }
  return out;
}

Result<RequestReading> read_json(std::string& body) {
  SIGNALBOX_TRY(json::Document document, json::Document::take(body));
  Result<RequestReading> out = read_object(document.root());
  body = std::move(document).take_source();
  return out;
}

Result<RequestReading> read_fields(std::string_view body, std::string_view content_type) {
  SIGNALBOX_TRY(const std::vector<FormField> fields, read_form(body, content_type));
  RequestReading out;
  out.is_form = true;
  for (const FormField& field : fields) {
    SIGNALBOX_TRY_VOID(check_name(field.name));
    if (field.name == kModelField) {
      if (out.model) return fail(Code::kInvalid, "model: there are two");
      if (field.is_file || field.value.size() > kNameBytesMax)
        return fail(Code::kInvalid, "model: expected a field with a name, not a file");
      out.model = field.value;
      out.begin = static_cast<size_t>(field.value.data() - body.data());
      out.end = out.begin + field.value.size();
    } else if (field.is_file) {
      if (is_one_of(kTexts, field.name))
        return fail(Code::kInvalid, "{}: expected a field with a text, not a file", field.name);
      out.is_unreadable = true;
    } else {
      add_text(field.name, out.others, out);
      add_text(field.value, place_of(field.name, out), out);
    }
  }
  return out;
}

}  // namespace

Result<RequestReading> read_body(http::Request& request) {
  if (request.headers.count("content-type") > 1)
    return fail(Code::kInvalid, "Content-Type: there are two");
  const std::string_view type = request.headers.find("content-type").value_or("");
  Result<RequestReading> out =
      is_multipart(type) ? read_fields(request.body, type) : read_json(request.body);
  if (out && request.target.find('?') != std::string::npos) out->is_unreadable = true;
  return out;
}

std::string with_model(std::string_view body, const RequestReading& reading,
                       std::string_view name) {
  return splice::apply(body, {{reading.begin, reading.end,
                               reading.is_form ? std::string(name) : json::quote(name)}});
}

}  // namespace signalbox::endpoints
