#!/bin/bash
# A tier's object file may define weak symbols only for its own vector width. Any other (a standard container, a helper
# without the width in its name) would be wide code that the linker may choose for every processor.
# usage: isa_leak.sh OBJECT...
set -u
failed=0
for object in "$@"; do
  case $object in
    *tier_avx2*) own=avx2 ;;
    *tier_avx512*) own=avx512 ;;
    *tier_vnni*) own=vnni ;;
    *) continue ;;
  esac
  leaks=$(nm -C "$object" | grep -E '^[0-9a-f]+ [WVu] ' | grep -v -i -e "$own" -e __gxx_personality)
  if [ -n "$leaks" ]; then
    echo "$object: weak symbols without \"$own\" in their name:"
    echo "$leaks"
    failed=1
  fi
done
exit $failed
