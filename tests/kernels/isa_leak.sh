#!/bin/bash
# A tier's object file may define weak symbols only for its own instructions. The linker keeps one copy of a weak symbol
# for every processor. On x86-64 such a symbol names its vector width. On arm64 the tiers share one width, so there a
# symbol that holds a tier's instructions must name code of kernels/arm.
# usage: isa_leak.sh OBJDUMP NM OBJECT...
set -u
objdump=$1 nm=$2
shift 2
failed=0

report() { # report OBJECT PROBLEM LINES
  [[ -n $3 ]] || return 0
  echo "$1: $2:"
  echo "$3"
  failed=1
}

for object in "$@"; do
  own=
  case $object in
    *tier_avx2*) own=avx2 ;;
    *tier_avx512*) own=avx512 ;;
    *tier_vnni*) own=vnni ;;
    *tier_amx*) own=amx ;;
    *tier_neon* | *tier_i8mm* | *tier_arm_bf16*)
      report "$object" "instructions of the tier outside signalbox::kernels::arm" "$("$objdump" --disassemble --demangle \
        --no-show-raw-insn "$object" | awk '/^[0-9a-f]+ </ { name = $0 }
          /\t(sdot|udot|usdot|sudot|smmla|ummla|usmmla|bf[a-z0-9]*)[ \t]/ && name !~ /kernels::arm::|peak_loop/ { print name }' | sort -u)"
      ;;
  esac
  [[ -n $own ]] || continue
  report "$object" "weak symbols without \"$own\" in their name" \
    "$("$nm" -C "$object" | grep -E '^[0-9a-f]+ [WVu] ' | grep -v -i -e "$own" -e __gxx_personality)"
done
exit $failed
