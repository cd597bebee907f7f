#pragma once
// What a tier file provides: a function that overwrites the entries it has better code for. Applied
// in order, each over the one before; base fills every entry.

#include "kernels/kernels.h"

namespace signalbox::kernels {

void install_base(Table& table);
void install_avx2(Table& table);
void install_avx512(Table& table);
void install_vnni(Table& table);
void install_bf16(Table& table);

}  // namespace signalbox::kernels
