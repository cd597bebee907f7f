// `signalbox fit`: trains a head for the user's own labels on a trunk that does not change.

#include <cstdio>
#include <cxxopts.hpp>
#include <thread>

#include "base/json_writer.h"
#include "tools/command.h"
#include "tools/fit/fit.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

std::string to_json(const FitOptions& options, const FitReport& report) {
  json::Writer out;
  out.begin_object().member("out", options.out.string());
  out.member("train", static_cast<int64_t>(report.train));
  out.member("validation", static_cast<int64_t>(report.validation));
  out.member("held_out", static_cast<int64_t>(report.held_out));
  out.member("l2", report.l2).member("temperature", report.temperature);
  out.member("validation_loss", report.loss);
  out.key("quality").begin_object();
  if (report.quality) write_json(*report.quality, out);
  if (report.spans) write_json(*report.spans, out);
  return out.end_object().end_object().take();
}

std::string to_tables(const FitOptions& options, const FitReport& report) {
  return fmt::format(
      "{}: fitted to {} texts, penalty {:g}, temperature {:.3f}; measured on {} texts that were "
      "held out\n{}",
      options.out.string(), report.train + report.validation, report.l2, report.temperature,
      report.held_out, report.quality ? to_tables(*report.quality) : to_tables(*report.spans));
}

Result<FitOptions> read_fit_options(const cxxopts::ParseResult& parsed) {
  FitOptions out;
  const auto& task = parsed["task"].as<std::string>();
  if (task != "classify" && task != "tag")
    return fail(Code::kInvalid, "--task: expected classify or tag, found \"{}\"", task);
  if (task == "tag" && parsed.count("pooling") != 0)
    return fail(Code::kInvalid,
                "--pooling: cannot be used with --task tag, which classifies each token");
  out.trunk = model_directory(parsed["trunk"].as<std::string>());
  out.data = parsed["data"].as<std::string>();
  out.out = parsed["out"].as<std::string>();
  if (out.out.empty()) return fail(Code::kInvalid, "--out: expected a directory");
  SIGNALBOX_TRY(out.precision, parse_dtype(parsed["dtype"].as<std::string>()));
  out.threads = parsed["threads"].as<int32_t>();
  if (out.threads == 0) out.threads = static_cast<int32_t>(std::thread::hardware_concurrency());
  if (out.threads < 1 || out.threads > engine::kThreadsMax) {
    return fail(Code::kInvalid, "--threads: expected 0 to {}, found {}", engine::kThreadsMax,
                out.threads);
  }
  const auto& pooling = parsed["pooling"].as<std::string>();
  if (pooling != "mean" && pooling != "cls")
    return fail(Code::kInvalid, "--pooling: expected mean or cls, found \"{}\"", pooling);
  out.first_token = pooling == "cls";
  out.balanced = parsed.count("balanced") != 0;
  if (parsed.count("l2") != 0) {
    out.l2 = parsed["l2"].as<Number>().value;
    if (!(*out.l2 >= 0 && *out.l2 < 1e6))
      return fail(Code::kInvalid, "--l2: expected 0 to 1000000, found {}", *out.l2);
  }
  out.print = [](const std::string& line) { print_line(line); };
  return out;
}

int fit(const cxxopts::ParseResult& parsed) {
  const auto options = read_fit_options(parsed);
  if (!options) {
    std::fprintf(stderr, "signalbox fit: %s\n", options.error().message.c_str());
    return kExitUsage;
  }
  const bool tags = parsed["task"].as<std::string>() == "tag";
  const auto done = tags ? fit_tagger(*options) : fit_classifier(*options);
  if (!done) return report(done.error());
  if (parsed.count("json") != 0) {
    std::fputs((to_json(*options, *done) + "\n").c_str(), stdout);
  } else {
    print_tables(to_tables(*options, *done));
  }
  return kExitOk;
}

int fit_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox fit",
      "Fits a linear head to labelled lines, without changing the trunk. The lines are {\"text\", "
      "\"label\"} or {\"text\", \"entities\": [{\"type\", \"start\", \"end\"}]} (code points, end "
      "exclusive). A tenth of the texts is used to choose the penalty and to calibrate the scores "
      "(if that is under a hundred texts, five-fold cross-validation is used instead); another "
      "tenth "
      "is held out for the report. Use the result as a model of its own, or as a head of its trunk "
      "(--head DIR).");
  auto add = options.add_options();
  add("task", "classify or tag", cxxopts::value<std::string>(), "TASK");
  add("trunk", "model directory, or the name of a pulled model", cxxopts::value<std::string>(),
      "DIR");
  add("data", "labelled lines", cxxopts::value<std::string>(), "FILE");
  add("out", "directory for the head", cxxopts::value<std::string>(), "DIR");
  add("dtype", "number format to compute with: f32, bf16 or int8",
      cxxopts::value<std::string>()->default_value("f32"), "TYPE");
  add("threads", "texts processed at the same time; 0: one per processor",
      cxxopts::value<int32_t>()->default_value("0"), "N");
  add("pooling", "a classifier's input: mean, or cls for the first token",
      cxxopts::value<std::string>()->default_value("mean"), "HOW");
  add("balanced", "weight all labels equally, however rare they are");
  add("l2", "penalty; default: the best of several", cxxopts::value<Number>(), "X");
  add("json", "write JSON instead of tables");
  return with_options(options, argc, argv, {"task", "trunk", "data", "out"}, fit);
}

}  // namespace

const Command kFitCommand = {"fit", "trains a head for your own labels", fit_command};

}  // namespace signalbox::tools
