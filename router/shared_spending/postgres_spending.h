#pragma once
// The spending of several routers in PostgreSQL (12 or newer). Batches have numbers, so that one
// whose reply was lost can be sent again.

#include <memory>
#include <string>

#include "router/config/services.h"
#include "router/spending/ledger.h"
#include "router/spending/store.h"
#include "router/stores/postgres.h"

namespace signalbox::shared_spending {

struct PostgresOptions {
  stores::PostgresServer server = {};
  std::string table = "signalbox_spending";
  std::chrono::milliseconds read_limit{2000}, write_limit{2000}, page_limit{5000};
};

/// Connects at the first call. Errors: those of stores::make_postgres().
Result<std::unique_ptr<spending::Store>> make_postgres_store(const PostgresOptions& options);

/// As configured. Precondition: spending.is_common(). Errors: those of postgres_server() and
/// make_postgres_store(), with the key in the file.
Result<std::unique_ptr<spending::Store>> open_store(const config::Spending& spending);

}  // namespace signalbox::shared_spending
