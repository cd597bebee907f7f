#pragma once
// What every command does with its options: --help, errors with exit code 2, and model names.

#include <cxxopts.hpp>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <istream>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace signalbox::tools {

/// Adds --help, parses, and calls `body` with the result. Prints help and returns kExitOk for
/// --help; prints what is wrong and returns kExitUsage for an unknown option, a stray argument or a
/// missing one of `required`.
int with_options(cxxopts::Options& options, int argc, char** argv,
                 std::initializer_list<const char*> required,
                 const std::function<int(const cxxopts::ParseResult&)>& body);

/// The value of an option that is a finite number from end to end; the library takes "0,5" for 0.
struct Number {
  double value = 0;
};
std::istream& operator>>(std::istream& in, Number& out);

/// Those of how a model runs: --dtype, --threads; and what they mean.
void add_pass_options(cxxopts::Options& options);
Result<engine::OpenOptions> pass_options(const cxxopts::ParseResult& parsed);

/// The options of every command that runs a model: --model, --dtype, --threads, --head,
/// --adapter.
void add_model_options(cxxopts::Options& options);

/// What --dtype means, or another option of that kind.
Result<engine::Precision> parse_dtype(std::string_view name, std::string_view option = "--dtype");

/// A model as add_model_options() names it, not opened yet.
struct ModelChoice {
  std::string model;  // a directory or a name
  engine::OpenOptions options;
  const char* option = "--model";  // that errors name
};

/// What those options say. Errors are usage errors.
Result<ModelChoice> model_choice(const cxxopts::ParseResult& parsed);

/// Opens it: every command does so here.
Result<std::unique_ptr<const engine::TextModel>> open_model(const ModelChoice& choice);

/// with_options(), and the model that they name. An error in them is a usage error; one of the
/// model is printed with kExitFailure.
int with_model(
    cxxopts::Options& options, int argc, char** argv,
    const std::function<int(const cxxopts::ParseResult&, const engine::TextModel&)>& body);

/// The head of that model which --model or --head names, or its first of the kind: its place in
/// model.heads(). Errors: kInvalid, with what heads there are.
Result<size_t> chosen_head(const ModelChoice& choice, const engine::TextModel& model,
                           engine::HeadKind kind);
Result<size_t> chosen_head(const cxxopts::ParseResult& parsed, const engine::TextModel& model,
                           engine::HeadKind kind);

/// What --model means: a directory, or the name of a model under models/ in the working directory,
/// or of a head of one ("domain": models/signals/domain).
std::filesystem::path model_directory(const std::string& model);

}  // namespace signalbox::tools
