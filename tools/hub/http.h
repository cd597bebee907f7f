#pragma once
// One GET request by curl, which brings TLS, proxies and their settings (https_proxy, no_proxy,
// SSL_CERT_FILE). Redirects are not followed here, because the caller decides who gets the token.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/error.h"

namespace signalbox::tools {

struct HttpRequest {
  std::string url;            // http or https
  std::string token = {};     // sent as a bearer token; "": none
  uint64_t resume_from = 0;   // requests the bytes from here on
  std::filesystem::path out;  // gets the body, whatever the status; replaced
  uint64_t bytes_max = 0;     // the request ends when the body is longer
  /// Called about ten times a second with the bytes received.
  std::function<void(uint64_t bytes)> progress = [](uint64_t) {};
};

struct HttpReply {
  int status = 0;                              // 0: no reply, or no complete header
  std::map<std::string, std::string> headers;  // names in lower case; the last of each name
  bool complete = false;                       // false: the connection ended early
  std::string problem;                         // curl's message if not complete

  std::string_view header(const std::string& name) const;
};

/// Scheme, host and port of a URL in lower case, such as "https://huggingface.co:443"; "" unless
/// the URL is http or https, or if it contains blanks, quotes, control characters or a user name.
std::string origin_of(std::string_view url);

/// Resolves a Location header against the URL that it was the answer to; "" if the result is not
/// http or https, or if it leads from https to http.
std::string resolve_location(std::string_view url, std::string_view location);

/// Escapes everything but letters, digits, '-', '.', '_' and '~', and '/' if `keep_slashes`.
std::string escape_url(std::string_view text, bool keep_slashes);

/// Errors: kNotFound without curl; kCancelled after a signal (process.h); kTooLarge for a longer
/// body than bytes_max; kIo. A connection that fails or ends early is not an error but an
/// incomplete reply. The token and the URL are passed through a pipe, so that other users cannot
/// see them.
Result<HttpReply> http_get(const HttpRequest& request);

/// Returns and removes the headers of an earlier request to `out` whose process was killed before
/// it read them. The status is 0 if there was no such request. The received part of the body is in
/// `out`, and may still grow.
HttpReply take_unfinished_reply(const std::filesystem::path& out);

/// The bytes of a file; 0 if there is none.
uint64_t size_of_file(const std::filesystem::path& path);

/// Parses what curl stores with --dump-header: the last header block counts, since those of proxies
/// come before it.
HttpReply parse_header_dump(std::string_view dump);

}  // namespace signalbox::tools
