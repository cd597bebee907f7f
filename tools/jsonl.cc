// Reads line by line, so only one row is in memory at a time.

#include "tools/jsonl.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "tools/command.h"

namespace signalbox::tools {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors write it first

// Returns false at the end of the input. Cuts a line that is too long one byte after the limit.
bool take_line(std::streambuf& in, std::string& line) {
  constexpr int kEnd = std::streambuf::traits_type::eof();
  line.clear();
  for (int c = in.sbumpc(); c != '\n'; c = in.sbumpc()) {
    if (c == kEnd) return !line.empty();
    line.push_back(static_cast<char>(c));
    if (line.size() > kRowBytesMax) return true;
  }
  return true;
}

// A directory opens like a file; its first read throws the system's error.
Result<bool> read_line(std::streambuf& in, std::string& line) {
  try {
    return take_line(in, line);
  } catch (const std::ios_base::failure& failure) {
    return fail(Code::kIo, "{}", failure.code().message());
  }
}

// `name` precedes errors of the input itself.
Result<void> read_all(std::istream& in, std::string_view name,
                      const std::function<Result<void>(const json::Value& row, size_t line)>& row) {
  std::string line;
  for (size_t number = 1;; ++number) {
    auto is_there = read_line(*in.rdbuf(), line);
    if (!is_there && name.empty()) return tl::unexpected(std::move(is_there).error());
    if (!is_there) return fail_in(name, std::move(is_there).error());
    if (!*is_there) return {};
    if (line.size() > kRowBytesMax) {
      return fail(Code::kTooLarge, "line {}: longer than {} bytes", number, kRowBytesMax);
    }
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("line {}", number);
    const bool is_plain_text = line.find_first_of("{[") != line.find_first_not_of(" \t");
    auto document = json::Document::parse(std::move(line));
    if (!document && is_plain_text) {
      return fail(Code::kInvalid,
                  "{}: expected a JSON object, such as {{\"text\": \"hello\"}}, found plain text",
                  where);
    }
    if (!document) return fail_in(where, std::move(document).error());
    auto done = row(document->root(), number);
    if (!done) return fail_in(where, std::move(done).error());
    line.clear();
  }
}

std::string printable(std::string_view text, bool has_lines) {
  std::string out(text);
  for (char& c : out) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    if (is_control && !(has_lines && c == '\n')) c = '?';
  }
  return out;
}

Result<void> write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return fail(Code::kIo, "standard output: {}", std::strerror(errno));
}

}  // namespace

Result<void> read_rows(
    std::istream& in, const std::function<Result<void>(const json::Value& row, size_t line)>& row) {
  return read_all(in, "", row);
}

Result<void> for_each_row(const std::function<Result<std::string>(const json::Value& row)>& row) {
  std::ios::sync_with_stdio(false);  // otherwise a read error looks like the end of the input
  const auto one = [&](const json::Value& value, size_t) -> Result<void> {
    SIGNALBOX_TRY(std::string out, row(value));
    out.push_back('\n');
    return write(out);
  };
  SIGNALBOX_TRY_VOID(read_all(std::cin, "standard input", one));
  if (std::fflush(stdout) != 0) {
    return fail(Code::kIo, "standard output: {}", std::strerror(errno));
  }
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

void print_line(std::string_view line) {
  const std::string out = printable(line, false) + "\n";
  std::fwrite(out.data(), 1, out.size(), stderr);
}

void print_tables(std::string_view text) {
  const std::string out = printable(text, true);
  std::fwrite(out.data(), 1, out.size(), stdout);
}

int report(const Error& error) {
  // An invalid configuration has one line per problem.
  std::string_view left = error.message;
  do {
    const size_t end = std::min(left.find('\n'), left.size());
    print_line(fmt::format("signalbox: {}", left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  } while (!left.empty());
  return kExitFailure;
}

}  // namespace signalbox::tools
