#pragma once
// Files of clients, and stores in which their chunks are found by similarity. Everything lies in a
// folder and in memory. Each file and each store has an owner, and every function needs the owner's
// name, so that nobody reaches the files of another owner.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/patience.h"
#include "router/vector_stores/filter.h"
#include "router/vector_stores/records.h"
#include "router/word_search/hybrid.h"

namespace signalbox::vector_stores {

/// The owner of what operators store. No client has this name.
inline constexpr std::string_view kOperator = "operator";
/// Every id of a file that lies here begins with this.
inline constexpr std::string_view kFileIdPrefix = "file-sb-";
inline constexpr std::string_view kStoreIdPrefix = "vs_", kEntryIdPrefix = "vf_",
                                  kBatchIdPrefix = "vsfb_";

struct Limits {
  uint64_t file_bytes = uint64_t{50} << 20;
  uint64_t bytes = uint64_t{1} << 30;          // of all
  uint64_t owner_bytes = uint64_t{256} << 20;  // of one owner; not for operators
  uint32_t owner_files = 1'000;
  uint32_t owner_stores = 100;
  uint32_t store_chunks = 100'000;
  std::vector<std::string> extensions;  // of files that are accepted
};

/// `name` stands for the space of its vectors: only vectors of equal names compare.
struct Embedder {
  std::string name = {};
  std::shared_ptr<const engine::TextEmbedder> model = nullptr;  // null: there is none
};

/// The state of a store's files.
struct StoreFigures {
  uint64_t bytes = 0;
  StatusCounts entries = {};
};
struct StoreView {
  Store store;
  StoreFigures figures;
  bool is_expired = false;
};

/// A file to add to a store.
struct Addition {
  std::string file;
  Chunking chunking = {};
  Attributes attributes = {};
};

/// A search of one store.
struct Search {
  std::string_view store;                   // the id; for operators' stores also the name
  std::vector<std::string> queries;         // the best similarity to any of them counts
  const Filter* filter = nullptr;           // null: all files
  std::span<const std::string> files = {};  // ids; empty: all files
  size_t most = 10;
  double similarity_min = -1;
  /// If null, only similarity counts. Otherwise the words of all queries count, too, and a less
  /// similar chunk is found if it contains a distinctive word (word_search::find_words).
  const word_search::Hybrid* hybrid = nullptr;
  /// The embedding of the only query, if it is known, with the name of its space.
  std::span<const float> vector = {};  // (dim)
  std::string_view vector_space = {};
};

struct Found {
  std::string file, file_name;
  Attributes attributes;
  std::string text;
  double similarity = 0;  // -1 to 1; the score of a hybrid search, 0 to 1
};

/// Thread-safe. Files are embedded on threads of its own; the changes wait for the disk.
class VectorStores {
 public:
  /// Opens the folder and reads what lies in it. `reports` gets one line for each record that
  /// cannot be read; its file is left as it is. Errors: kIo.
  static Result<std::unique_ptr<VectorStores>> open(const std::filesystem::path& folder,
                                                    uint32_t workers,
                                                    std::vector<std::string>& reports);
  /// Stops the work in progress; the next start goes on with it.
  ~VectorStores();

  /// Takes effect at the next change.
  void set_limits(Limits limits);
  /// Chunks that another model has embedded are embedded anew, and are not found until then.
  void set_embedder(Embedder embedder);

  /// Errors: kInvalid for a name or a content that cannot be read; kTooLarge; kIo.
  Result<File> add_file(std::string_view owner, std::string name, std::string purpose,
                        std::string_view content);
  std::vector<File> files(std::string_view owner) const;  // the oldest first
  Result<File> file(std::string_view owner, std::string_view id) const;
  Result<std::string> content(std::string_view owner, std::string_view id) const;
  /// Takes the file out of all stores, too.
  Result<void> remove_file(std::string_view owner, std::string_view id);

  /// A store expires `expires_days` after its last search or change; 0: never.
  Result<StoreView> create_store(std::string_view owner, std::string name, Metadata metadata,
                                 uint32_t expires_days = 0);
  std::vector<StoreView> stores(std::string_view owner) const;  // the oldest first
  Result<StoreView> store(std::string_view owner, std::string_view id) const;
  Result<StoreView> change_store(std::string_view owner, std::string_view id,
                                 std::optional<std::string> name, std::optional<Metadata> metadata,
                                 std::optional<uint32_t> expires_days = std::nullopt);
  Result<void> remove_store(std::string_view owner, std::string_view id);

  /// Replaces an entry of the same file. Errors: kNotFound, also for a store that has expired.
  Result<Entry> attach(std::string_view owner, std::string_view store, std::string_view file,
                       Chunking chunking, Attributes attributes);
  /// Attaches all files or none, unless the disk fails, and returns their entries, which name the
  /// new batch.
  Result<std::vector<Entry>> attach_batch(std::string_view owner, std::string_view store,
                                          std::vector<Addition> files);
  /// Ends the work on those entries of the batch that were never embedded. Errors: kNotFound, also
  /// for a store that has expired; kIo.
  Result<void> cancel_batch(std::string_view owner, std::string_view store, std::string_view batch);
  Result<std::vector<Entry>> entries(std::string_view owner,
                                     std::string_view store) const;  // the oldest first
  Result<Entry> entry(std::string_view owner, std::string_view store, std::string_view file) const;
  Result<Entry> set_attributes(std::string_view owner, std::string_view store,
                               std::string_view file, Attributes attributes);
  Result<void> detach(std::string_view owner, std::string_view store, std::string_view file);

  /// Takes the files out of the stores that have expired by then, and writes when the others were
  /// used last. A thread calls it from time to time.
  void expire(int64_t now);

  /// The most similar chunks, the best first. Embeds the queries, which blocks. Errors: kNotFound;
  /// kUpstream without an embedding model; those of the model.
  Result<std::vector<Found>> search(std::string_view owner, const Search& search,
                                    const engine::Patience& patience) const;

  struct Removed {
    size_t files = 0, stores = 0;
  };
  /// Removes everything that the owner has. After an error, some of it may remain.
  Result<Removed> remove_all(std::string_view owner);

  struct Size {
    size_t files = 0, stores = 0;
    StatusCounts entries = {};
    uint64_t bytes = 0;
  };
  Size size() const;

 private:
  struct Impl;
  explicit VectorStores(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::vector_stores
