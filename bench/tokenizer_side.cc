// Our side of bench/tokenizer_compare, in its own process like the peer. Reads commands from
// standard input and prints one line for each; times are in seconds of processor time (user and
// system).
//
//   open FILE    reads a tokenizer; prints wall time and processor time
//   compile IN OUT
//   texts FILE   reads rows of {"text"}; prints their number
//   ids          prints the ids of each text as JSON
//   run N        encodes all texts N times; prints the processor time

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {
namespace {

double processor_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[noreturn]] void stop(const Error& error) {
  std::cerr << "tokenizer_side: " << error.message << '\n';
  std::exit(1);
}

class Side {
 public:
  std::string answer(std::istream& command) {
    std::string name, first, second;
    command >> name >> first >> second;
    if (name == "open") return open(first);
    if (name == "compile") return compile(first, second);
    if (name == "texts") return texts(first);
    if (name == "ids") return ids();
    if (name == "run") return run(std::stoi(first));
    stop({Code::kInvalid, "unknown command " + name});
  }

 private:
  std::string open(const std::string& path) {
    const auto begin = std::chrono::steady_clock::now();
    const double processor = processor_s();
    auto opened = Tokenizer::open(path);
    if (!opened) stop(opened.error());
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    tokenizer_ = *std::move(opened);
    return fmt::format("{} {}", wall.count(), processor_s() - processor);
  }

  static std::string compile(const std::string& in, const std::string& out) {
    const auto compiled = Tokenizer::compile(read_file(in), in);
    if (!compiled) stop(compiled.error());
    std::ofstream(out, std::ios::binary) << *compiled;
    return "0";
  }

  std::string texts(const std::string& path) {
    texts_.clear();
    std::ifstream rows(path);
    for (std::string line; std::getline(rows, line);) {
      const auto row = json::Document::parse(line);
      if (!row) stop(row.error());
      texts_.emplace_back(row->root().find("text").value().text());
    }
    return std::to_string(texts_.size());
  }

  std::string ids() {
    json::Writer out;
    out.begin_array();
    for (const std::string& text : texts_) {
      tokenizer_->encode(text, {}, encoding_);
      out.begin_array();
      for (const int32_t id : encoding_.ids) out.integer(id);
      out.end_array();
    }
    return out.end_array().take();
  }

  std::string run(int times) {
    const double begin = processor_s();
    for (int i = 0; i < times; ++i) {
      for (const std::string& text : texts_) tokenizer_->encode(text, {}, encoding_);
    }
    return std::to_string(processor_s() - begin);
  }

  std::unique_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
  Encoding encoding_;
};

}  // namespace
}  // namespace signalbox::tokenizer

int main() {
  signalbox::tokenizer::Side side;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream command(line);
    std::cout << side.answer(command) << std::endl;
  }
  return 0;
}
