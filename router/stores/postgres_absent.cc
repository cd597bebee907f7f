// Takes the place of postgres.cc in a program that is built without libpq.

#include "router/stores/postgres.h"

namespace signalbox::stores {

Result<std::unique_ptr<Postgres>> make_postgres(PostgresServer, PostgresTable) {
  return fail(Code::kUnsupported,
              "postgres: this program was built without it (SIGNALBOX_POSTGRES=OFF)");
}

}  // namespace signalbox::stores
