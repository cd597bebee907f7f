// Takes the place of the built files in a program that is built without the dashboard.

#include "router/admin/dashboard/files.h"

namespace signalbox::dashboard {

std::optional<File> file(std::string_view) {
  return std::nullopt;
}

}  // namespace signalbox::dashboard
