#pragma once
// The fields of a multipart/form-data body as views of it. Forms that another reader might read
// differently are refused, because the server would then see another field than the router.

#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::endpoints {

struct FormField {
  std::string_view name;
  std::string_view value;           // a part of the body
  bool is_file = false;             // it has a file name
  std::string_view file_name = {};  // as it is written; "" also if it is encoded in parts
};

inline constexpr size_t kFieldsMax = 256;

/// True for a Content-Type of multipart/form-data.
bool is_multipart(std::string_view content_type);

/// The fields in their order. Errors: kInvalid for a body that is not one form from its first byte
/// to its last, for a boundary that occurs inside a part, for a name that is missing, repeated
/// within its part or encoded; kTooLarge for more than kFieldsMax fields.
Result<std::vector<FormField>> read_form(std::string_view body, std::string_view content_type);

}  // namespace signalbox::endpoints
