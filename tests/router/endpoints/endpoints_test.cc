// Forms are cases in data: a body with its type, and its fields or the beginning of the error.

#include <gtest/gtest.h>

#include <utility>

#include "base/json_writer.h"
#include "router/endpoints/multipart.h"
#include "router/endpoints/request_reading.h"
#include "router/endpoints/table.h"
#include "tests/router/data_case.h"

namespace signalbox::endpoints {
namespace {

void check_form(const json::Value& row) {
  const std::string_view body = row.find("body")->text(), type = row.find("type")->text();
  const auto fields = read_form(body, type);
  if (const auto error = row.find("error")) {
    ASSERT_FALSE(fields);
    EXPECT_TRUE(fields.error().message.starts_with(error->text())) << fields.error().message;
    return;
  }
  ASSERT_TRUE(fields) << fields.error().message;
  json::Writer found;
  found.begin_array();
  for (const FormField& field : *fields) {
    found.begin_array().string(field.name).string(field.value).boolean(field.is_file);
    found.end_array();
  }
  EXPECT_EQ(found.end_array().take(), row.find("fields")->raw());
}

TEST(Form, listed_forms_are_read_or_refused) {
  routing::run_cases(SIGNALBOX_SOURCE_DIR "/tests/router/endpoints", check_form);
}

TEST(Form, a_value_full_of_near_boundaries_is_one_value) {
  std::string value;
  while (value.size() < (8 << 20)) value += "\r\n--BBBBBBBB";
  const std::string body = "--BBBBBBBBB\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n" +
                           value + "\r\n--BBBBBBBBB--\r\n";
  const auto fields = read_form(body, "multipart/form-data; boundary=BBBBBBBBB");
  ASSERT_TRUE(fields) << fields.error().message;
  EXPECT_EQ(fields->front().value, value);
}

http::Request posted(std::string type, std::string body) {
  http::Request out;
  out.method = "POST";
  out.headers.add("Content-Type", type);
  out.body = std::move(body);
  return out;
}

Result<RequestReading> reading_of(http::Request request) {
  const std::string body = request.body;
  Result<RequestReading> out = read_body(request);
  EXPECT_EQ(request.body, body) << "the body stays";
  return out;
}

TEST(RequestReading, finds_the_texts_that_a_model_reads) {
  const auto reading = reading_of(
      posted("application/json",
             R"({"model":"m","input":["a",{"text":"b"}],"n":1,"voice":"c","prompt":"d"})"));
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->texts, "a\ntext\nb\nd\n");
  EXPECT_EQ(reading->others, "input\nn\n1\nvoice\nc\nprompt\n");
  EXPECT_FALSE(reading->is_unreadable);
}

TEST(RequestReading, reads_numbers_and_names_of_members) {
  const auto reading =
      reading_of(posted("application/json", R"({"input":{"ada@b.example":4111111111111111}})"));
  ASSERT_TRUE(reading);
  EXPECT_NE(reading->texts.find("ada@b.example\n"), std::string::npos) << reading->texts;
  EXPECT_NE(reading->texts.find("4111111111111111\n"), std::string::npos) << reading->texts;
}

TEST(RequestReading, reads_a_text_that_begins_like_a_picture) {
  const auto reading = reading_of(posted("application/json", R"({"prompt":"data: hello"})"));
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->texts, "data: hello\n");
  EXPECT_TRUE(reading->is_unreadable);
}

TEST(RequestReading, does_not_read_a_query) {
  http::Request request = posted("application/json", R"({"model":"m","input":"a"})");
  request.target = "/v1/embeddings?user=ada";
  EXPECT_TRUE(reading_of(std::move(request))->is_unreadable);
}

TEST(RequestReading, refuses_names_that_a_server_may_confuse_with_others) {
  for (const char* name : {"Model", "PROMPT", "model ", "model[]", "prompt[]", " input"}) {
    const auto reading = reading_of(
        posted("application/json", R"({"model":"m","prompt":"p",)" + json::quote(name) + ":1}"));
    ASSERT_FALSE(reading) << name;
    EXPECT_TRUE(reading.error().message.starts_with(json::quote(name))) << reading.error().message;
  }
  EXPECT_TRUE(reading_of(posted("application/json", R"({"model":"m","image[]":"i","n":1})")));
}

TEST(RequestReading, refuses_a_file_where_a_text_is_expected) {
  const auto reading = reading_of(posted("multipart/form-data; boundary=B",
                                         "--B\r\nContent-Disposition: form-data; name=\"prompt\"; "
                                         "filename=\"a\"\r\n\r\nx\r\n--B--\r\n"));
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().message, "prompt: expected a field with a text, not a file");
}

TEST(RequestReading, reports_inputs_that_are_not_text) {
  for (const char* body :
       {R"({"input":[1,2]})", R"({"input":[[1]]})", R"({"prompt":"p","image":"https://a/b"})",
        R"({"input":"data:image/png;base64,AA"})",
        R"({"input":[{"type":"image_url","image_url":{"url":"https://a"}}]})"}) {
    const auto reading = reading_of(posted("application/json", body));
    ASSERT_TRUE(reading) << body;
    EXPECT_TRUE(reading->is_unreadable) << body;
  }
}

TEST(RequestReading, replaces_the_model_and_nothing_else) {
  const std::string json = R"({ "model" : "a\u0062" , "n": 12345678901234567890123 })";
  const auto reading = reading_of(posted("application/json", json));
  ASSERT_TRUE(reading);
  EXPECT_EQ(*reading->model, "ab");
  EXPECT_EQ(with_model(json, *reading, "c\"d"),
            R"({ "model" : "c\"d" , "n": 12345678901234567890123 })");
}

TEST(Table, an_id_is_one_segment_without_escapes) {
  const auto path_of = [](std::string_view method, std::string_view path) {
    const Endpoint* found = find(method, path);
    return found == nullptr ? std::string_view("none") : found->path;
  };
  EXPECT_EQ(path_of("GET", "/v1/files/file-1_a.B"), "/v1/files/{id}");
  EXPECT_EQ(path_of("HEAD", "/v1/files/a/content"), "/v1/files/{id}/content");
  EXPECT_EQ(path_of("DELETE", "/v1/files/content"), "/v1/files/{id}");
  EXPECT_EQ(path_of("POST", "/v1/batches/b/cancel"), "/v1/batches/{id}/cancel");
  for (const char* path :
       {"/v1/files/", "/v1/files/..", "/v1/files/.", "/v1/files//content", "/v1/files/a%2f",
        "/v1/files/a/b", "/v1/files/a/content/", "/v1/files/../content", "/v1/filesystem"})
    EXPECT_EQ(path_of("GET", path), "none") << path;
  EXPECT_EQ(path_of("DELETE", "/v1/files/a/content"), "none");
  EXPECT_EQ(path_of("GET", "/v1/files/" + std::string(300, 'a')), "none");
}

}  // namespace
}  // namespace signalbox::endpoints
