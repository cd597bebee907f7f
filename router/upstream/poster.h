#pragma once
// Sends requests from a thread that may block, over the same backend and kept connections as the
// data plane.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"
#include "router/http/headers.h"

namespace signalbox::upstream {

struct PostReply {
  int status = 0;
  std::string body;
  http::Headers headers;
};

/// Not thread-safe: one thread at a time.
class Poster {
 public:
  /// `limit` bounds a whole exchange. The name of `to` is the request ID, and `api_key` is sent in
  /// the header that `to` names.
  Poster(const config::BackendRef& to, std::chrono::milliseconds limit,
         std::optional<std::string> api_key = std::nullopt);
  ~Poster();

  /// Posts a body of the given content type and waits for the whole reply. Errors: kUpstream (also
  /// for a status other than 2xx), kDeadline, kUnsupported.
  Result<void> post(std::string_view target, std::string_view type, std::string_view body);
  /// The same with a limit of its own; it returns a reply of any status. A reply of more than
  /// `bytes_max` is kUpstream. It ends early with kCancelled if `stop` is requested.
  Result<PostReply> post(std::string_view target, std::string_view type, std::string_view body,
                         std::chrono::milliseconds limit, size_t bytes_max,
                         const std::stop_token& stop = {});
  /// The same with any method; JSON, or nothing if the body is empty.
  Result<PostReply> send(std::string_view method, std::string_view target, std::string_view json,
                         std::chrono::milliseconds limit, size_t bytes_max,
                         const std::stop_token& stop = {});
  /// The same with a GET.
  Result<PostReply> get(std::string_view target, std::chrono::milliseconds limit, size_t bytes_max,
                        const std::stop_token& stop = {});

 private:
  Result<PostReply> exchange(std::string_view method, std::string_view target,
                             const http::Headers& headers, std::string_view body,
                             std::chrono::milliseconds limit, size_t bytes_max,
                             const std::stop_token& stop);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Posters to one server for many threads: each post takes one that is idle. Thread-safe.
class PosterPool {
 public:
  PosterPool(config::BackendRef to, std::chrono::milliseconds limit,
             std::optional<std::string> api_key = std::nullopt);

  /// See Poster::post().
  Result<PostReply> post(std::string_view target, std::string_view type, std::string_view body,
                         std::chrono::milliseconds limit, size_t bytes_max,
                         const std::stop_token& stop = {});
  /// See Poster::send().
  Result<PostReply> send(std::string_view method, std::string_view target, std::string_view json,
                         std::chrono::milliseconds limit, size_t bytes_max);

 private:
  std::unique_ptr<Poster> take();
  void keep(std::unique_ptr<Poster> poster, const Result<PostReply>& reply);

  const config::BackendRef to_;
  const std::chrono::milliseconds limit_;
  const std::optional<std::string> api_key_;
  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<Poster>> idle_;
};

}  // namespace signalbox::upstream
