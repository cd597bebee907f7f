// Line by line: one row is in memory at a time.

#include "tools/jsonl.h"

#include <cstdio>

#include "tools/command.h"

namespace signalbox::tools {

Result<void> for_each_row(std::istream& in,
                          const std::function<Result<std::string>(const json::Value& row)>& row) {
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("line {}", number);
    auto document = json::Document::parse(std::move(line));
    if (!document) return fail_in(where, std::move(document).error());
    auto out = row(document->root());
    if (!out) return fail_in(where, std::move(out).error());
    out->push_back('\n');
    std::fwrite(out->data(), 1, out->size(), stdout);
    line.clear();
  }
  std::fflush(stdout);
  return {};
}

Result<std::string_view> string_member(const json::Value& row, std::string_view name) {
  const auto value = row.find(name);
  if (!value) return fail(Code::kInvalid, "{}: missing", name);
  if (!value->is_string()) {
    return fail(Code::kInvalid, "{}: expected a string, found {}", name,
                json::type_name(value->type()));
  }
  return value->text();
}

int report(const Error& error) {
  std::fprintf(stderr, "signalbox: %s\n", error.message.c_str());
  return kExitFailure;
}

}  // namespace signalbox::tools
