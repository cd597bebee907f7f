// Takes the place of milvus_remote.cc in a program that is built without Milvus.

#include "router/cache/milvus_remote.h"

namespace signalbox::cache {

Result<std::unique_ptr<Remote>> make_milvus_remote(MilvusOptions) {
  return fail(Code::kUnsupported,
              "milvus: this program was built without it (SIGNALBOX_MILVUS=OFF)");
}

}  // namespace signalbox::cache
