#pragma once
// Stores of memories over a double of either server, for tests.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "router/shared_memories/row_memories.h"
#include "router/shared_memories/row_servers.h"
#include "tests/router/cache/milvus_double.h"
#include "tests/router/shared_memories/qdrant_double.h"
#include "tests/router/shared_memories/sharing.h"

namespace signalbox::shared_memories {

inline constexpr RowLimits kPatient{.read = std::chrono::seconds(60),
                                    .write = std::chrono::seconds(60)};
inline constexpr RowLimits kBrisk{.read = std::chrono::milliseconds(700),
                                  .write = std::chrono::milliseconds(700)};

enum class Trouble { kNone, kHangsUp, kIsSlow, kTalksRubbish, kRefuses, kForgets, kMixesUp };

/// A double of a server's client: it passes calls on and changes what comes back.
class Between final : public RowServer {
 public:
  explicit Between(std::unique_ptr<RowServer> server) : server_(std::move(server)) {}

  std::function<void(Rows&, const RowQuery&)> on_query = [](Rows&, const RowQuery&) {};
  std::function<Result<void>()> on_remove = [] { return Result<void>(); };

  const std::string& name() const override { return server_->name(); }
  Result<std::optional<size_t>> dimension() override { return server_->dimension(); }
  Result<void> create(size_t dimension) override { return server_->create(dimension); }
  Result<Rows> query(const RowQuery& query) override {
    auto out = server_->query(query);
    if (out) on_query(*out, query);
    return out;
  }
  Result<void> upsert(std::span<const Row> rows) override { return server_->upsert(rows); }
  Result<void> remove(std::span<const std::string> ids) override {
    SIGNALBOX_TRY_VOID(on_remove());
    return server_->remove(ids);
  }

 private:
  const std::unique_ptr<RowServer> server_;
};

/// A double of either server.
class Site {
 public:
  virtual ~Site() = default;
  virtual std::unique_ptr<RowServer> rows(const RowLimits& limits, bool logs_in) = 0;
  virtual void be(Trouble trouble) = 0;
  virtual void need_login() = 0;
  virtual size_t size() = 0;
  virtual void save() = 0;
  virtual void restore() = 0;
  virtual void drop() = 0;
  /// Sets a member of every row to a value in JSON.
  virtual void damage(const std::string& member, const std::string& value) = 0;
  virtual void make_other() = 0;  // a collection of two values a vector and another metric
};

template <class Mood>
Mood mood_of(Trouble trouble) {
  const std::map<Trouble, Mood> moods{
      {Trouble::kNone, Mood::kWell},       {Trouble::kHangsUp, Mood::kHangsUp},
      {Trouble::kIsSlow, Mood::kIsSlow},   {Trouble::kTalksRubbish, Mood::kTalksRubbish},
      {Trouble::kRefuses, Mood::kRefuses}, {Trouble::kForgets, Mood::kForgets},
      {Trouble::kMixesUp, Mood::kMixesUp}};
  return moods.at(trouble);
}

class MilvusSite final : public Site {
 public:
  MilvusSite() { milvus_.late_ms = 200; }
  std::unique_ptr<RowServer> rows(const RowLimits& limits, bool logs_in) override {
    MilvusRowOptions options{.collection = "memories", .limits = limits};
    options.server.host = "127.0.0.1";
    options.server.port = milvus_.port();
    if (logs_in) options.server.username = "root";
    if (logs_in) options.server.password = "secret";
    return *make_milvus_rows(std::move(options));
  }
  void be(Trouble trouble) override { milvus_.mood = mood_of<test::MilvusDouble::Mood>(trouble); }
  void need_login() override { milvus_.token = "root:secret"; }
  size_t size() override { return milvus_.rows(); }
  void save() override { saved_ = milvus_.save(); }
  void restore() override { milvus_.restore(saved_); }
  void drop() override { milvus_.drop(); }
  void damage(const std::string& member, const std::string& value) override {
    auto rows = milvus_.save();
    for (auto& [id, row] : rows) row[member] = value;
    milvus_.restore(std::move(rows));
  }
  void make_other() override { milvus_.set_fields({{"id", "VarChar"}, {"vector", "FloatVector"}}); }

 private:
  test::MilvusDouble milvus_;
  test::MilvusDouble::Rows saved_;
};

class QdrantSite final : public Site {
 public:
  std::unique_ptr<RowServer> rows(const RowLimits& limits, bool logs_in) override {
    config::Qdrant server;
    server.host = "127.0.0.1";
    server.port = qdrant_.port();
    if (logs_in) server.api_key = "secret";
    return make_qdrant_rows(server, "signalbox_memories", limits);
  }
  void be(Trouble trouble) override { qdrant_.mood = mood_of<test::QdrantDouble::Mood>(trouble); }
  void need_login() override { qdrant_.key = "secret"; }
  size_t size() override { return qdrant_.points(); }
  void save() override { saved_ = qdrant_.save(); }
  void restore() override { qdrant_.restore(saved_); }
  void drop() override { qdrant_.drop(); }
  void damage(const std::string& member, const std::string& value) override {
    qdrant_.damage(member, value);
  }
  void make_other() override { qdrant_.make(2, "Euclid"); }

 private:
  test::QdrantDouble qdrant_;
  test::QdrantDouble::Points saved_;
};

class RowMemoriesTest : public testing::TestWithParam<const char*> {
 protected:
  RowMemoriesTest() {
    if (GetParam() == std::string_view("milvus"))
      site_ = std::make_unique<MilvusSite>();
    else
      site_ = std::make_unique<QdrantSite>();
  }
  std::unique_ptr<SharedMemories> store(
      const RowOptions& options = {.poll_every = std::chrono::milliseconds(20),
                                   .grace = std::chrono::milliseconds(300)},
      const RowLimits& limits = kPatient) {
    auto out = make_row_memories(site_->rows(limits, false), options);
    until([&] { return out->shared()->works; });
    return out;
  }
  /// Makes the collection, as the first search of a router does.
  void make_collection(SharedMemories& by) { EXPECT_EQ(found(by, "nobody"), 0U); }

  std::unique_ptr<Site> site_;
};

}  // namespace signalbox::shared_memories
