#pragma once
// Option handling that all commands share: --help, exit code 2 for bad usage, and model names.

#include <cxxopts.hpp>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "router/config/catalog.h"

namespace signalbox::tools {

/// Adds --help, parses the arguments, and calls `body` with the result. For --help, prints the help
/// text and returns kExitOk. For an unknown option, a stray argument or a missing `required` one,
/// prints the error and returns kExitUsage.
int with_options(cxxopts::Options& options, int argc, char** argv,
                 std::initializer_list<const char*> required,
                 const std::function<int(const cxxopts::ParseResult&)>& body);

/// The value of an option: a finite number that fills the whole argument. The library's own parser
/// would read "0,5" as 0.
struct Number {
  double value = 0;
};
std::istream& operator>>(std::istream& in, Number& out);

/// Adds the options that control how a model runs, --dtype and --threads; and reads them.
void add_pass_options(cxxopts::Options& options);
Result<engine::OpenOptions> pass_options(const cxxopts::ParseResult& parsed);

/// Adds the options of every command that runs a model: --model, --dtype, --threads, --head and
/// --adapter.
void add_model_options(cxxopts::Options& options);

/// Adds --missing-models, which overrides the configuration's key missing_models; and returns the
/// reaction that the option or the configuration requests. Errors are usage errors.
void add_missing_models(cxxopts::Options& options);
Result<std::optional<config::MissingModels>> missing_models(const cxxopts::ParseResult& parsed);

/// Parses the value of --dtype or of a similar option.
Result<engine::Precision> parse_dtype(std::string_view name, std::string_view option = "--dtype");

/// A model as add_model_options() names it; it is not open yet.
struct ModelChoice {
  std::string model;  // a directory or a name
  engine::OpenOptions options;
  const char* option = "--model";  // named in errors
};

/// Reads the options of add_model_options(). Errors are usage errors.
Result<ModelChoice> model_choice(const cxxopts::ParseResult& parsed);

/// Opens the model. All commands open models with this function.
Result<std::unique_ptr<const engine::TextModel>> open_model(const ModelChoice& choice);

/// Calls with_options() and opens the model that the options name. An error in the options is a
/// usage error; an error of the model is printed and returns kExitFailure.
int with_model(
    cxxopts::Options& options, int argc, char** argv,
    const std::function<int(const cxxopts::ParseResult&, const engine::TextModel&)>& body);

/// Returns the index in model.heads() of the head that --model or --head names, or of the first
/// head of the kind. kInvalid lists the available heads.
Result<size_t> chosen_head(const ModelChoice& choice, const engine::TextModel& model,
                           engine::HeadKind kind);
Result<size_t> chosen_head(const cxxopts::ParseResult& parsed, const engine::TextModel& model,
                           engine::HeadKind kind);

/// Resolves the value of --model: a directory; the name of a model under models/ in the working
/// directory; or the name of a head of such a model ("domain": models/signals/domain).
std::filesystem::path model_directory(const std::string& model);

}  // namespace signalbox::tools
