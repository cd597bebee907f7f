# Extends bash for the commands of a page. A page runs `signalbox serve` in a second terminal; here, it runs in the
# background, and the next command waits until it is ready. A second `signalbox serve` replaces the first. The shell of
# tests/docs/session.mjs sources this file and sets MANAGEMENT_PORT.

router=
stop_router() {
  [[ $router ]] || return 0
  kill -TERM "$router"
  local status=0
  wait "$router" || status=$?
  router=
  ((status == 0)) || { echo "the router ended with status $status:"; cat router.log; }
  return $status
}

# Adds a free management port to a configuration that does not set one.
free_management_port() {
  ! grep -q management_api "$1" || return 0
  local line="management_api: {port: $MANAGEMENT_PORT}"
  if grep -q '^  services:$' "$1"; then
    sed -i "s/^  services:\$/&\n    $line/" "$1"
  elif grep -q '^global:$' "$1"; then
    sed -i "s/^global:\$/&\n  services:\n    $line/" "$1"
  else
    printf 'global:\n  services:\n    %s\n' "$line" >> "$1"
  fi
}

# Pages sleep while the router reloads its file, which takes longer on a busy machine. So this `sleep` waits for the
# reload: until the router reports that it uses the file as it now is.
sleep() {  # SECONDS
  [[ $router ]] || { command sleep "$@"; return; }
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    ! curl --silent "localhost:$MANAGEMENT_PORT/config/status" | grep -q "$(sha256sum < "$served" | cut -d ' ' -f 1)" || return 0
    command sleep 0.1
  done
  echo "the router did not reload $served"
  return 1
}

serve() {  # OPTION...
  local file=deploy/config/default.yaml i tries
  for ((i = 1; i < $#; ++i)); do
    if [[ ${!i} == --config ]]; then ((++i)); file=${!i}; fi
  done
  stop_router
  free_management_port "$file"
  served=$file
  signalbox serve "$@" > router.log 2>&1 &
  router=$!
  for ((tries = 0; tries < 600; ++tries)); do
    if curl --silent --fail --output /dev/null "localhost:$MANAGEMENT_PORT/ready"; then return 0; fi
    kill -0 "$router" 2> /dev/null || break
    command sleep 0.1
  done
  echo "the router did not become ready:"
  cat router.log
  return 1
}
