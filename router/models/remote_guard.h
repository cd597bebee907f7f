#pragma once
// Classifiers and guards on a server. A guard speaks one of three protocols: a classifier that
// returns a score for each label, a chat model that answers "safe" or "unsafe", and any service
// with an API of ours.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"

namespace signalbox::models {

/// Returns the name of a server for people. A server that is found by its role may have none, and
/// is shown by its address.
const std::string& shown_name(const config::ExternalModel& server);
/// The name in Models::classifiers of a server's model for a task (`jailbreak`, `domain`), where
/// others have a directory.
std::string remote_guard_name(std::string_view task, const config::ExternalModel& server);
bool is_remote_guard(std::string_view directory);
/// Returns the name of the server in the result of remote_guard_name(). Empty for a directory.
std::string_view server_in(std::string_view directory);

/// Returns a model with one sequence head: the labels that mean an attack, and one for everything
/// else. Limits, the pause after failures and the answers that are kept are those of
/// open_remote_classifier(). Errors of a text: kUpstream, kDeadline, kTooLarge; they contain
/// neither the text nor the reply. Error here: kInvalid for a server without an address.
Result<std::shared_ptr<const engine::TextModel>> open_remote_guard(
    const config::ExternalModel& server, const config::ClassifierModel& guard);

/// The same for a classifier of those labels (http_classify), which has each of them and one for
/// everything else.
Result<std::shared_ptr<const engine::TextModel>> open_remote_labels(
    const config::ExternalModel& server, std::vector<std::string> labels);

/// The same for a model that marks personal data (http_classify), with one head over the types that
/// the configuration knows. Another type is an error of the text.
Result<std::shared_ptr<const engine::TextModel>> open_remote_spans(
    const config::ExternalModel& server, const config::ClassifierModel& module);

/// The same for a classifier whose classes the signals of a task name (http_classify). Its head has
/// each class and one for everything else. The module's mapping_path names the classes of a server
/// that numbers them.
Result<std::shared_ptr<const engine::TextModel>> open_remote_classes(
    const config::ExternalModel& server, const config::ClassifierModel& module,
    std::vector<std::string> classes);

/// A model with one sequence head and one label, whose score is a number without bounds
/// (http_classify, score.v1).
Result<std::shared_ptr<const engine::TextModel>> open_remote_scorer(
    const config::ExternalModel& server, const config::ClassifierModel& module);

}  // namespace signalbox::models
