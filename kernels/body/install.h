#pragma once
// Fills a table with the bodies for one vector width.

#include "kernels/body/attention.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/linear.h"
#include "kernels/body/norm.h"
#include "kernels/body/quantize.h"
#include "kernels/body/rope.h"
#include "kernels/kernels.h"

namespace signalbox::kernels::body {

template <class Arch>
void install(Table& table) {
  table.packed_linear_size = packed_linear_size<Arch>;
  table.pack_linear = pack_linear<Arch>;
  table.linear = linear<Arch>;
  table.quantize_rows = quantize_rows<Arch>;
  table.add_bias = add_bias<Arch>;
  table.add_bias_gelu = add_bias_gelu<Arch>;
  table.geglu = geglu<Arch>;
  table.gelu = gelu<Arch>;
  table.tanh = tanh<Arch>;
  table.relu = relu<Arch>;
  table.layer_norm = layer_norm<Arch>;
  table.add_bias_residual_norm = add_bias_residual_norm<Arch>;
  table.rope = rope<Arch>;
  table.attention = attention<Arch>;
  table.mean_rows = mean_rows<Arch>;
  table.l2_normalize = l2_normalize<Arch>;
  table.add = add<Arch>;
  table.dot = dot<Arch>;
}

}  // namespace signalbox::kernels::body
