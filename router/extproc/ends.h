#pragma once
// The two ends between which a handler stands, as a session has them: the reply that it writes and
// the server that it calls.

#include <optional>

#include "router/extproc/session.h"

namespace signalbox::extproc {

/// Calls of models, which Envoy makes.
class Session::Gate final : public upstream::ModelCaller {
 public:
  explicit Gate(Session& session) : session_(session) {}
  http::Task<upstream::CallOutcome> call(const config::Model& model,
                                         const upstream::Call& call) const override {
    return session_.forward(model, call);
  }

 private:
  Session& session_;
};

/// What is written becomes what Envoy does to the response that it holds, or an answer instead of
/// one.
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
  bool can_tell();

  Session& session_;
  http::Headers fields_;
  std::optional<uint64_t> length_;
};

/// What a server has said, as Envoy brings it. Asking for more says what becomes of what there was.
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
