#pragma once
// The session's implementations of the two interfaces that a handler uses: the reply that it
// writes, and the server that it calls. Envoy carries out both.

#include <optional>

#include "router/extproc/session.h"

namespace signalbox::extproc {

/// Calls that the router makes while Envoy waits.
class Session::DirectCaller final : public upstream::ModelCaller {
 public:
  explicit DirectCaller(Session& session) : session_(session) {}
  http::Task<upstream::CallOutcome> call(const config::Model& model,
                                         const upstream::Call& call) const override;

 private:
  Session& session_;
};

/// Calls of models, which Envoy makes.
class Session::EnvoyCaller final : public upstream::ModelCaller {
 public:
  explicit EnvoyCaller(Session& session) : session_(session), direct_(session) {}
  http::Task<upstream::CallOutcome> call(const config::Model& model,
                                         const upstream::Call& call) const override {
    return session_.forward(model, call);
  }
  const upstream::ModelCaller& direct() const override { return direct_; }

 private:
  Session& session_;
  const DirectCaller direct_;
};

/// The handler's writes become changes of the response that Envoy holds, or a reply in its place.
class Session::Reply final : public http::Reply {
 public:
  explicit Reply(Session& session) : session_(session) {}

  http::Task<bool> send(int status, const http::Headers& fields, std::string_view body) override;
  void start(int status, const http::Headers& fields, std::optional<uint64_t> length) override;
  http::Task<bool> flush() override;
  http::Task<bool> write(std::string_view bytes, bool last) override;
  void abandon() override;

  const http::Headers& fields() const { return fields_; }
  const std::optional<uint64_t>& length() const { return length_; }

 private:
  bool can_reply();
  void give_up(bool is_too_long);

  Session& session_;
  http::Headers fields_;
  std::optional<uint64_t> length_;
};

/// A server's response as Envoy passes it to us. Each next() first answers the previous piece.
class Session::EnvoyReply final : public upstream::UpstreamReply {
 public:
  explicit EnvoyReply(Session& session) : session_(session) {}
  const http::Response& head() const override { return session_.head_; }
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override;

 private:
  Session& session_;
};

}  // namespace signalbox::extproc
