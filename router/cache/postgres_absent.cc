// Takes the place of postgres_remote.cc in a program that is built without libpq.

#include "router/cache/postgres_remote.h"

namespace signalbox::cache {

Result<std::unique_ptr<Remote>> make_postgres_remote(PostgresOptions) {
  return fail(Code::kUnsupported,
              "postgres: this program was built without it (SIGNALBOX_POSTGRES=OFF)");
}

}  // namespace signalbox::cache
