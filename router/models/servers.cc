// A task's model has its name in Models::classifiers in the place of a directory.

#include "router/models/servers.h"

#include "router/models/class_names.h"
#include "router/models/judges.h"
#include "router/models/remote_detector.h"
#include "router/models/remote_guard.h"
#include "router/models/system_one.h"

namespace signalbox::models {
namespace {

using Opened = Result<std::shared_ptr<const engine::TextModel>>;

Opened open_judge(Judge& judge) {
  if (judge.is_classifier)
    return open_remote_labels(*judge.server, std::move(judge.question.labels));
  if (judge.is_system_one)
    return open_system_one(*judge.server, std::move(judge.question),
                           std::chrono::milliseconds(judge.limit_ms));
  return open_remote_classifier(*judge.server, std::move(judge.question));
}

Result<void> open_judges(const config::Config& config, Models& models) {
  for (const config::Routing* routing : config::routings_of(config)) {
    for (Judge& judge : judges_of(config, *routing)) {
      if (!judge.why.empty()) {
        models.notices.push_back(
            fmt::format("{}: {}: {}; {}", config.source, judge.used_by, judge.why, judge.without));
        continue;
      }
      if (models.classifiers.contains(judge.key)) continue;  // several decisions share it
      SIGNALBOX_TRY(models.classifiers[judge.key], open_judge(judge));
    }
  }
  return {};
}

Opened open_task(const config::Config& config, std::string_view task,
                 const config::ExternalModel& server) {
  const config::ClassifierModel& module = *config::module_of(config.modules, task);
  if (task == "jailbreak") return open_remote_guard(server, module);
  if (task == "pii") return open_remote_spans(server, module);
  if (module.contract == config::kScoreContract) return open_remote_scorer(server, module);
  return open_remote_classes(server, module, classes_of(config, task));
}

}  // namespace

Result<void> open_servers(const config::Config& config, Models& models) {
  SIGNALBOX_TRY_VOID(open_judges(config, models));
  for (const std::string_view task : config::tasks_of_servers()) {
    const config::ExternalModel* server = config::server_of(config, task);
    if (server == nullptr) continue;
    SIGNALBOX_TRY(models.classifiers[remote_guard_name(task, *server)],
                  open_task(config, task, *server));
  }
  if (const auto detector = detector_server(config)) {
    SIGNALBOX_TRY(models.classifiers[remote_guard_name("hallucination", *detector)],
                  open_remote_detector(*detector));
  }
  return {};
}

}  // namespace signalbox::models
