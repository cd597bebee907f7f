#pragma once
// A folder with repositories, for machines without internet. It is laid out in one of two ways:
//   MIRROR/OWNER/NAME                 the files, as `signalbox models pull --to MIRROR/OWNER` or
//                                     `git clone` leaves them
//   MIRROR/models--OWNER--NAME        the cache of Hugging Face's own tools (HF_HOME/hub)

#include <filesystem>

#include "base/error.h"
#include "tools/hub/repository.h"

namespace signalbox::tools {

struct MirroredRepository {
  Repository listing;  // digests are those of pulled.json, if the mirror has one
  std::filesystem::path folder;
};

/// Errors begin with the name: kNotFound with the places that were searched, or if the mirror holds
/// another version than the requested one; kCorrupt for a pulled.json that contradicts itself.
Result<MirroredRepository> find_in_mirror(const std::filesystem::path& mirror,
                                          const RepositoryName& name);

/// Copies a file of a mirror and checks it. kCorrupt with expected and found; kIo.
Result<void> copy_from_mirror(const MirroredRepository& repository, const RepositoryFile& file,
                              const std::filesystem::path& to);

}  // namespace signalbox::tools
