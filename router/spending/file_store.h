#pragma once
// The store of one router: an SQLite file.

#include "router/spending/database.h"
#include "router/spending/store.h"

namespace signalbox::spending {

/// Errors: those of Database::open().
Result<std::unique_ptr<Store>> open_file_store(const std::filesystem::path& file);

}  // namespace signalbox::spending
