// The first line marks a card that a later fit may replace. There is no date, so that the same
// texts give the same card.

#include "tools/fit/model_card.h"

#include <fmt/format.h>

#include <sstream>

#include "base/counted.h"
#include "base/file.h"
#include "engine/model_path.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark =
    "<!-- `signalbox fit` wrote this card, and replaces it as long as this line is its first. -->";
constexpr size_t kCardBytesMax = size_t{1} << 20;

std::string name_of(const fs::path& path) {
  return (fs::absolute(path).lexically_normal() / "").parent_path().filename().string();
}

// Lines that are indented are code, whatever a label contains.
std::string indented(const std::string& lines) {
  std::string out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) out += fmt::format("    {}\n", line);
  return out;
}

std::string kind_of(const FitOptions& options, const FitReport& report, const std::string& trunk) {
  if (report.spans) {
    return fmt::format(
        "A linear layer that marks {} of spans. It reads each hidden state of `{}`, which fitting "
        "did not change.",
        counted(report.spans->types.size(), "type"), trunk);
  }
  return fmt::format(
      "A linear classifier with {}. It reads the {} of `{}`, which fitting did not change.",
      counted(report.quality->labels.size(), "label"),
      options.first_token ? "hidden state of the first token" : "mean of the hidden states", trunk);
}

std::string fitting_of(const FitOptions& options, const FitReport& report) {
  std::string out = fmt::format("It was fitted to {} of `{}`. ",
                                counted(report.train + report.validation, "text"),
                                options.data.filename().string());
  if (report.folds > 0) {
    out += fmt::format("Cross-validation in {} folds chose", report.folds);
  } else {
    out += fmt::format("{} of them, which were not trained on, chose", report.validation);
  }
  out += options.l2 ? fmt::format(" the temperature {:.3f}; the penalty {:g} was given.",
                                  report.temperature, report.l2)
                    : fmt::format(" the penalty {:g} and the temperature {:.3f}.", report.l2,
                                  report.temperature);
  if (options.balanced) out += " All labels had the same weight.";
  return out;
}

Result<void> write_new_card(const FitOptions& options, const FitReport& report) {
  const fs::path path = options.out / "README.md";
  std::error_code ignored;  // the reading reports it
  if (fs::exists(path, ignored)) {
    SIGNALBOX_TRY(const std::string current, read_file(path, kCardBytesMax));
    if (!current.starts_with(kMark)) {
      options.print(fmt::format("{} is not a card of a fit, so it stays as it is", path.string()));
      return {};
    }
  }
  SIGNALBOX_TRY(const auto trunk, engine::find_model(options.trunk));
  const std::string tables = report.quality ? to_tables(*report.quality) : to_tables(*report.spans);
  return write_file(
      path,
      fmt::format("{}\n# {}\n\n{}\n\n{}\n\nMeasured on {} of the same file that were held "
                  "out:\n\n{}",
                  kMark, name_of(options.out), kind_of(options, report, name_of(trunk.base())),
                  fitting_of(options, report), counted(report.held_out, "text"), indented(tables)));
}

}  // namespace

void write_card(const FitOptions& options, const FitReport& report) {
  if (const auto written = write_new_card(options, report); !written)
    options.print(fmt::format("the folder gets no card: {}", written.error().message));
}

}  // namespace signalbox::tools
