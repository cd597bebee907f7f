// Tests stores of memories whose server loses rows, leaves some out or refuses, and several stores
// that change the same rows. The servers are doubles.

#include <gtest/gtest.h>

#include <atomic>

#include "tests/router/shared_memories/row_sites.h"

namespace signalbox::shared_memories {
namespace {

using memories::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RowTroublesTest : public RowMemoriesTest {};

TEST_P(RowTroublesTest, a_collection_that_is_gone_is_restored_before_it_is_read) {
  const auto one = store({.poll_every = milliseconds(300), .grace = milliseconds(50)});
  add(*one, "ann", "a text", one->moment());
  written(*one);
  const auto search = [&] {
    return one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()).has_value();
  };
  site_->drop();
  EXPECT_FALSE(search());
  // No search makes it anew and finds nothing in it.
  until(search);
  until([&] { return one->shared()->works && one->shared()->waiting == 0; });
  until([&] { return site_->size() == 1; });
  EXPECT_EQ(found(*one, "ann"), 1U);
}

TEST_P(RowTroublesTest, a_purge_removes_nothing_early_from_a_server_that_applies_no_filter) {
  auto between = std::make_unique<Between>(site_->rows(kPatient, false));
  std::atomic<int> purges = 0;
  between->on_query = [&](Rows&, const RowQuery& query) {
    if (query.expires_below_ms > 0) ++purges;
  };
  const auto one = make_row_memories(
      std::move(between), {.poll_every = milliseconds(10), .purge_every = milliseconds(10)});
  until([&] { return one->shared()->works; });
  EXPECT_EQ(found(*one, "ann"), 0U);
  add(*one, "ann", "a text", one->moment());
  written(*one);
  site_->be(Trouble::kMixesUp);
  const int before = purges;
  until([&] { return purges > before + 2; });
  site_->be(Trouble::kNone);
  EXPECT_EQ(count(*one, "ann"), 1U);
}

TEST_P(RowTroublesTest, a_server_that_refuses_a_purge_is_read) {
  auto between = std::make_unique<Between>(site_->rows(kPatient, false));
  std::atomic<int> refused = 0;
  std::atomic<bool> refuses = false;
  between->on_remove = [&]() -> Result<void> {
    if (!refuses) return {};
    ++refused;
    return fail(Code::kUpstream, "it is full");
  };
  const auto one = make_row_memories(
      std::move(between), {.poll_every = milliseconds(10), .purge_every = milliseconds(10)});
  until([&] { return one->shared()->works; });
  add(*one, "ann", "a text", one->moment());
  written(*one);
  refuses = true;
  const Row over = deletion_row(
      {.owner = owner_of("bob"), .id = memories::new_memory_id(), .moment = 1}, 2, 1, 2);
  ASSERT_TRUE(site_->rows(kPatient, false)->upsert({&over, 1}));
  for (int i = 0; i < 3; ++i) {
    const int before = refused;
    until([&] { return refused > before; });
    EXPECT_EQ(found(*one, "ann"), 1U);
  }
}

TEST_P(RowTroublesTest, deletions_by_two_routers_at_a_time_are_both_confirmed) {
  auto between = std::make_unique<Between>(site_->rows(kPatient, false));
  const auto other = store();
  std::atomic<bool> meanwhile = false;
  between->on_remove = [&] {
    const bool is_now = meanwhile.exchange(false);
    EXPECT_TRUE(!is_now || other->forget_all("ann").has_value());
    return Result<void>();
  };
  const auto one = make_row_memories(std::move(between), {.poll_every = milliseconds(20)});
  until([&] { return one->shared()->works; });
  for (const bool deletes_all : {false, true}) {
    const std::string id = add(*one, "ann", "a text", one->moment());
    written(*one);
    ASSERT_EQ(count(*one, "ann"), 1U);
    meanwhile = true;
    EXPECT_TRUE(deletes_all ? one->forget_all("ann").has_value()
                            : one->forget("ann", id).has_value());
    EXPECT_FALSE(meanwhile);
    EXPECT_EQ(count(*one, "ann"), 0U);
    until([&] { return one->moment() == other->moment(); });
  }
}

TEST_P(RowTroublesTest, rows_that_may_be_missing_and_vectors_of_another_length_are_not_used) {
  auto between = std::make_unique<Between>(site_->rows(kPatient, false));
  std::atomic<bool> is_cut = false, is_longer = false;
  between->on_query = [&](Rows& rows, const RowQuery& query) {
    if (is_cut && query.most == kRowsMax) rows.illegible = kRowsMax - rows.rows.size();
    for (Row& row : rows.rows) {
      if (is_longer && query.is_whole) row.record.vector.values.push_back(1);
    }
  };
  const auto one = make_row_memories(std::move(between), {.poll_every = milliseconds(20)});
  until([&] { return one->shared()->works; });
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  is_longer = true;
  EXPECT_EQ(found(*one, "ann"), 0U);
  one->use("ann", std::vector<std::string>{id}, TimePoint::clock::now());
  until([&] { return one->shared()->waiting == 0; });
  EXPECT_EQ(one->shared()->refused, 0U) << "it was not written back";
  is_longer = false;
  EXPECT_EQ(found(*one, "ann"), 1U);
  is_cut = true;
  EXPECT_FALSE(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()));
}

TEST_P(RowTroublesTest, a_router_whose_clock_is_behind_deletes_what_the_other_wrote_and_writes_on) {
  // Their clocks differ by a deletion that is five seconds ahead.
  const auto rows = site_->rows(kPatient, false);
  const auto one = store(), other = store();
  make_collection(*one);
  const uint64_t ahead =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                (TimePoint::clock::now() + seconds(5)).time_since_epoch())
                                .count());
  const Row row =
      deletion_row({.owner = owner_of("bob"), .moment = ahead}, 2, to_ms(TimePoint::clock::now()),
                   to_ms(TimePoint::clock::now() + seconds(1000)));
  ASSERT_TRUE(rows->upsert({&row, 1}));
  until([&] { return one->moment() == ahead; });
  add(*one, "ann", "a text", one->moment());
  written(*one);
  EXPECT_EQ(other->forget_all("ann").value(), 1U) << "it may not have read that deletion yet";
  const uint64_t late = ahead;
  add(*one, "ann", "a late text", late);
  written(*one);
  EXPECT_EQ(count(*other, "ann"), 0U);
  until([&] { return one->moment() > ahead; });
  add(*one, "ann", "a new text", one->moment());
  written(*one);
  EXPECT_EQ(count(*other, "ann"), 1U);
}

INSTANTIATE_TEST_SUITE_P(, RowTroublesTest, testing::Values("milvus", "qdrant"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace signalbox::shared_memories
