// The memories of the process. A user's number is that user's partition of the vector index, and no
// number is given twice, so that a search cannot reach another user's vectors. The vectors of each
// embedding model have an index of their own; after a change of the model, older memories are
// listed and deleted, but not found.

#include "router/memories/local_memories.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <unordered_map>

#include "base/recently_used.h"
#include "router/vector_index/index.h"
#include "router/word_search/text_words.h"

namespace signalbox::memories {
namespace {

using vector_index::VectorIndex;
/// Shared by the memory and the searches in progress.
using Words = std::shared_ptr<const word_search::TextWords>;

/// The sizes of a memory beside its texts, and of a user, whose part of an index has a generator of
/// its own. Both were measured with 768 values a vector.
constexpr size_t kOverheadBytes = 1024;
constexpr size_t kUserBytes = 3072;
/// The users whose last forget_all() is remembered. Only requests in progress need it.
constexpr size_t kForgettersMax = 100'000;
constexpr size_t kForgettersBytesMax = size_t{16} << 20;  // of their names

std::string text_of(const Memory& memory) {
  return memory.text + "\n" + memory.answer;
}

Words words_of(const Memory& memory) {
  const std::string both = text_of(memory);
  const std::string_view texts[] = {both};
  return std::make_shared<const word_search::TextWords>(texts);
}

Result<std::vector<word_search::WordHit>> find_words(std::span<const Words> of,
                                                     const WordQuery& query, size_t most) {
  std::vector<const word_search::TextWords*> lists;
  for (const Words& each : of) lists.push_back(each.get());
  const std::string_view texts[] = {query.text};
  return word_search::find_words(lists, word_search::query_terms(texts), query.hybrid.bm25, most,
                                 []() -> Result<void> { return {}; });
}

/// Orders the memories by both searches, the best first. `scores` are those of the search by words,
/// (found).
void rank(std::vector<Found>& found, std::span<const double> scores, const WordQuery& query) {
  std::vector<std::string> texts;
  for (const Found& each : found) texts.push_back(text_of(each.memory));
  std::vector<word_search::Candidate> candidates;
  for (size_t i = 0; i < found.size(); ++i)
    candidates.push_back({texts[i], found[i].similarity, scores[i]});
  const auto joined = word_search::scores_of(candidates, query.text, query.hybrid);
  for (size_t i = 0; i < found.size(); ++i) found[i].similarity = joined[i];
  std::ranges::stable_sort(found, std::greater<>(), &Found::similarity);
}

double days_between(TimePoint from, TimePoint to) {
  return std::max(0.0, std::chrono::duration<double, std::ratio<86'400>>(to - from).count());
}

}  // namespace

struct LocalMemories::Impl {
  struct User;
  struct Row {
    Memory memory;
    uint64_t number = 0;
    User* user = nullptr;
    std::string model;      // of its vector
    Words words = nullptr;  // null: not made yet
    size_t bytes = 0;
    std::list<Row*>::iterator place;  // in by_use
  };
  struct User {
    std::string name;
    uint64_t number = 0;
    std::map<std::string, std::unique_ptr<Row>, std::less<>> rows;  // by id
    std::map<std::string_view, Row*> by_text;                       // views into the rows
  };

  mutable std::mutex mutex;
  MemoryLimits limits;
  std::map<std::string, User, std::less<>> users;
  std::map<std::string, std::unique_ptr<VectorIndex>, std::less<>> indices;  // by model
  std::unordered_map<uint64_t, Row*> rows;
  std::list<Row*> by_use;  // the one used last is first
  uint64_t bytes = 0;
  uint64_t next_number = 1;
  uint64_t moment = 0;
  // The moment of a user's last forget_all().
  RecentlyUsed<uint64_t> forgetters{kForgettersMax, kForgettersBytesMax};

  double retention(const Memory& memory, TimePoint now) const {
    return std::exp(-days_between(memory.used, now) / (limits.strength_days + memory.uses));
  }
  bool is_over(const Memory& memory, TimePoint now) const {
    return retention(memory, now) < limits.retention_min;
  }

  User* find_user(std::string_view name) {
    const auto found = users.find(name);
    return found == users.end() ? nullptr : &found->second;
  }

  Row* find_row(std::string_view user, std::string_view id) {
    User* const owner = find_user(user);
    if (owner == nullptr) return nullptr;
    const auto found = owner->rows.find(id);
    return found == owner->rows.end() ? nullptr : found->second.get();
  }

  // Also removes the user after the last memory.
  void remove(Row* row) {
    const auto index = indices.find(row->model);
    if (index != indices.end()) {
      index->second->remove(row->number);
      if (index->second->size() == 0) indices.erase(index);
    }
    rows.erase(row->number);
    by_use.erase(row->place);
    bytes -= row->bytes;
    User& user = *row->user;
    const auto same = user.by_text.find(row->memory.text);
    if (same != user.by_text.end() && same->second == row) user.by_text.erase(same);
    const std::string id = row->memory.id;
    user.rows.erase(id);
    if (!user.rows.empty()) return;
    users.erase(std::string(user.name));
    bytes -= kUserBytes;
  }

  void remove_over(std::string_view user, TimePoint now) {
    const User* const owner = find_user(user);
    if (owner == nullptr) return;
    std::vector<Row*> over;
    for (const auto& [id, row] : owner->rows) {
      if (is_over(row->memory, now)) over.push_back(row.get());
    }
    for (Row* const row : over) remove(row);
  }

  // Removes more than one memory of the user if a reload has lowered the limit.
  void remove_weakest(const User& user, TimePoint now) {
    std::vector<std::pair<double, Row*>> rows_by_strength;
    for (const auto& [id, row] : user.rows)
      rows_by_strength.emplace_back(retention(row->memory, now), row.get());
    const size_t excess = user.rows.size() - (limits.of_user - 1);
    const auto end = rows_by_strength.begin() + static_cast<ptrdiff_t>(excess);
    std::ranges::nth_element(rows_by_strength, end - 1);
    for (auto each = rows_by_strength.begin(); each != end; ++each) remove(each->second);
  }

  void make_room(std::string_view user, size_t more, TimePoint now) {
    const User* const owner = find_user(user);
    if (owner != nullptr && owner->rows.size() >= limits.of_user) remove_weakest(*owner, now);
    while (!by_use.empty() && (rows.size() >= limits.total || bytes + more > limits.bytes ||
                               is_over(by_use.back()->memory, now)))
      remove(by_use.back());
  }

  void remove_same(std::string_view user, std::string_view text) {
    User* const owner = find_user(user);
    if (owner == nullptr) return;
    const auto same = owner->by_text.find(text);
    if (same != owner->by_text.end()) remove(same->second);
  }

  Result<VectorIndex*> index_of(const Vector& vector) {
    const auto found = indices.find(vector.model);
    if (found != indices.end()) return found->second.get();
    SIGNALBOX_TRY(auto made,
                  VectorIndex::create({.dim = static_cast<int32_t>(vector.values.size())}));
    return indices.emplace(vector.model, std::move(made)).first->second.get();
  }

  /// The size without the words of the memory.
  static size_t bytes_of(std::string_view user, const Memory& memory, const Vector& vector) {
    return memory.text.size() + memory.answer.size() + memory.masked_by.size() + user.size() +
           vector.values.size() + kOverheadBytes;
  }
  /// Null if the store keeps no words.
  Words kept_words(const Memory& memory) const {
    return limits.keeps_words ? words_of(memory) : nullptr;
  }
  static size_t bytes_of(const Words& words) { return words == nullptr ? 0 : words->bytes(); }
  /// `words` may be null.
  Result<void> check_size(std::string_view user, const Memory& memory, const Vector& vector,
                          const Words& words) const {
    // The largest size: that of the first memory of a user.
    const size_t most = bytes_of(user, memory, vector) + kUserBytes + bytes_of(words);
    if (most <= limits.bytes) return {};
    return fail(Code::kTooLarge, "a memory of {} bytes, where all may have {}", most, limits.bytes);
  }

  Result<void> insert(std::string_view user, Memory memory, const Vector& vector, Words words,
                      TimePoint now) {
    const size_t of_row = bytes_of(user, memory, vector) + bytes_of(words);
    const size_t most = of_row + kUserBytes;
    make_room(user, most, now);
    SIGNALBOX_TRY(VectorIndex* const index, index_of(vector));
    auto& owner = users[std::string(user)];
    if (owner.rows.empty()) {
      owner.name = user;
      owner.number = next_number++;
    }
    auto row = std::make_unique<Row>();
    row->number = next_number++;
    auto added = index->add(row->number, owner.number, vector.values);
    if (!added) {
      if (owner.rows.empty()) users.erase(users.find(user));
      if (index->size() == 0) indices.erase(indices.find(vector.model));
      return tl::unexpected<Error>(std::move(added).error());
    }
    row->memory = std::move(memory);
    row->user = &owner;
    row->model = vector.model;
    row->words = std::move(words);
    row->bytes = of_row;
    by_use.push_front(row.get());
    row->place = by_use.begin();
    bytes += owner.rows.empty() ? most : of_row;
    rows[row->number] = row.get();
    owner.by_text.emplace(row->memory.text, row.get());
    std::string id = row->memory.id;
    owner.rows.emplace(std::move(id), std::move(row));
    return {};
  }

  /// A memory that a search looks at.
  struct Candidate {
    uint64_t number;  // of its row
    double cosine;
    bool is_found;  // it is similar enough, or has a distinctive word
    double words = 0;
  };

  Result<std::vector<Candidate>> nearest(const User& user, const VectorIndex& index,
                                         const Vector& vector, size_t most,
                                         double similarity_min) const {
    SIGNALBOX_TRY(const auto hits, index.search(user.number, vector.values, most));
    std::vector<Candidate> out;
    for (const vector_index::Hit& hit : hits)
      out.push_back({hit.id, hit.cosine, hit.cosine >= similarity_min});
    return out;
  }

  /// The words of a user's memories whose vectors are of that model.
  struct WordLists {
    std::vector<uint64_t> numbers;  // of the rows
    std::vector<Words> words;       // null until make_missing()
    /// Places in `words` without words, with their memories, which were added before a reload
    /// enabled words.
    std::vector<std::pair<size_t, Memory>> missing;

    /// Takes long for many memories.
    void make_missing() {
      for (const auto& [place, memory] : missing) words[place] = words_of(memory);
    }
  };
  static WordLists words_of_user(const User& user, std::string_view model) {
    WordLists out;
    for (const auto& [id, row] : user.rows) {
      if (row->model != model) continue;
      if (row->words == nullptr) out.missing.emplace_back(out.words.size(), row->memory);
      out.numbers.push_back(row->number);
      out.words.push_back(row->words);
    }
    return out;
  }
  /// Keeps the words that were missing, even if they exceed the bound of all memories.
  void keep(const WordLists& lists) {
    for (const auto& [place, memory] : lists.missing) {
      const auto row = rows.find(lists.numbers[place]);
      if (row == rows.end() || row->second->words != nullptr) continue;
      row->second->words = lists.words[place];
      row->second->bytes += bytes_of(lists.words[place]);
      bytes += bytes_of(lists.words[place]);
    }
    while (!lists.missing.empty() && bytes > limits.bytes) remove(by_use.back());
  }

  /// Adds the scores by words, and the memories that only the search by words has found.
  Result<void> add(const WordLists& lists, std::span<const word_search::WordHit> hits,
                   const Vector& vector, double similarity_min, std::vector<Candidate>& to) const {
    const auto index = indices.find(vector.model);
    if (index == indices.end()) return {};
    std::vector<uint64_t> numbers;
    for (const word_search::WordHit& hit : hits) numbers.push_back(lists.numbers[hit.list]);
    SIGNALBOX_TRY(const auto cosines, index->second->cosines(numbers, vector.values));
    std::unordered_map<uint64_t, size_t> places;
    for (size_t i = 0; i < to.size(); ++i) places.emplace(to[i].number, i);
    for (size_t i = 0; i < hits.size(); ++i) {
      const auto [place, is_new] = places.emplace(numbers[i], to.size());
      const double cosine = cosines[i].value_or(-1);
      if (is_new) to.push_back({numbers[i], cosine, cosine >= similarity_min});
      to[place->second].words = hits[i].score;
      to[place->second].is_found |= hits[i].is_distinctive;
    }
    return {};
  }
};

std::string new_memory_id() {
  thread_local std::random_device random;
  return fmt::format("mem_{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

LocalMemories::LocalMemories() : impl_(std::make_unique<Impl>()) {}
LocalMemories::~LocalMemories() = default;

void LocalMemories::set_limits(const MemoryLimits& limits) {
  const std::lock_guard lock(impl_->mutex);
  impl_->limits = limits;
}

Result<std::vector<Found>> LocalMemories::search(std::string_view user, const Vector& vector,
                                                 size_t most, double similarity_min,
                                                 const WordQuery* words, TimePoint now) {
  std::vector<Impl::Candidate> candidates;
  Impl::WordLists lists;
  const size_t searched = words == nullptr ? most : word_search::candidates_of(most);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->remove_over(user, now);
    const Impl::User* const owner = impl_->find_user(user);
    const auto index = impl_->indices.find(vector.model);
    if (owner == nullptr || index == impl_->indices.end()) return std::vector<Found>();
    SIGNALBOX_TRY(candidates,
                  impl_->nearest(*owner, *index->second, vector, searched, similarity_min));
    if (words != nullptr) lists = impl_->words_of_user(*owner, vector.model);
  }
  std::vector<word_search::WordHit> hits;
  if (words != nullptr) {
    lists.make_missing();
    SIGNALBOX_TRY(hits, find_words(lists.words, *words, searched));
  }
  std::vector<Found> out;
  std::vector<double> scores;  // by words
  {
    // Memories that were deleted meanwhile are left out.
    const std::lock_guard lock(impl_->mutex);
    if (words != nullptr) {
      impl_->keep(lists);
      SIGNALBOX_TRY_VOID(impl_->add(lists, hits, vector, similarity_min, candidates));
    }
    for (const Impl::Candidate& each : candidates) {
      const auto row = impl_->rows.find(each.number);
      if (!each.is_found || row == impl_->rows.end()) continue;
      SIGNALBOX_CHECK(row->second->user->name == user);
      out.push_back({row->second->memory, each.cosine});
      scores.push_back(each.words);
    }
  }
  if (words != nullptr) rank(out, scores, *words);
  out.resize(std::min(out.size(), most));
  return out;
}

void LocalMemories::use(std::string_view user, std::span<const std::string> ids, TimePoint now) {
  const std::lock_guard lock(impl_->mutex);
  for (const std::string& id : ids) {
    Impl::Row* const row = impl_->find_row(user, id);
    if (row == nullptr) continue;
    row->memory.used = now;
    ++row->memory.uses;
    impl_->by_use.splice(impl_->by_use.begin(), impl_->by_use, row->place);
  }
}

uint64_t LocalMemories::moment() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->moment;
}

Result<std::string> LocalMemories::add(std::string_view user, Memory memory, const Vector& vector,
                                       uint64_t moment, TimePoint now) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->forgetters.find(std::string(user)).value_or(0) > moment) return std::string();
  Words words = impl_->kept_words(memory);
  SIGNALBOX_TRY_VOID(impl_->check_size(user, memory, vector, words));
  impl_->remove_same(user, memory.text);
  memory.id = new_memory_id();
  memory.created = memory.used = now;
  std::string id = memory.id;
  SIGNALBOX_TRY_VOID(impl_->insert(user, std::move(memory), vector, std::move(words), now));
  return id;
}

Result<void> LocalMemories::keep(std::string_view user, Memory memory, const Vector& vector,
                                 TimePoint now) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->find_row(user, memory.id) != nullptr) return {};
  Words words = impl_->kept_words(memory);
  SIGNALBOX_TRY_VOID(impl_->check_size(user, memory, vector, words));
  return impl_->insert(user, std::move(memory), vector, std::move(words), now);
}

std::vector<std::string> LocalMemories::ids(std::string_view user) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::string> out;
  const Impl::User* const owner = impl_->find_user(user);
  if (owner == nullptr) return out;
  for (const auto& [id, row] : owner->rows) out.push_back(id);
  return out;
}

size_t LocalMemories::count(std::string_view user) const {
  const std::lock_guard lock(impl_->mutex);
  const Impl::User* const owner = impl_->find_user(user);
  return owner == nullptr ? 0 : owner->rows.size();
}

Result<Memories::Page> LocalMemories::list(std::string_view user, size_t most, TimePoint now) {
  const std::lock_guard lock(impl_->mutex);
  impl_->remove_over(user, now);
  Page out;
  const Impl::User* const owner = impl_->find_user(user);
  if (owner == nullptr) return out;
  out.total = owner->rows.size();
  std::vector<const Impl::Row*> rows;
  for (const auto& [id, row] : owner->rows) rows.push_back(row.get());
  std::ranges::sort(rows, std::greater<>(), [](const Impl::Row* row) { return row->number; });
  rows.resize(std::min(rows.size(), most));
  for (const Impl::Row* row : rows) out.memories.push_back(row->memory);
  return out;
}

Result<std::optional<Memory>> LocalMemories::find(std::string_view user, std::string_view id,
                                                  TimePoint now) {
  const std::lock_guard lock(impl_->mutex);
  impl_->remove_over(user, now);
  const Impl::Row* const row = impl_->find_row(user, id);
  return row == nullptr ? std::nullopt : std::optional(row->memory);
}

Result<bool> LocalMemories::forget(std::string_view user, std::string_view id) {
  const std::lock_guard lock(impl_->mutex);
  Impl::Row* const row = impl_->find_row(user, id);
  if (row != nullptr) impl_->remove(row);
  return row != nullptr;
}

Result<size_t> LocalMemories::forget_all(std::string_view user) {
  const std::lock_guard lock(impl_->mutex);
  impl_->forgetters.keep(std::string(user), ++impl_->moment, user.size());
  const Impl::User* const owner = impl_->find_user(user);
  if (owner == nullptr) return 0;
  std::vector<Impl::Row*> rows;
  for (const auto& [id, row] : owner->rows) rows.push_back(row.get());
  for (Impl::Row* const row : rows) impl_->remove(row);
  return rows.size();
}

Memories::Size LocalMemories::size() const {
  const std::lock_guard lock(impl_->mutex);
  return {impl_->rows.size(), impl_->users.size(), impl_->bytes};
}

}  // namespace signalbox::memories
