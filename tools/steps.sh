# Readable output for scripts with several steps. Sourced.

# step TITLE COMMAND...: prints a headline and the seconds that the command took. What the command printed is shown only
# if it fails, except for the lines that sum it up.
step() {
  local title=$1 log status=0 start=$SECONDS
  shift
  log=$(mktemp)
  echo "==> $title"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    sed -nE 's/^(.*tests passed.*|clang-tidy: .*|floors: .*)$/    \1/p' "$log"
    echo "    $((SECONDS - start)) s"
  else
    cat "$log"
    echo "==> FAILED after $((SECONDS - start)) s: $title" >&2
  fi
  rm -f "$log"
  return "$status"
}
