#pragma once
// The names of the classes that signals stand for.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"

namespace signalbox::models {

/// The classes that a task has without configuration: `domain`, `fact_check`, `user_feedback` or
/// `modality`. Empty for another task.
std::span<const std::string_view> classes_of_task(std::string_view task);

/// Returns those classes and, for `domain`, the ones that signals of the configuration add, none
/// twice in the form of plain_label().
std::vector<std::string> classes_of(const config::Config& config, std::string_view task);

/// Reads a file that maps class numbers to names: {"idx_to_label": {"0": "benign"}}. Returns the
/// first `count` names, or for a count of 0 all of them, at most 4,096. Errors: kInvalid, and those
/// of the file.
Result<std::vector<std::string>> read_class_names(const std::string& path, size_t count);

}  // namespace signalbox::models
