#pragma once
// The interface of a tier file: a function that overwrites the table entries for which the tier has
// better code. The functions are applied in order; base fills every entry.

#include "kernels/kernels.h"

namespace signalbox::kernels {

void install_base(Table& table);
// x86-64.
void install_avx2(Table& table);
void install_avx512(Table& table);
void install_vnni(Table& table);
void install_amx(Table& table);

// arm64.
void install_neon(Table& table);
void install_i8mm(Table& table);

// Either.
void install_bf16(Table& table);

}  // namespace signalbox::kernels
