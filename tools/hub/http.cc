// Runs curl. libcurl would need a loop of its own for progress and signals, and its development
// package; the program is needed for the quickstart anyway.

#include "tools/hub/http.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/ascii.h"
#include "base/file.h"
#include "tools/process.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeaderBytesMax = size_t{1} << 20;
constexpr size_t kProblemBytesMax = 300;

// Quotes a value of curl's configuration file.
std::string quote(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return ascii::iequals(text.substr(0, prefix.size()), prefix);
}

// curl's last line, without its name: "Could not resolve host: huggingface.co".
std::string problem_of(const fs::path& messages) {
  const auto text = read_file(messages, kHeaderBytesMax);
  std::string_view line = text ? ascii::trimmed(*text) : std::string_view();
  if (const size_t start = line.rfind('\n'); start != std::string_view::npos)
    line.remove_prefix(start + 1);
  if (line.starts_with("curl: ")) line.remove_prefix(6);
  std::string out(line.substr(0, kProblemBytesMax));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return out;
}

fs::path headers_of(const fs::path& out) {
  return fs::path(out) += ".headers";
}

// The options that are not secret.
std::vector<std::string> arguments(const HttpRequest& request, const fs::path& headers,
                                   const fs::path& messages) {
  const bool plain = starts_with(request.url, "http:");
  std::vector<std::string> out = {"curl",
                                  "--disable",
                                  "--silent",
                                  "--show-error",
                                  "--no-buffer",
                                  "--globoff",
                                  "--proto",
                                  plain ? "=http,https" : "=https",
                                  "--connect-timeout",
                                  "30",
                                  "--speed-limit",
                                  "1",
                                  "--speed-time",
                                  "60",
                                  "--stderr",
                                  messages.string(),
                                  "--dump-header",
                                  headers.string(),
                                  "--output",
                                  request.out.string(),
                                  "--config",
                                  "-"};
  if (request.resume_from > 0) {
    out.insert(out.end(), {"--header", fmt::format("Range: bytes={}-", request.resume_from)});
  }
  return out;
}

}  // namespace

uint64_t size_of_file(const fs::path& path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

std::string_view HttpReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string origin_of(std::string_view url) {
  const auto is_bad = [](unsigned char c) {
    return c <= ' ' || c >= 0x7F || c == '"' || c == '\\' || c == '<' || c == '>';
  };
  if (std::ranges::any_of(url, is_bad)) return "";
  const bool secure = starts_with(url, "https://");
  if (!secure && !starts_with(url, "http://")) return "";
  url.remove_prefix(secure ? 8 : 7);
  std::string host = ascii::lower_case(url.substr(0, url.find_first_of("/?#")));
  if (host.empty() || host.front() == ':' || host.find('@') != std::string::npos) return "";
  const size_t bracket = host.rfind(']');  // of an IPv6 address
  if (host.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos) {
    host += secure ? ":443" : ":80";
  }
  return fmt::format("{}://{}", secure ? "https" : "http", host);
}

std::string resolve_location(std::string_view url, std::string_view location) {
  std::string out(location);
  if (location.starts_with("//")) {
    out = fmt::format("{}{}", url.substr(0, url.find("//")), location);
  } else if (location.starts_with('/')) {
    out = fmt::format("{}{}", url.substr(0, url.find('/', url.find("//") + 2)), location);
  }
  const std::string origin = origin_of(out);
  const bool weaker = starts_with(url, "https:") && !origin.starts_with("https:");
  return origin.empty() || weaker ? "" : out;
}

std::string escape_url(std::string_view text, bool keep_slashes) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos || (c == '/' && keep_slashes)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

HttpReply parse_header_dump(std::string_view dump) {
  HttpReply out;
  while (!dump.empty()) {
    const size_t end = dump.find('\n');
    const std::string_view line = ascii::trimmed(dump.substr(0, end));
    dump.remove_prefix(end == std::string_view::npos ? dump.size() : end + 1);
    if (line.starts_with("HTTP/")) {
      out = {};
      const std::string_view status =
          ascii::trimmed(line.substr(std::min(line.find(' '), line.size())));
      uint16_t number = 0;  // unsigned, because "-02" is not a status
      std::from_chars(status.data(), status.data() + std::min<size_t>(status.size(), 3), number);
      out.status = number;
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    out.headers[ascii::lower_case(line.substr(0, colon))] = ascii::trimmed(line.substr(colon + 1));
  }
  return out;
}

HttpReply take_unfinished_reply(const fs::path& out) {
  const auto dump = read_file(headers_of(out), kHeaderBytesMax);
  std::error_code ignored;
  fs::remove(headers_of(out), ignored);
  return dump ? parse_header_dump(*dump) : HttpReply();
}

Result<HttpReply> http_get(const HttpRequest& request) {
  const fs::path headers = headers_of(request.out);
  const fs::path messages = fs::path(request.out) += ".messages";
  std::error_code ignored;
  for (const fs::path& path : {request.out, headers, messages}) fs::remove(path, ignored);
  std::string secrets = fmt::format("url = {}\n", quote(request.url));
  if (!request.token.empty()) {
    secrets += fmt::format("header = {}\n", quote("Authorization: Bearer " + request.token));
  }
  if (secrets.size() > kProgramInputMax) return fail(Code::kTooLarge, "the address is too long");
  const auto watch = [&request] {
    const uint64_t bytes = size_of_file(request.out);
    request.progress(bytes);
    return bytes <= request.bytes_max;
  };
  const auto status =
      run_program(arguments(request, headers, messages), {.input = secrets, .watch = watch});
  const auto dump = read_file(headers, kHeaderBytesMax);
  const std::string problem = problem_of(messages);
  for (const fs::path& path : {headers, messages}) fs::remove(path, ignored);
  if (!status && status.error().code == Code::kNotFound) {
    return fail(Code::kNotFound,
                "curl is needed to fetch it and is not on PATH; on Debian: apt-get install curl");
  }
  if (!status) return tl::unexpected<Error>(status.error());
  if (size_of_file(request.out) > request.bytes_max) {
    return fail(Code::kTooLarge, "the server sends more than the expected {} bytes",
                request.bytes_max);
  }
  HttpReply reply = parse_header_dump(dump ? *dump : std::string());
  reply.complete = *status == 0;
  if (!reply.complete)
    reply.problem = problem.empty() ? fmt::format("curl ended with status {}", *status) : problem;
  return reply;
}

}  // namespace signalbox::tools
