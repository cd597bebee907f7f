#pragma once
// What every command does with its options: --help, errors with exit code 2, and model names.

#include <cxxopts.hpp>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>

namespace signalbox::tools {

/// Adds --help, parses, and calls `body` with the result. Prints help and returns kExitOk for
/// --help; prints what is wrong and returns kExitUsage for an unknown option, a stray argument or a
/// missing one of `required`.
int with_options(cxxopts::Options& options, int argc, char** argv,
                 std::initializer_list<const char*> required,
                 const std::function<int(const cxxopts::ParseResult&)>& body);

/// What --model means: a directory, or the name of a model under models/ in the working directory.
std::filesystem::path model_directory(const std::string& model);

}  // namespace signalbox::tools
