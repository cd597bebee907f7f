// Tests the vector stores without HTTP: the store over a folder with an embedder of tests.

#include "router/vector_stores/vector_stores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <thread>

#include "base/file.h"
#include "router/vector_stores/disk_records.h"
#include "router/vector_stores/document_text.h"
#include "router/vector_stores/folder.h"
#include "router/vector_stores/records.h"
#include "tests/router/temporary_directory.h"

namespace signalbox::vector_stores {
namespace {

/// Counts letters, so that texts with the same letters have the same vectors. A stand-in for a
/// model that takes no time; what real models make of texts is tested elsewhere.
class LetterEmbedder final : public engine::TextEmbedder {
 public:
  explicit LetterEmbedder(size_t shift = 0) : shift_(shift) {}
  int32_t dim() const override { return 32; }
  int32_t tokens_max() const override { return 512; }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    if (is_broken) return fail(Code::kUpstream, "the server is away");
    for (size_t t = 0; t < texts.size(); ++t) {
      const auto row = out.subspan(t * 32, 32);
      std::ranges::fill(row, 0.01F);
      for (const char c : texts[t]) row[(static_cast<unsigned char>(c) + shift_) % 32] += 1;
      double squares = 0;
      for (const float x : row) squares += double{x} * x;
      for (float& x : row) x = static_cast<float>(x / std::sqrt(squares));
    }
    embedded += texts.size();
    return {};
  }

  mutable std::atomic<size_t> embedded{0};
  std::atomic<bool> is_broken{false};

 private:
  const size_t shift_;
};

Result<std::unique_ptr<Folder>> open_folder(const std::filesystem::path& path) {
  return Folder::open(path, {"file-sb-", "vs_", "vf_"});
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    out.push_back(each.path().filename().string());
  std::ranges::sort(out);
  return out;
}

Limits small_limits() {
  return {.extensions = readable_extensions()};
}

class Stores : public testing::Test {
 protected:
  void open(const std::string& space = "letters", size_t shift = 0,
            const Limits& limits = small_limits()) {
    stores_.reset();
    reports_.clear();
    auto opened = VectorStores::open(folder_.path(), 2, reports_);
    ASSERT_TRUE(opened) << opened.error().message;
    stores_ = *std::move(opened);
    stores_->set_limits(limits);
    embedder_ = std::make_shared<LetterEmbedder>(shift);
    stores_->set_embedder({space, embedder_});
  }
  std::string add_file(std::string_view owner, std::string_view text, std::string name = "a.txt") {
    const auto file = stores_->add_file(owner, std::move(name), "assistants", text);
    EXPECT_TRUE(file) << file.error().message;
    return file ? file->id : "";
  }
  std::string add_store(std::string_view owner, std::string name = "s") {
    const auto store = stores_->create_store(owner, std::move(name), {});
    EXPECT_TRUE(store) << store.error().message;
    return store ? store->store.id : "";
  }
  void attach(std::string_view owner, const std::string& store, const std::string& file) {
    ASSERT_TRUE(stores_->attach(owner, store, file, {}, {}));
    wait(owner, store);
  }
  void wait(std::string_view owner, const std::string& store) {
    while (stores_->store(owner, store)->figures.entries.in_progress > 0) std::this_thread::yield();
  }
  std::vector<Found> search(std::string_view owner, const std::string& store, std::string text) {
    auto found = stores_->search(owner, {.store = store, .queries = {std::move(text)}}, {});
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : std::vector<Found>();
  }

  test::TemporaryDirectory folder_;
  std::vector<std::string> reports_;
  std::shared_ptr<LetterEmbedder> embedder_;
  std::unique_ptr<VectorStores> stores_;
};

TEST_F(Stores, keep_vectors_of_two_models_apart) {
  open();
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa bbbb");
  attach("ann", store, file);
  EXPECT_GT(search("ann", store, "aaaa bbbb")[0].similarity, 0.99);
  stores_->set_embedder({"other letters", std::make_shared<LetterEmbedder>(5)});
  wait("ann", store);
  EXPECT_GT(search("ann", store, "aaaa bbbb")[0].similarity, 0.99);
  // A vector of the model before is not taken for one of this model.
  std::vector<float> old(32);
  const std::string_view texts[] = {"zzzz"};
  ASSERT_TRUE(embedder_->embed(texts, old));
  Search with_vector{.store = store, .queries = {"aaaa bbbb"}};
  with_vector.vector = old;
  with_vector.vector_space = "letters";
  EXPECT_GT((*stores_->search("ann", with_vector, {}))[0].similarity, 0.99);
  with_vector.vector_space = "other letters";
  EXPECT_LT((*stores_->search("ann", with_vector, {}))[0].similarity, 0.9);
}

TEST_F(Stores, find_exact_words_until_they_are_deleted) {
  open();
  const std::string store = add_store("ann");
  const std::string seal = add_file("ann", "zzzz zzzz X-4711", "seal.txt");
  attach("ann", store, seal);
  for (int i = 0; i < 12; ++i) attach("ann", store, add_file("ann", "pump pump pump"));
  const word_search::Hybrid ranks = word_search::ranks();
  Search search{.store = store, .queries = {"the pump", "pump 4711"}, .most = 3};
  const auto names = [&] {
    std::vector<std::string> out;
    const auto found = stores_->search("ann", search, {});
    for (const Found& each : *found) out.push_back(each.file_name);
    return out;
  };
  const std::vector<std::string> pumps(3, "a.txt");
  EXPECT_EQ(names(), pumps);
  search.hybrid = &ranks;
  EXPECT_EQ(names()[0], "seal.txt");
  search.similarity_min = 0.99;
  EXPECT_EQ(names(), std::vector<std::string>{"seal.txt"});
  open();
  EXPECT_EQ(names(), std::vector<std::string>{"seal.txt"});
  ASSERT_TRUE(stores_->remove_file("ann", seal));
  EXPECT_EQ(names(), std::vector<std::string>());
}

TEST_F(Stores, embed_nothing_anew_after_a_restart) {
  open();
  const std::string store = add_store("ann");
  attach("ann", store, add_file("ann", "aaaa bbbb"));
  attach("ann", store, add_file("ann", "cccc dddd", "b.txt"));
  open();
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(embedder_->embedded, 0U);
  EXPECT_EQ(search("ann", store, "cccc dddd")[0].file_name, "b.txt");
  open("another model", 3);
  wait("ann", store);
  EXPECT_GE(embedder_->embedded, 2U);
}

TEST_F(Stores, wait_for_a_model) {
  open();
  stores_->set_embedder({});
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa");
  ASSERT_TRUE(stores_->attach("ann", store, file, {}, {}));
  EXPECT_EQ(stores_->search("ann", {.store = store, .queries = {"a"}}, {}).error().code,
            Code::kUpstream);
  EXPECT_EQ(stores_->store("ann", store)->figures.entries.in_progress, 1U);
  stores_->set_embedder({"letters", embedder_});
  wait("ann", store);
  EXPECT_EQ(search("ann", store, "aaaa").size(), 1U);
}

TEST_F(Stores, end_while_a_server_is_away) {
  open();
  embedder_->is_broken = true;
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa");
  ASSERT_TRUE(stores_->attach("ann", store, file, {}, {}));
  open();
  wait("ann", store);
  EXPECT_EQ(stores_->store("ann", store)->figures.entries.completed, 1U);
}

TEST_F(Stores, cancel_what_is_left_of_a_batch) {
  open();
  const std::string store = add_store("ann");
  const auto add_batch = [&](std::string_view text) {
    const auto made = stores_->attach_batch("ann", store, {{add_file("ann", text)}});
    EXPECT_TRUE(made) << made.error().message;
    return made->front();
  };
  const auto status_of = [&](const Entry& entry) {
    return name_of(stores_->entry("ann", store, entry.file)->status);
  };
  const Entry done = add_batch("aaaa");
  wait("ann", store);
  embedder_->is_broken = true;
  const Entry open_one = add_batch("bbbb");
  for (const Entry& each : {done, open_one})
    ASSERT_TRUE(stores_->cancel_batch("ann", store, each.batch));
  EXPECT_EQ(stores_->store("ann", store)->figures.entries.cancelled, 1U);
  const auto still = [&](std::string_view done_status) {
    EXPECT_EQ(status_of(done), done_status);
    EXPECT_EQ(status_of(open_one), "cancelled");
  };
  still("completed");
  const auto other = std::make_shared<LetterEmbedder>(3);
  other->is_broken = true;
  stores_->set_embedder({"other", other});
  still("in_progress");
  ASSERT_TRUE(stores_->cancel_batch("ann", store, done.batch)) << "it is embedded anew only";
  still("in_progress");
  open();
  wait("ann", store);
  still("completed");
  attach("ann", store, open_one.file);
  EXPECT_EQ(status_of(open_one), "completed");
}

TEST_F(Stores, deleted_files_free_their_space) {
  open();
  EXPECT_EQ(stores_->size().bytes, 0U);
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa bbbb");
  attach("ann", store, file);
  attach("ann", store, file);  // replaces the entry
  EXPECT_EQ(stores_->size().entries.completed, 1U);
  EXPECT_GT(stores_->size().bytes, 3 * 4096U);
  ASSERT_TRUE(stores_->remove_file("ann", file));
  ASSERT_TRUE(stores_->remove_store("ann", store));
  EXPECT_EQ(stores_->size().bytes, 0U);
  EXPECT_EQ(stores_->size().entries.completed, 0U);
  EXPECT_TRUE(open_folder(folder_.path()).error().message.ends_with("another process uses it"));
  stores_.reset();
  EXPECT_TRUE((*(*open_folder(folder_.path()))->list()).empty());
}

TEST_F(Stores, fail_a_file_that_does_not_fit) {
  open();
  Limits limits = small_limits();
  limits.store_chunks = 3;
  stores_->set_limits(limits);
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Some words stand here. ";
  const std::string store = add_store("ann"), file = add_file("ann", text);
  ASSERT_TRUE(stores_->attach("ann", store, file, {100, 0}, {}));
  wait("ann", store);
  EXPECT_EQ(stores_->entry("ann", store, file)->status, Status::kFailed);
  open();
  EXPECT_EQ(stores_->entry("ann", store, file)->status, Status::kFailed);
  EXPECT_EQ(stores_->entry("ann", store, file)->error, "the file has more than 3 chunks");
}

TEST_F(Stores, find_operators_stores_by_name) {
  open();
  const std::string mine = add_store("ann", "library"), first = add_store(kOperator, "library"),
                    second = add_store(kOperator, "library");
  attach(kOperator, first, add_file(kOperator, "aaaa"));
  attach(kOperator, second, add_file(kOperator, "bbbb"));
  attach("ann", mine, add_file("ann", "cccc"));
  EXPECT_EQ(search(kOperator, "library", "x")[0].text, "aaaa");
  EXPECT_EQ(search(kOperator, second, "x")[0].text, "bbbb");
  EXPECT_EQ(stores_->search("ann", {.store = "library", .queries = {"x"}}, {}).error().code,
            Code::kNotFound);
  EXPECT_EQ(stores_->search(kOperator, {.store = mine, .queries = {"x"}}, {}).error().code,
            Code::kNotFound);
}

TEST_F(Stores, inconsistent_records_are_left_out) {
  open();
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa");
  attach("ann", store, file);
  const std::string second = add_file("ann", "bbbb", "b.txt");
  stores_.reset();
  const auto write_entry = [&](std::string id, uint64_t number) {
    Entry entry{std::move(id), store, second};
    entry.number = number;
    ASSERT_TRUE(write_file(folder_.path() / (entry.id + ".entry"), write_record(entry)));
  };
  write_entry("vf_far", uint64_t{1} << 45);  // the id of its vectors would be another entry's
  for (uint64_t number = 1; number < 5; ++number) write_entry(fmt::format("vf_{}", number), number);
  open();
  wait("ann", store);
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_NE(reports_[0].find("vf_far.entry: number: missing, of another type or out of range"),
            std::string::npos);
  EXPECT_EQ(search("ann", store, "bbbb").size(), 2U);
  EXPECT_EQ(search("ann", store, "bbbb")[0].text, "bbbb");
  EXPECT_EQ(search("ann", store, "aaaa")[0].text, "aaaa");
  ASSERT_TRUE(stores_->remove_store("ann", store));
}

TEST_F(Stores, refuse_records_of_impossible_files) {
  File file{"file-sb-1", "ann", "a.txt", "assistants"};
  file.bytes = uint64_t{1} << 40;
  EXPECT_FALSE(read_file_record(write_record(file)));
}

TEST_F(Stores, leave_files_of_others_alone) {
  const test::TemporaryDirectory elsewhere;
  const auto foreign = elsewhere.path() / "foreign";
  ASSERT_TRUE(write_file(foreign, write_record(Store{"vs_link", "ann", "mine"})));
  std::filesystem::create_symlink(foreign, folder_.path() / "vs_link.store");
  std::filesystem::create_symlink("nowhere", folder_.path() / "file-sb-x.file");
  for (const char* name : {"movie.partial", "drawing.vectors", "vf_old.vectors", "vs_a.partial"})
    ASSERT_TRUE(write_file(folder_.path() / name, "bytes"));
  open();
  EXPECT_TRUE(stores_->stores("ann").empty());
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"drawing.vectors", "file-sb-x.file",
                                                                "movie.partial", "vs_link.store"}));
}

TEST_F(Stores, keep_nothing_of_a_change_that_failed) {
  open();
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa");
  attach("ann", store, file);
  // The record that is to be replaced cannot be removed, because it is a folder now.
  for (const std::string& name : names_in(folder_.path())) {
    if (!name.ends_with(".entry")) continue;
    std::filesystem::remove(folder_.path() / name);
    std::filesystem::create_directory(folder_.path() / name);
  }
  const auto before = names_in(folder_.path());
  EXPECT_EQ(stores_->attach("ann", store, file, {}, {}).error().code, Code::kIo);
  EXPECT_EQ(names_in(folder_.path()), before);
}

TEST_F(Stores, abandoned_searches_end) {
  open();
  const std::string store = add_store("ann");
  attach("ann", store, add_file("ann", "aaaa"));
  const Search wanted{.store = store, .queries = {"aaaa"}};
  std::stop_source given_up;
  given_up.request_stop();
  EXPECT_EQ(stores_->search("ann", wanted, {.stop = given_up.get_token()}).error().code,
            Code::kCancelled);
  const auto passed = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(stores_->search("ann", wanted, {.deadline = passed}).error().code, Code::kDeadline);
  EXPECT_TRUE(stores_->search("ann", wanted, {}));
}

TEST_F(Stores, files_without_room_are_not_embedded) {
  open();
  Limits limits = small_limits();
  limits.owner_bytes = 16'384;
  stores_->set_limits(limits);
  const std::string store = add_store("ann"), file = add_file("ann", std::string(3'000, 'a'));
  ASSERT_TRUE(stores_->attach("ann", store, file, {100, 50}, {}));
  wait("ann", store);
  EXPECT_EQ(stores_->entry("ann", store, file)->error,
            "the files and stores of an owner may have 16384 bytes");
  EXPECT_EQ(embedder_->embedded, 0U);
}

// As after an upgrade that counts more for each file.
TEST_F(Stores, keep_at_a_start_what_exceeds_a_bound_of_bytes) {
  open();
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa bbbb");
  attach("ann", store, file);
  Limits limits = small_limits();
  for (uint64_t* const bound : {&limits.owner_bytes, &limits.bytes}) {
    *bound = stores_->size().bytes - 1;
    open("letters", 0, limits);
    wait("ann", store);
    EXPECT_EQ(stores_->entry("ann", store, file)->status, Status::kCompleted);
    EXPECT_EQ(search("ann", store, "aaaa").size(), 1U);
    EXPECT_EQ(embedder_->embedded, 1U);  // the query
    EXPECT_EQ(stores_->add_file("ann", "b.txt", "assistants", "b").error().code, Code::kTooLarge);
    limits = small_limits();
  }
}

TEST_F(Stores, embed_a_lost_file_after_it_is_restored) {
  open();
  stores_->set_embedder({});
  const std::string store = add_store("ann"), file = add_file("ann", "aaaa");
  const auto path = folder_.path() / (file + ".file");
  ASSERT_TRUE(stores_->attach("ann", store, file, {}, {}));
  const std::string whole = *read_file(path, 10'000);
  std::filesystem::remove(path);
  stores_->set_embedder({"letters", embedder_});
  wait("ann", store);
  const std::string error = stores_->entry("ann", store, file)->error;
  EXPECT_NE(error.find("missing"), std::string::npos);
  EXPECT_EQ(error.find(folder_.path().string()), std::string::npos);  // it goes to the client
  EXPECT_EQ(stores_->content("ann", file).error().code, Code::kCorrupt);
  ASSERT_TRUE(write_file(path, whole));
  open();
  wait("ann", store);
  EXPECT_EQ(search("ann", store, "aaaa").size(), 1U);
}

TEST_F(Stores, give_up_their_files_when_they_expire) {
  constexpr int64_t kDay = 24 * 60 * 60;
  open();
  const std::string file = add_file("ann", "aaaa bbbb");
  const auto made = stores_->create_store("ann", "s", {}, 3);
  ASSERT_TRUE(made);
  const std::string store = made->store.id, other = add_store("ann");
  attach("ann", store, file);
  attach("ann", other, file);
  const int64_t expiry = expiry_of(stores_->store("ann", store)->store);
  EXPECT_GE(expiry, made->store.created + 3 * kDay);
  stores_->expire(expiry - 1);
  EXPECT_EQ(search("ann", store, "aaaa").size(), 1u);
  stores_->expire(expiry + kDay);  // the search was at most a day later
  const auto empty = stores_->store("ann", store);
  EXPECT_TRUE(empty->is_expired);
  EXPECT_EQ(empty->figures.entries.completed, 0u);
  EXPECT_EQ(stores_->search("ann", {.store = store, .queries = {"aaaa"}}, {}).error().message,
            fmt::format("the vector store \"{}\" has expired", store));
  EXPECT_EQ(stores_->attach("ann", store, file, {}, {}).error().code, Code::kNotFound);
  EXPECT_EQ(search("ann", other, "aaaa").size(), 1u);
  EXPECT_TRUE(stores_->content("ann", file));
  open();  // it stays expired
  EXPECT_TRUE(stores_->store("ann", store)->is_expired);
  EXPECT_TRUE(stores_->remove_store("ann", store));
}

TEST_F(Stores, take_up_a_batch_as_a_whole) {
  open();
  const std::string store = add_store("ann"), a = add_file("ann", "aaaa"),
                    b = add_file("ann", "bbbb", "b.txt"), foreign = add_file("bob", "cccc");
  const auto batch = stores_->attach_batch("ann", store, {{a}, {b, {200, 50}, {{"k", true}}}});
  ASSERT_TRUE(batch) << batch.error().message;
  wait("ann", store);
  const std::string id = batch->front().batch;
  const auto entry = stores_->entry("ann", store, b);
  EXPECT_EQ(entry->batch, id);
  EXPECT_EQ(entry->attributes, (Attributes{{"k", true}}));
  EXPECT_EQ(stores_->attach_batch("ann", add_store("ann"), {{a}, {foreign}}).error().code,
            Code::kNotFound);
  EXPECT_EQ(stores_->size().entries.completed, 2u);
  open();
  EXPECT_EQ(stores_->entry("ann", store, a)->batch, id);
}

TEST_F(Stores, keep_an_attached_file_when_a_batch_with_it_does_not_fit) {
  open();
  const std::string store = add_store("ann"), a = add_file("ann", "aaaa"),
                    b = add_file("ann", "bbbb", "b.txt"), c = add_file("ann", "cccc", "c.txt");
  ASSERT_TRUE(stores_->attach("ann", store, a, {}, {{"k", true}}));
  wait("ann", store);
  Limits limits = small_limits();
  limits.owner_bytes = stores_->size().bytes + 8191;  // one record and no second one
  stores_->set_limits(limits);
  EXPECT_EQ(stores_->attach_batch("ann", store, {{a}, {b}, {c}}).error().code, Code::kTooLarge);
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(stores_->entries("ann", store)->size(), 1u);
    const auto kept = stores_->entry("ann", store, a);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(kept->attributes, (Attributes{{"k", true}}));
    open();
  }
}

TEST_F(Stores, keep_their_last_use_at_an_orderly_end) {
  open();
  const auto made = stores_->create_store("ann", "s", {}, 1);
  ASSERT_TRUE(made);
  stores_.reset();
  Store aged = made->store;
  aged.last_active -= 3600;
  {
    const DiskRecords disk(*open_folder(folder_.path()));
    ASSERT_TRUE(disk.write(aged));
  }
  open();
  EXPECT_EQ(stores_->store("ann", aged.id)->store.last_active, aged.last_active);
  search("ann", aged.id, "aaaa");
  open();
  EXPECT_GE(stores_->store("ann", aged.id)->store.last_active, made->store.last_active);
}

TEST_F(Stores, prefer_a_store_of_the_same_name_that_has_not_expired) {
  open();
  const auto first = stores_->create_store(kOperator, "library", {}, 1);
  ASSERT_TRUE(first);
  const std::string second = add_store(kOperator, "library");
  attach(kOperator, second, add_file(kOperator, "bbbb"));
  stores_->expire(expiry_of(first->store));
  EXPECT_EQ(search(kOperator, "library", "bbbb").size(), 1u);
  ASSERT_TRUE(stores_->remove_store(kOperator, second));
  EXPECT_EQ(stores_->search(kOperator, {.store = "library", .queries = {"x"}}, {}).error().message,
            "the vector store \"library\" has expired");
}

TEST_F(Stores, a_search_skips_an_expired_store_of_the_same_name) {
  open();
  const auto first = stores_->create_store(kOperator, "library", {}, 1);
  ASSERT_TRUE(first);
  const std::string second = add_store(kOperator, "library");
  attach(kOperator, second, add_file(kOperator, "bbbb"));
  stores_.reset();
  Store aged = first->store;
  aged.last_active = 1;
  {
    const DiskRecords disk(*open_folder(folder_.path()));
    ASSERT_TRUE(disk.write(aged));
  }
  // No sweep empties it, because its record cannot be written.
  std::filesystem::create_directory(folder_.path() / (aged.id + ".store.partial"));
  open();
  EXPECT_EQ(search(kOperator, "library", "bbbb").size(), 1u);
  ASSERT_TRUE(stores_->remove_store(kOperator, second));
  EXPECT_EQ(stores_->search(kOperator, {.store = "library", .queries = {"x"}}, {}).error().message,
            "the vector store \"library\" has expired");
}

TEST_F(Stores, remove_all_of_one_owner) {
  open();
  const std::string mine = add_store("ann"), other = add_store("bob");
  attach("ann", mine, add_file("ann", "aaaa"));
  attach("bob", other, add_file("bob", "aaaa"));
  add_file("ann", "not in a store");
  const auto removed = stores_->remove_all("ann");
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->files, 2U);
  EXPECT_EQ(removed->stores, 1U);
  EXPECT_TRUE(stores_->files("ann").empty());
  EXPECT_EQ(search("bob", other, "aaaa").size(), 1U);
  EXPECT_EQ(names_in(folder_.path()).size(), 4U);
}

TEST_F(Stores, serve_many_threads) {
  open();
  std::vector<std::future<void>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(std::async(std::launch::async, [this, t] {
      const std::string owner = fmt::format("user {}", t % 2);
      for (int i = 0; i < 8; ++i) {
        const std::string store = add_store(owner), file = add_file(owner, "aaaa bbbb cccc");
        ASSERT_TRUE(stores_->attach(owner, store, file, {}, {}));
        if (i % 4 == 1) stores_->set_embedder({fmt::format("model {}", t), embedder_});
        if (i % 2 == 0) {
          ASSERT_TRUE(stores_->remove_file(owner, file));
        }
        search(owner, store, "aaaa");
        ASSERT_TRUE(stores_->remove_store(owner, store));
        if (i % 2 == 1) {
          ASSERT_TRUE(stores_->remove_file(owner, file));
        }
      }
    }));
  }
  for (auto& each : threads) each.get();
  EXPECT_EQ(stores_->size().bytes, 0U);
  stores_.reset();  // a thread that found its entry gone has removed its vectors by then
  EXPECT_TRUE((*(*open_folder(folder_.path()))->list()).empty());
}

}  // namespace
}  // namespace signalbox::vector_stores
