// A failure that may be temporary, such as that of a server, is retried for ever, with pauses.
// Otherwise, after a change of the model, nobody would attach the files again.

#include "router/vector_stores/indexer.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "router/vector_stores/embedding.h"
#include "router/vector_stores/search.h"

namespace signalbox::vector_stores {
namespace {

using vector_index::VectorIndex;

constexpr std::chrono::seconds kPause{1}, kPauseMax{30};

bool is_final(Code code) {
  return code == Code::kInvalid || code == Code::kTooLarge || code == Code::kUnsupported ||
         code == Code::kCorrupt || code == Code::kNotFound;
}

/// The size of chunks on the disk or in memory, whichever is greater: a vector has 8 bits a value
/// in memory, and only there are the words.
uint64_t bytes_of(std::span<const std::string_view> chunks, const word_search::TextWords& words,
                  int32_t dim) {
  const uint64_t values = chunks.size() * static_cast<size_t>(dim);
  uint64_t out = std::max(values * sizeof(float), values + words.bytes());
  for (const std::string_view chunk : chunks) out += chunk.size() + kChunkBytes;
  return out;
}

void remove_rows(VectorIndex& index, uint64_t entry, size_t chunks) {
  for (size_t i = 0; i < chunks; ++i) index.remove(row_id(entry, i));
}

Result<void> add_rows(VectorIndex& index, uint64_t entry, const Embedded& embedded) {
  const auto dim = static_cast<size_t>(embedded.dim);
  const std::span<const float> vectors(embedded.vectors);
  for (size_t i = 0; i < embedded.chunks.size(); ++i) {
    auto added = index.add(row_id(entry, i), entry, vectors.subspan(i * dim, dim));
    if (added) continue;
    remove_rows(index, entry, i);
    return added;
  }
  return {};
}

}  // namespace

Indexer::Indexer(SharedRegistry& shared, const DiskRecords& disk, uint32_t workers)
    : shared_(shared), disk_(disk) {
  for (uint32_t i = 0; i < workers; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

Indexer::~Indexer() {
  for (std::jthread& each : threads_) each.request_stop();
  threads_.clear();
}

void Indexer::set_embedder(Embedder embedder) {
  std::vector<Job> jobs;
  {
    const std::lock_guard lock(shared_.mutex);
    const bool is_same = round_.index != nullptr && embedder.name == round_.embedder.name;
    if (embedder.model == nullptr || is_same) {
      round_.embedder.model = std::move(embedder.model);
      wake_.notify_all();
      return;
    }
    auto index = VectorIndex::create({.dim = embedder.model->dim()});
    if (!index) {  // the vectors of a server are too long
      log::error("vector_stores", "{}; searches fail", index.error().message);
      round_.embedder.model = nullptr;
      return;
    }
    round_ = {round_.number + 1, std::move(embedder), *std::move(index)};
    for (const auto& [number, registered] : shared_.registry.all_entries()) {
      const Status status = registered.entry.status;
      if (status != Status::kInProgress && status != Status::kCompleted) continue;
      shared_.registry.set_chunks(*shared_.registry.entry(number), nullptr, 0, 0);
      // A thread that embeds it for the last model will notice.
      if (running_.insert(number).second) jobs.push_back(job_of(registered.entry));
    }
  }
  size_t anew = 0;
  for (const Job& job : jobs) {
    const bool is_restored = restore(job).has_value();
    anew += is_restored ? 0 : 1;
    finish(job, is_restored ? Outcome::kDone : Outcome::kLater);
  }
  if (anew > 0)
    log::info("vector_stores", "{} files of vector stores are embedded by {}", anew,
              jobs.front().round.embedder.name);
}

void Indexer::add(uint64_t number) {
  {
    const std::lock_guard lock(shared_.mutex);
    waiting_.push_back(number);
  }
  wake_.notify_one();
}

void Indexer::remove(uint64_t number, size_t chunks) {
  Index index;
  {
    const std::lock_guard lock(shared_.mutex);
    std::erase(waiting_, number);
    index = round_.index;
  }
  if (index != nullptr) remove_rows(*index, number, chunks);
}

Indexer::Job Indexer::job_of(const Entry& entry) const {
  const Registry& registry = shared_.registry;
  const File* const file = registry.file(registry.any_store(entry.store)->owner, entry.file);
  SIGNALBOX_CHECK(file != nullptr);
  return {entry, *file, round_, std::min<size_t>(registry.limits.store_chunks, kEntryChunksMax),
          registry.limits.bytes};
}

// --- the threads ---

void Indexer::work(const std::stop_token& stop) {
  std::chrono::seconds pause = kPause;
  while (const std::optional<Job> job = take(stop)) {
    const Outcome outcome = run(*job, stop);
    finish(*job, outcome);
    if (outcome == Outcome::kDone) {
      pause = kPause;
      continue;
    }
    std::unique_lock lock(shared_.mutex);
    wake_.wait_for(lock, stop, pause, [] { return false; });
    pause = std::min(2 * pause, kPauseMax);
  }
}

std::optional<Indexer::Job> Indexer::take(const std::stop_token& stop) {
  std::unique_lock lock(shared_.mutex);
  for (;;) {
    const bool has_work = wake_.wait(
        lock, stop, [this] { return !waiting_.empty() && round_.embedder.model != nullptr; });
    if (!has_work || stop.stop_requested()) return std::nullopt;
    const uint64_t number = waiting_.front();
    waiting_.pop_front();
    const RegisteredEntry* const registered = shared_.registry.entry(number);
    if (registered == nullptr || registered->entry.status != Status::kInProgress) continue;
    if (running_.insert(number).second) return job_of(registered->entry);
  }
}

void Indexer::finish(const Job& job, Outcome outcome) {
  const uint64_t number = job.entry.number;
  {
    const std::lock_guard lock(shared_.mutex);
    running_.erase(number);
    const RegisteredEntry* const registered = shared_.registry.entry(number);
    const bool is_done = registered == nullptr || registered->entry.status != Status::kInProgress;
    if (is_done || (outcome == Outcome::kDone && job.round.number == round_.number)) return;
    waiting_.push_back(number);
  }
  wake_.notify_one();
}

Indexer::Outcome Indexer::run(const Job& job, const std::stop_token& stop) {
  if (restore(job)) return Outcome::kDone;
  Result<Embedded> embedded = embed(job, stop);
  if (embedded) {
    if (auto written = disk_.write(job.entry, *embedded); !written)
      embedded = tl::unexpected<Error>(std::move(written).error());
  }
  const bool has_written = embedded.has_value();
  const Result<bool> published = embedded ? publish(job, *std::move(embedded), Admission::kRequired)
                                          : tl::unexpected<Error>(std::move(embedded).error());
  if (published && *published) return Outcome::kDone;
  // Before a retry, keep the vectors of another model, because they show that the entry was
  // completed once.
  if (has_written || (!published && is_final(published.error().code))) {
    if (const auto removed = disk_.remove_embedded(job.entry); !removed)
      log::warn("vector_stores", "{}", removed.error().message);
  }
  if (published || published.error().code == Code::kCancelled) return Outcome::kDone;
  if (!is_final(published.error().code)) {
    log::warn("vector_stores", "{} of {}: {}; it is tried again", job.entry.file, job.entry.store,
              published.error().message);
    return Outcome::kLater;
  }
  fail_entry(job, published.error());
  return Outcome::kDone;
}

Result<Embedded> Indexer::embed(const Job& job, const std::stop_token& stop) const {
  SIGNALBOX_TRY(const std::string content, disk_.content(job.file));
  SIGNALBOX_TRY(const std::string text, document_text(job.file.name, content));
  SIGNALBOX_TRY(const auto chunks,
                cut_for(*job.round.embedder.model, text, job.entry.chunking, job.chunks_max));
  {
    // Check the room before the model runs, because its work would be lost otherwise.
    const word_search::TextWords words(chunks);
    const uint64_t bytes = bytes_of(chunks, words, job.round.embedder.model->dim());
    const std::lock_guard lock(shared_.mutex);
    SIGNALBOX_TRY_VOID(shared_.registry.admit_chunks(job.entry.store, chunks.size()));
    SIGNALBOX_TRY_VOID(shared_.registry.admit_bytes(job.file.owner, bytes));
  }
  const auto goes_on = [&] { return !stop.stop_requested() && is_wanted(job); };
  return embed_chunks(job.round.embedder, chunks, goes_on, {.stop = stop, .is_long = true});
}

bool Indexer::is_open(const Job& job) const {
  const RegisteredEntry* const registered = shared_.registry.entry(job.entry.number);
  return registered != nullptr && registered->entry.status == Status::kInProgress &&
         job.round.number == round_.number;
}

bool Indexer::is_wanted(const Job& job) const {
  const std::lock_guard lock(shared_.mutex);
  return is_open(job);
}

Result<void> Indexer::restore(const Job& job) {
  SIGNALBOX_TRY(Embedded embedded, disk_.embedded(job.entry, job.bytes_max));
  const Embedder& embedder = job.round.embedder;
  if (embedded.model != embedder.name || embedded.dim != embedder.model->dim())
    return fail(Code::kNotFound, "another model has embedded it");
  SIGNALBOX_TRY(const bool is_done, publish(job, std::move(embedded), Admission::kGranted));
  if (!is_done) return fail(Code::kCancelled, "the entry is not needed any more");
  return {};
}

// Adds the rows to the index before the registry gets the chunks, so that no search waits for them.
Result<bool> Indexer::publish(const Job& job, Embedded embedded, Admission admission) {
  const uint64_t number = job.entry.number;
  const std::vector<std::string_view> texts(embedded.chunks.begin(), embedded.chunks.end());
  word_search::TextWords words(texts);
  const uint64_t bytes = bytes_of(texts, words, embedded.dim);
  SIGNALBOX_TRY_VOID(add_rows(*job.round.index, number, embedded));
  const size_t count = embedded.chunks.size();
  auto chunks =
      std::make_shared<const ChunkTexts>(ChunkTexts{std::move(embedded.chunks), std::move(words)});
  Result<bool> registered = false;
  {
    const std::lock_guard lock(shared_.mutex);
    registered = enter(job, std::move(chunks), bytes, admission);
  }
  if (!registered || !*registered) remove_rows(*job.round.index, number, count);
  return registered;
}

// An entry that was admitted before is not refused for its bytes, even if the limit is lower now or
// words take more. Otherwise its vectors would be deleted, and a client would have to attach the
// file again. The limit of chunks is checked at each start.
Result<bool> Indexer::enter(const Job& job, Chunks chunks, uint64_t bytes, Admission admission) {
  Registry& registry = shared_.registry;
  RegisteredEntry* const registered = registry.entry(job.entry.number);
  if (!is_open(job)) return false;
  SIGNALBOX_TRY_VOID(registry.admit_chunks(job.entry.store, chunks->texts.size()));
  if (admission == Admission::kRequired)
    SIGNALBOX_TRY_VOID(registry.admit_bytes(job.file.owner, bytes));
  registry.set_chunks(*registered, std::move(chunks), bytes, job.round.number);
  return true;
}

void Indexer::fail_entry(const Job& job, const Error& error) {
  const std::lock_guard changing(shared_.changing);
  Entry failed;
  {
    const std::lock_guard lock(shared_.mutex);
    RegisteredEntry* const registered = shared_.registry.entry(job.entry.number);
    if (!is_open(job)) return;
    registered->entry.status = Status::kFailed;
    registered->entry.error = error.message;
    failed = registered->entry;
  }
  // Do not record this failure: an operator may restore the damaged file, so the next start tries
  // again.
  if (error.code == Code::kCorrupt) return;
  if (const auto written = disk_.write(failed); !written)
    log::warn("vector_stores", "{}", written.error().message);
}

// --- searches ---

namespace {

/// The entries that are embedded and that the search admits.
std::vector<Searched> searched_entries(const Registry& registry, const Store& store,
                                       const Search& search) {
  std::vector<Searched> out;
  for (const RegisteredEntry* each : registry.entries(store.id)) {
    const Entry& entry = each->entry;
    const bool is_named =
        search.files.empty() || std::ranges::find(search.files, entry.file) != search.files.end();
    if (each->chunks == nullptr || !is_named) continue;
    if (search.filter != nullptr && !search.filter->holds(entry.attributes)) continue;
    out.push_back({entry.number, each->chunks});
  }
  return out;
}

/// The chunks of the hits, without those that were deleted during the search.
std::vector<Found> found_of(Registry& registry, std::span<const ChunkHit> hits,
                            std::span<const Searched> entries) {
  std::vector<Found> out;
  for (const ChunkHit& hit : hits) {
    const uint64_t number = hit.id / kEntryChunksMax;
    const RegisteredEntry* const registered = registry.entry(number);
    if (registered == nullptr) continue;
    const auto searched = std::ranges::find(entries, number, &Searched::number);
    SIGNALBOX_CHECK(searched != entries.end());
    const Entry& entry = registered->entry;
    const File* const file = registry.file(registry.any_store(entry.store)->owner, entry.file);
    SIGNALBOX_CHECK(file != nullptr);
    out.push_back({entry.file, file->name, entry.attributes,
                   searched->chunks->texts.at(hit.id % kEntryChunksMax), hit.score});
  }
  return out;
}

}  // namespace

// Uses entries, chunks and an index of one round, even if another round begins meanwhile.
Result<std::vector<Found>> Indexer::search(std::string_view id, const Search& search,
                                           const engine::Patience& patience) const {
  Round round;
  std::vector<Searched> entries;
  {
    const std::lock_guard lock(shared_.mutex);
    const Registry& registry = shared_.registry;
    const Store* const store = registry.any_store(id);
    if (store == nullptr)
      return fail(Code::kNotFound, "there is no vector store {}",
                  json::quote_briefly(search.store));
    round = round_;
    entries = searched_entries(registry, *store, search);
  }
  if (round.embedder.model == nullptr) return fail(Code::kUpstream, "there is no embedding model");
  if (entries.empty()) return std::vector<Found>();
  SIGNALBOX_TRY(const auto hits,
                find_chunks(round.embedder, *round.index, entries, search, patience));
  const std::lock_guard lock(shared_.mutex);
  return found_of(shared_.registry, hits, entries);
}

}  // namespace signalbox::vector_stores
