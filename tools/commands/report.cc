// `signalbox report`: the spending of requests, and the savings by routing.

#include <chrono>
#include <cstdio>
#include <cxxopts.hpp>
#include <string>

#include "router/config/load.h"
#include "router/shared_spending/postgres_spending.h"
#include "router/spending/database.h"
#include "router/spending/ledger.h"
#include "router/spending/report.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

Result<std::unique_ptr<spending::Source>> open_file(const std::filesystem::path& file) {
  SIGNALBOX_TRY(spending::Database database, spending::Database::open(file, true));
  return std::make_unique<spending::Database>(std::move(database));
}

Result<std::unique_ptr<spending::Source>> open_source(const cxxopts::ParseResult& parsed) {
  if (parsed.count("file") > 0) return open_file(parsed["file"].as<std::string>());
  const std::string name = parsed["config"].as<std::string>();
  SIGNALBOX_TRY(const config::Loaded loaded, config::load(name));
  if (!loaded.config.spending)
    return fail(Code::kInvalid, "{}: global.spending: the configuration does not count spending",
                name);
  if (!loaded.config.spending->is_common())
    return open_file(spending::file_of(*loaded.config.spending, name));
  SIGNALBOX_TRY(const auto store, shared_spending::open_store(*loaded.config.spending));
  return store->source();
}

Result<spending::Day> day_option(const cxxopts::ParseResult& parsed, const char* option,
                                 spending::Day without) {
  if (parsed.count(option) == 0) return without;
  auto day = spending::parse_day(parsed[option].as<std::string>());
  if (!day) return fail_in(fmt::format("--{}", option), std::move(day).error());
  return day;
}

/// The rows to sum up, and how to group them. Errors are usage errors.
struct ReportOptions {
  spending::GroupBy by;
  spending::Day first, last;
};

Result<ReportOptions> read_report_options(const cxxopts::ParseResult& parsed) {
  const std::string word = parsed["by"].as<std::string>();
  const auto by = spending::parse_group_by(word);
  if (!by) {
    return fail(Code::kInvalid,
                "--by: expected key, user, group, model, decision or day, found \"{}\"", word);
  }
  const spending::Day today = spending::day_of(std::chrono::system_clock::now());
  SIGNALBOX_TRY(const spending::Day first, day_option(parsed, "since", 0));
  SIGNALBOX_TRY(const spending::Day last, day_option(parsed, "until", today));
  return ReportOptions{*by, first, last};
}

Result<spending::Report> make_report(const cxxopts::ParseResult& parsed,
                                     const ReportOptions& wanted) {
  SIGNALBOX_TRY(const auto source, open_source(parsed));
  return spending::sum_up(*source, wanted.by, wanted.first, wanted.last);
}

int report_command(int argc, char** argv) {
  cxxopts::Options options("signalbox report",
                           "Prints the spending of requests, by key, user, group, model, decision "
                           "or day. \"saved\" compares with the same tokens on the most expensive "
                           "model. A running router writes its figures within a second.");
  options.add_options()("config",
                        "configuration file, whose global.spending names the file or the server",
                        cxxopts::value<std::string>(), "FILE");
  options.add_options()("file", "the file of the spending itself", cxxopts::value<std::string>(),
                        "FILE");
  options.add_options()("by", "key, user, group, model, decision or day",
                        cxxopts::value<std::string>()->default_value("key"), "WHAT");
  options.add_options()("since", "first day in UTC, such as 2026-01-31",
                        cxxopts::value<std::string>(), "DATE");
  options.add_options()("until", "last day", cxxopts::value<std::string>(), "DATE");
  options.add_options()("json", "print JSON");
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    if (parsed.count("config") + parsed.count("file") != 1) {
      std::fputs("signalbox report: expected --config or --file; see `signalbox report --help`\n",
                 stderr);
      return kExitUsage;
    }
    const auto wanted = read_report_options(parsed);
    if (!wanted) {
      std::fprintf(stderr, "signalbox report: %s\n", wanted.error().message.c_str());
      return kExitUsage;
    }
    const auto made = make_report(parsed, *wanted);
    if (!made) return report(made.error());
    const std::string text = parsed.count("json") > 0 ? spending::report_json(*made) + "\n"
                                                      : spending::report_text(*made);
    std::fputs(text.c_str(), stdout);
    return kExitOk;
  });
}

}  // namespace

const Command kReportCommand = {"report", "prints the spending of requests", report_command};

}  // namespace signalbox::tools
