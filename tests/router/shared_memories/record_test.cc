// Tests the bytes of memories in Redis, which any program may have written, and what a router
// remembers in case Redis loses them.

#include "router/shared_memories/record.h"

#include <gtest/gtest.h>

#include <limits>

#include "router/shared_memories/journal.h"

namespace signalbox::shared_memories {
namespace {

const memories::TimePoint kCreated = from_ms(1'790'000'000'123);
const std::string kId = "mem_00112233445566778899aabbccddeeff";

Record record_of(std::string text, std::vector<float> values = {0.5F, -1.0F}) {
  return {.owner = owner_of("ann"),
          .memory = {.text = std::move(text), .answer = "", .masked_by = "m", .created = kCreated},
          .vector = {"model 2", std::move(values)}};
}

TEST(MemoryRecord, is_read_as_it_was_written) {
  for (const std::string& text :
       {std::string(), std::string("a\0\xff", 3), std::string(9000, 'x')}) {
    const Record record = record_of(text);
    const auto read = read_record(write_record(record));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->owner, record.owner);
    EXPECT_EQ(read->memory.text, text);
    EXPECT_EQ(read->memory.answer, "");
    EXPECT_EQ(read->memory.masked_by, "m");
    EXPECT_EQ(read->memory.created, kCreated);
    EXPECT_EQ(read->vector.model, "model 2");
    EXPECT_EQ(read->vector.values, record.vector.values);
  }
}

TEST(MemoryRecord, is_refused_with_a_byte_too_few_or_too_many) {
  const std::string bytes = write_record(record_of("text"));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_record(bytes.substr(0, size))) << size;
  EXPECT_FALSE(read_record(bytes + "x"));
  EXPECT_FALSE(read_record("SBM2" + bytes.substr(4)));
  EXPECT_FALSE(read_record(bytes + std::string(kRecordBytesMax, 'x')));
}

TEST(MemoryRecord, is_refused_with_impossible_lengths_or_vectors) {
  const std::string bytes = write_record(record_of("text"));
  for (size_t at = 4; at < 36; ++at) {  // the time, the number of values and the lengths
    std::string hostile = bytes;
    hostile[at] = '\xff';
    EXPECT_EQ(read_record(hostile).has_value(), at < 9) << at;
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& values :
       {std::vector<float>{}, {0, 0}, {1, kNan}, {kInfinity, 1}, std::vector<float>(20'000, 1)})
    EXPECT_FALSE(read_record(write_record(record_of("text", values)))) << values.size();
}

TEST(MemoryEntry, is_read_as_it_was_written_and_other_bytes_are_refused) {
  const IndexEntry entry{.created = kCreated,
                         .used = kCreated + std::chrono::seconds(1),
                         .uses = 3,
                         .digest = digest_of("text"),
                         .moment = 1'790'000'000'000'000};
  const std::string bytes = write_entry(entry);
  const auto read = read_entry(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, entry);
  for (const std::string& hostile :
       {std::string(), std::string("1"), std::string("1 2 3"), bytes + " ", bytes + "x",
        " " + bytes, "-" + bytes, "0" + bytes, bytes.substr(0, bytes.rfind(' ')),
        std::string("1 2 4294967296 0123456789abcdef 0"), std::string("1 2 3 0123456789ABCDEF 0"),
        std::string("1 2 3 0123456789abcde 0"), std::string("1 2 3 0123456789abcdef -1"),
        std::string("8000000000001 2 3 0123456789abcdef 1"),
        std::string("1 2 3 0123456789abcdef 9007199254740993")})
    EXPECT_FALSE(read_entry(hostile)) << hostile;
}

TEST(MemoryId, has_one_form) {
  EXPECT_TRUE(is_memory_id(kId));
  EXPECT_TRUE(is_memory_id(memories::new_memory_id()));
  for (const std::string& other :
       {std::string(), std::string("mem_"), kId + "0", "x" + kId, kId.substr(0, 35) + "G",
        std::string("mem_../../../../../../../../../x")})
    EXPECT_FALSE(is_memory_id(other)) << other;
}

// --- the journal ---

WrittenPointer written(const std::string& owner, uint64_t moment, size_t bytes = 10) {
  return std::make_shared<const Written>(Written{.owner = owner,
                                                 .id = memories::new_memory_id(),
                                                 .entry = {.moment = moment},
                                                 .record = std::string(bytes, 'x')});
}

TEST(MemoryJournal, forgets_deleted_memories_and_does_not_learn_them_again) {
  Journal journal(1 << 20);
  const auto one = written("ann", 5), two = written("ann", 8), other = written("bob", 5);
  for (const auto& each : {one, two, other}) journal.add(each);
  EXPECT_TRUE(journal.learn({"bob", other->id}, 0));
  EXPECT_FALSE(journal.learn({"bob", other->id}, 0));
  EXPECT_TRUE(journal.learn({"ann", "", 7}, 0));
  EXPECT_EQ(journal.memories(), std::vector<WrittenPointer>{two});
  EXPECT_TRUE(journal.is_deleted("ann", one->id, 5));
  EXPECT_FALSE(journal.is_deleted("ann", two->id, 8));
  // The write was under way when the deletion was learnt.
  for (const auto& each : {one, other}) journal.add(each);
  EXPECT_EQ(journal.memories(), std::vector<WrittenPointer>{two});
}

TEST(MemoryJournal, an_older_deletion_does_not_hide_a_newer_one) {
  Journal journal(1 << 20);
  journal.learn({"ann", "", 9}, 0);
  journal.learn({"ann", "", 4}, 0);
  EXPECT_TRUE(journal.is_deleted("ann", kId, 8));
}

TEST(MemoryJournal, stays_within_its_size_and_keeps_the_newest) {
  const auto first = written("ann", 1, 1000), second = written("ann", 1, 1000),
             third = written("ann", 1, 1000);
  Journal journal(2 * first->bytes());
  for (const auto& each : {first, second, third}) journal.add(each);
  EXPECT_EQ(journal.memories(), (std::vector<WrittenPointer>{second, third}));
}

TEST(MemoryJournal, reads_the_names_of_deletions) {
  const std::string owner = owner_of("ann");
  for (const Deletion& each : {Deletion{owner, kId}, Deletion{owner, "", 1'790'000'000'000'000}}) {
    const Deletion read = read_deletion(each.name());
    EXPECT_EQ(read.owner, each.owner);
    EXPECT_EQ(read.id, each.id);
    EXPECT_EQ(read.moment, each.moment);
  }
  for (const char* hostile :
       {"", " ", " 0", " x", " 5x", " mem_1", " 9007199254740993", " 18446744073709551615"})
    EXPECT_EQ(read_deletion(owner + hostile).owner, "") << hostile;
  for (const std::string& hostile :
       {std::string("ann"), std::string(), owner + "0", std::string(1 << 20, 'a')})
    EXPECT_EQ(read_deletion(hostile + " 5").owner, "") << hostile.size();
}

}  // namespace
}  // namespace signalbox::shared_memories
