#pragma once
// Fills a table with the functions for one vector width.

#include "kernels/body/attention.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/linear_float.h"
#include "kernels/body/linear_openblas.h"
#include "kernels/body/norm.h"
#include "kernels/body/quantize.h"
#include "kernels/body/rope.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

template <class Arch>
void install(Table& table) {
  table.linear_f32 = linear_f32<Arch>;
  table.linear_f32_openblas = linear_f32_openblas<Arch>;
  table.linear_bf16 = linear_bf16<Arch>;
  table.quantize_rows = quantize_rows<Arch>;
  table.gelu = gelu<Arch>;
  table.gelu_tanh = gelu_tanh<Arch>;
  table.tanh = tanh<Arch>;
  table.relu = relu<Arch>;
  table.layer_norm = layer_norm<Arch>;
  table.rms_norm = rms_norm<Arch>;
  table.rope = rope<Arch>;
  table.attention = attention<Arch>;
  table.mean_rows = mean_rows<Arch>;
  table.l2_normalize = l2_normalize<Arch>;
  table.add = add<Arch>;
  table.dot = dot<Arch>;
}

}  // namespace signalbox::kernels::body
