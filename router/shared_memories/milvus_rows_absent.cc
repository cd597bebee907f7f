// Takes the place of milvus_rows.cc in a program that is built without Milvus.

#include "router/shared_memories/row_servers.h"

namespace signalbox::shared_memories {

Result<std::unique_ptr<RowServer>> make_milvus_rows(MilvusRowOptions) {
  return fail(Code::kUnsupported,
              "milvus: this program was built without it (SIGNALBOX_MILVUS=OFF)");
}

}  // namespace signalbox::shared_memories
