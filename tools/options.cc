// The adapter that catches cxxopts' exceptions.

#include "tools/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <vector>

#include "engine/model_path.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "weights/manifest_places.h"

namespace signalbox::tools {
namespace {

// The library reports a value that it cannot parse, but not the option that the value belongs to.
std::string with_option_name(std::string message, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) continue;
    const size_t equals = argument.find('=');
    const std::string_view value = equals != argument.npos ? argument.substr(equals + 1)
                                   : i + 1 < argc          ? argv[i + 1]
                                                           : "";
    if (message == fmt::format("Argument \u2018{}\u2019 failed to parse", value))
      return fmt::format("{}: cannot read \"{}\"", argument.substr(0, equals), value);
  }
  return message;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// Reads the options for GLiNER models, which only some commands have.
Result<void> read_labels(const cxxopts::ParseResult& parsed, engine::OpenOptions& options) {
  if (parsed.count("labels") == 0) return {};
  std::string_view left = parsed["labels"].as<std::string>();
  for (bool more = true; more;) {
    const size_t comma = left.find(',');
    const std::string_view label = trimmed(left.substr(0, comma));
    if (label.empty()) {
      return fail(Code::kInvalid,
                  "--labels: expected labels with commas between them, found \"{}\"",
                  parsed["labels"].as<std::string>());
    }
    options.labels.emplace_back(label);
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
  }
  if (parsed.count("threshold") == 0) return {};
  const double least = parsed["threshold"].as<Number>().value;
  if (least < 0 || least >= 1) {
    return fail(Code::kInvalid, "--threshold: expected 0 or more and less than 1, found {}", least);
  }
  options.least_score = static_cast<float>(least);
  return {};
}

// cxxopts wraps the options, but not the description above them.
std::string wrapped(std::string text) {
  constexpr size_t kColumns = 100;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    const size_t space = end - begin > kColumns ? text.rfind(' ', begin + kColumns) : end;
    if (space > begin && space < end) {
      text[space] = '\n';
      end = space;
    }
    begin = end + 1;
  }
  return text;
}

// An argument without a name is described by its values.
std::string missing(const cxxopts::Options& options, const std::string& name) {
  if (name != "words") return "--" + name + " is missing";
  for (const cxxopts::HelpOptionDetails& each : options.group_help("").options) {
    if (std::ranges::find(each.l, name) != each.l.end()) return "expected " + each.desc;
  }
  return "an argument is missing";
}

}  // namespace

std::istream& operator>>(std::istream& in, Number& out) {
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || !std::isfinite(out.value)) in.setstate(std::ios::failbit);
  return in;
}

int with_options(cxxopts::Options& options, int argc, char** argv,
                 std::initializer_list<const char*> required,
                 const std::function<int(const cxxopts::ParseResult&)>& body) {
  options.add_options()("h,help", "print this text");
  cxxopts::ParseResult parsed;
  std::string mistake;
  try {
    parsed = options.parse(argc, argv);
    if (!parsed.unmatched().empty())
      mistake = "unexpected argument \"" + parsed.unmatched().front() + "\"";
    for (const char* name : required) {
      if (mistake.empty() && parsed.count(name) == 0) mistake = missing(options, name);
    }
  } catch (const cxxopts::exceptions::exception& error) {
    mistake = with_option_name(error.what(), argc, argv);
  }
  if (mistake.empty() || parsed.count("help") > 0) {
    if (parsed.count("help") == 0) return body(parsed);
    std::fputs(wrapped(options.help()).c_str(), stdout);
    return kExitOk;
  }
  std::fprintf(stderr, "%s: %s; see `%s --help`\n", options.program().c_str(), mistake.c_str(),
               options.program().c_str());
  return kExitUsage;
}

void add_pass_options(cxxopts::Options& options) {
  auto add = options.add_options();
  add("dtype", "number format to compute with: f32, bf16 or int8",
      cxxopts::value<std::string>()->default_value("f32"), "TYPE");
  add("threads", "threads for each text; the results do not depend on it",
      cxxopts::value<int32_t>()->default_value("1"), "N");
}

void add_model_options(cxxopts::Options& options) {
  auto add = options.add_options();
  add("model", "model directory, or the name of a pulled model", cxxopts::value<std::string>(),
      "DIR");
  add_pass_options(options);
  add("head",
      "directory of an additional head for the model, for example one written by `signalbox fit`",
      cxxopts::value<std::string>(), "DIR");
  add("adapter", "directory of a low-rank adapter (PEFT) to merge into the model",
      cxxopts::value<std::string>(), "DIR");
}

Result<engine::OpenOptions> pass_options(const cxxopts::ParseResult& parsed) {
  engine::OpenOptions out;
  SIGNALBOX_TRY(out.precision, parse_dtype(parsed["dtype"].as<std::string>()));
  out.threads = parsed["threads"].as<int32_t>();
  if (out.threads < 1 || out.threads > engine::kThreadsMax) {
    return fail(Code::kInvalid, "--threads: expected 1 to {}, found {}", engine::kThreadsMax,
                out.threads);
  }
  return out;
}

void add_missing_models(cxxopts::Options& options) {
  options.add_options()(
      "missing-models",
      "reaction to classifiers that are not on the machine, instead of the configuration's: fail; "
      "stand-in: our own head for the same task answers; or ignore: conditions on their signals, "
      "including guards, never match",
      cxxopts::value<std::string>(), "REACTION");
}

Result<std::optional<config::MissingModels>> missing_models(const cxxopts::ParseResult& parsed) {
  using config::MissingModels;
  if (parsed.count("missing-models") == 0) return std::nullopt;
  const auto& value = parsed["missing-models"].as<std::string>();
  if (value == "fail" || value == "refuse") return MissingModels::kFail;
  if (value == "stand-in") return MissingModels::kStandIn;
  if (value == "ignore") return MissingModels::kIgnore;
  return fail(Code::kInvalid, "--missing-models: expected fail, stand-in or ignore, found \"{}\"",
              value);
}

Result<ModelChoice> model_choice(const cxxopts::ParseResult& parsed) {
  ModelChoice out;
  if (parsed.count("model") != 0) out.model = parsed["model"].as<std::string>();
  engine::OpenOptions& options = out.options;
  SIGNALBOX_TRY(options, pass_options(parsed));
  if (parsed.count("head") != 0) {
    const auto& head = parsed["head"].as<std::string>();
    if (head.empty()) return fail(Code::kInvalid, "--head: expected a directory");
    options.heads.emplace_back(head);
  }
  if (parsed.count("adapter") != 0) {
    options.adapter = parsed["adapter"].as<std::string>();
    if (options.adapter.empty()) return fail(Code::kInvalid, "--adapter: expected a directory");
  }
  SIGNALBOX_TRY_VOID(read_labels(parsed, options));
  return out;
}

Result<std::unique_ptr<const engine::TextModel>> open_model(const ModelChoice& choice) {
  const std::filesystem::path directory = model_directory(choice.model);
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored)) {
    const std::string command = weights::pull_command(directory.string());
    if (!command.empty()) {
      return fail(Code::kNotFound, "{}: {} does not exist; fetch it with `{}`", choice.option,
                  directory.string(), command);
    }
    return fail(Code::kNotFound,
                "{}: {} does not exist; expected a model directory or the name of a "
                "pulled model (`signalbox models list`)",
                choice.option, directory.string());
  }
  if (!std::filesystem::is_directory(directory, ignored)) {
    return fail(Code::kInvalid, "{}: expected a directory, found the file {}", choice.option,
                directory.string());
  }
  return engine::TextModel::open(directory, choice.options);
}

Result<engine::Precision> parse_dtype(std::string_view name, std::string_view option) {
  if (name == "f32") return engine::Precision::kF32;
  if (name == "bf16") return engine::Precision::kBF16;
  if (name == "int8") return engine::Precision::kI8;
  return fail(Code::kInvalid, "{}: expected f32, bf16 or int8, found \"{}\"", option, name);
}

int with_model(
    cxxopts::Options& options, int argc, char** argv,
    const std::function<int(const cxxopts::ParseResult&, const engine::TextModel&)>& body) {
  return with_options(options, argc, argv, {"model"}, [&](const cxxopts::ParseResult& parsed) {
    const auto chosen = model_choice(parsed);
    if (!chosen) {
      std::fprintf(stderr, "%s: %s\n", options.program().c_str(), chosen.error().message.c_str());
      return kExitUsage;
    }
    const auto model = open_model(*chosen);
    return model ? body(parsed, **model) : report(model.error());
  });
}

Result<size_t> chosen_head(const ModelChoice& choice, const engine::TextModel& model,
                           engine::HeadKind kind) {
  if (!choice.options.heads.empty()) {
    const std::filesystem::path& head = choice.options.heads.back();
    return engine::find_head(model, (head / "").parent_path().filename().string(), kind);
  }
  SIGNALBOX_TRY(const auto path, engine::find_model(model_directory(choice.model)));
  return engine::find_head(model, path.head, kind);
}

Result<size_t> chosen_head(const cxxopts::ParseResult& parsed, const engine::TextModel& model,
                           engine::HeadKind kind) {
  SIGNALBOX_TRY(const ModelChoice choice, model_choice(parsed));
  return chosen_head(choice, model, kind);
}

std::filesystem::path model_directory(const std::string& model) {
  namespace fs = std::filesystem;
  if (model.find('/') != std::string::npos || fs::exists(model))
    return weights::installed_directory(model);
  fs::path named = fs::path("models") / model;
  if (fs::exists(named)) return named;
  if (fs::path installed = weights::installed_directory(named.string()); fs::exists(installed))
    return installed;
  std::vector<fs::path> heads;
  std::error_code error;
  for (fs::directory_iterator at("models", error), end; !error && at != end; at.increment(error)) {
    if (fs::exists(at->path() / model / "config.json")) heads.push_back(at->path() / model);
  }
  return heads.empty() ? named : *std::ranges::min_element(heads);
}

}  // namespace signalbox::tools
