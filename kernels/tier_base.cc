// The tier for every processor of the architecture, using its narrowest vector width.

#include "kernels/body/attention_i16.h"
#include "kernels/body/dots_i8.h"
#include "kernels/body/install.h"
#include "kernels/body/linear_i8.h"
#include "kernels/body/peak.h"
#include "kernels/body/widen.h"
#include "kernels/tier.h"

namespace signalbox::kernels {
namespace {

#if defined(__x86_64__)
using Arch = xsimd::sse2;
#else
using Arch = xsimd::default_arch;
#endif

}  // namespace

int64_t attention_scratch(const AttentionShape& shape) {
  return body::attention_scratch(shape);
}

int64_t attention_i16_scratch(const AttentionShape& shape) {
  return body::ScratchI16(shape).bytes;
}

void install_base(Table& table) {
  table.widen_f16 = body::widen_f16;
  table.widen_bf16 = body::widen_bf16;
  table.linear_i8 = body::linear_i8<Arch, body::ProductI8>;
  table.attention_i16 = body::attention_i16<Arch, body::PlainDotsI16>;
  table.dots_i8 = body::dots_i8<body::PlainDotsI8>;
  body::install<Arch>(table);
}

int64_t peak_loop_base(int64_t steps, const float* in, float* out) {
  return body::peak_loop<Arch>(steps, in, out);
}

}  // namespace signalbox::kernels
