// The first line is the type of a request, the rest its body. Fields are parts of the body in their
// order, and another name of the model is found again, with everything else as it was.

#include <cstdint>
#include <string>

#include "router/endpoints/multipart.h"
#include "router/endpoints/request_reading.h"

namespace {

void check_fields(std::string_view body, std::string_view type) {
  const auto fields = signalbox::endpoints::read_form(body, type);
  if (!fields) return;
  const char* at = body.data();
  SIGNALBOX_CHECK(fields->size() <= signalbox::endpoints::kFieldsMax);
  for (const auto& field : *fields) {
    SIGNALBOX_CHECK(!field.name.empty());
    SIGNALBOX_CHECK(at <= field.value.data());
    at = field.value.data() + field.value.size();
    SIGNALBOX_CHECK(at <= body.data() + body.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(all.find('\n'), all.size());
  http::Request request;
  request.headers.add("Content-Type", all.substr(0, line));
  request.body = all.substr(std::min(line + 1, all.size()));
  const std::string type(*request.headers.find("content-type"));
  if (endpoints::is_multipart(type)) check_fields(request.body, type);
  const auto reading = endpoints::read_body(request);
  if (!reading || !reading->model) return 0;
  constexpr std::string_view kName = "another";
  request.body = endpoints::with_model(request.body, *reading, kName);
  const auto again = endpoints::read_body(request);
  SIGNALBOX_CHECK(again.has_value());
  SIGNALBOX_CHECK(again->model == kName);
  SIGNALBOX_CHECK(again->texts == reading->texts && again->others == reading->others);
  SIGNALBOX_CHECK(again->is_unreadable == reading->is_unreadable);
  return 0;
}
