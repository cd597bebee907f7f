#pragma once
// Runs the tile instructions of compiled code on a TileModel, on processors without AMX: each
// raises SIGILL, and the handler decodes and carries it out. A processor with AMX whose process has
// no permission raises SIGSEGV or SIGILL as well; one that has it runs them, and nothing is caught.
//
// All have a VEX prefix of three bytes, C4 with the map 0F38, then the opcode and ModRM:
//   49 ldtilecfg (no prefix, memory), tilerelease (no prefix, register), tilezero (F2)
//   4B tileloadd (F2), tilestored (F3), with an index register
//   5C tdpbf16ps (F3)   5E tdpbusd (66)

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "kernels/x86/amx_tiles.h"
#include "tests/kernels/tile_model.h"

namespace signalbox::kernels {

class TileTrap {
 public:
  explicit TileTrap(TileModel& model) {
    model_ = &model;
    count_ = 0;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    SIGNALBOX_CHECK(::sigaction(SIGILL, &action, &before_) == 0);
  }
  TileTrap(const TileTrap&) = delete;
  TileTrap& operator=(const TileTrap&) = delete;
  ~TileTrap() {
    ::sigaction(SIGILL, &before_, nullptr);
    model_ = nullptr;
  }

  /// True if tile instructions reach the model.
  bool catches() const {
    const int64_t before = count_;
    x86::AmxTiles::release();
    return count_ > before;
  }
  int64_t count() const { return count_; }

 private:
  enum Prefix : int { kNone, k66, kF3, kF2 };  // VEX.pp

  struct Instruction {
    int prefix;
    int opcode;
    int second;  // VEX.vvvv: the second register
    bool is_register;
    int reg, rm;
    int64_t length;
    char* address;
    int64_t stride;
  };

  static int64_t value_of(const ucontext_t& context, int number) {
    constexpr int kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                               REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                               REG_R12, REG_R13, REG_R14, REG_R15};
    return context.uc_mcontext.gregs[kPlaces[number]];
  }

  static Instruction decode(const ucontext_t& context) {
    const auto* at = reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
    if (at[0] != 0xC4 || (at[1] & 0x1F) != 2) give_up();
    const int high_index = (at[1] & 0x40) == 0 ? 8 : 0, high_base = (at[1] & 0x20) == 0 ? 8 : 0;
    Instruction out{};
    out.prefix = at[2] & 3;
    out.second = ~(at[2] >> 3) & 15;
    out.opcode = at[3];
    const int mode = at[4] >> 6;
    out.is_register = mode == 3;
    out.reg = at[4] >> 3 & 7;
    out.rm = at[4] & 7;
    out.length = 5;
    if (out.is_register) return out;
    int base = out.rm;
    if (out.rm == 4) {  // a SIB byte follows
      const int index = (at[5] >> 3 & 7) + high_index;
      if (index != 4) out.stride = value_of(context, index) << (at[5] >> 6);
      base = at[5] & 7;
      ++out.length;
    }
    if (mode == 0 && base == 5) give_up();  // no base, or relative to RIP
    int32_t offset = 0;
    if (mode == 1) offset = static_cast<int8_t>(at[out.length++]);
    if (mode == 2) {
      std::memcpy(&offset, at + out.length, sizeof offset);
      out.length += 4;
    }
    out.address = reinterpret_cast<char*>(value_of(context, base + high_base) + offset);
    return out;
  }

  static void on_signal(int, siginfo_t*, void* given) {
    auto& context = *static_cast<ucontext_t*>(given);
    const Instruction at = decode(context);
    carry_out(at);
    context.uc_mcontext.gregs[REG_RIP] += at.length;
    count_ = count_ + 1;
  }

  static void carry_out(const Instruction& at) {
    switch (at.opcode << 4 | at.prefix << 1 | (at.is_register ? 1 : 0)) {
      case 0x49 << 4 | kNone << 1: {
        body::TileShapes shapes;
        std::memcpy(&shapes, at.address, sizeof shapes);
        return model_->configure(shapes);
      }
      case 0x49 << 4 | kNone << 1 | 1:
        return model_->release();
      case 0x49 << 4 | kF2 << 1 | 1:
        return model_->zero(at.reg);
      case 0x4B << 4 | kF2 << 1:
        return model_->load(at.reg, at.address, at.stride);
      case 0x4B << 4 | kF3 << 1:
        return model_->store(at.reg, at.address, at.stride);
      case 0x5C << 4 | kF3 << 1 | 1:
        return model_->multiply_bf16(at.reg, at.rm, at.second);
      case 0x5E << 4 | k66 << 1 | 1:
        return model_->multiply_i8(at.reg, at.rm, at.second);
      default:
        give_up();
    }
  }

  // Any other instruction is a real fault.
  [[noreturn]] static void give_up() {
    ::signal(SIGILL, SIG_DFL);
    ::raise(SIGILL);
    ::_exit(1);
  }

  inline static TileModel* model_ = nullptr;
  inline static volatile int64_t count_ = 0;  // changes where the compiler sees no call
  struct sigaction before_ {};
};

}  // namespace signalbox::kernels
