// SQLite writes a transaction as a whole or not at all, so the numbers of batches are not needed.
// Readers have a connection of their own.

#include "router/spending/file_store.h"

#include <utility>

namespace signalbox::spending {
namespace {

class FileStore final : public Store {
 public:
  FileStore(const std::filesystem::path& file, Database database)
      : name_(file.string()), database_(std::move(database)) {}

  const std::string& name() const override { return name_; }
  Result<void> add(const Batch& batch) override { return database_.add(batch.sums); }
  Result<std::unique_ptr<Source>> source() override {
    SIGNALBOX_TRY(Database opened, Database::open(name_, true));
    return std::make_unique<Database>(std::move(opened));
  }
  Result<std::string> share_name(std::string_view fresh) override { return database_.name(fresh); }

 private:
  const std::string name_;
  Database database_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_file_store(const std::filesystem::path& file) {
  SIGNALBOX_TRY(Database database, Database::open(file));
  return std::make_unique<FileStore>(file, std::move(database));
}

}  // namespace signalbox::spending
