#!/bin/sh
# The Shakespeare character model with each kind of positions, trained for the same updates and then measured on its
# validation text in contexts of 1, 2 and 4 times the trained length (64).
#
#   recipes/positions.sh FOLDER [TEXT]    leaves a model for each kind in FOLDER; TEXT: another text to learn from
#
# Start it in the project's folder. HEED names another program. Started again, it measures what is trained already.
set -eu
heed=${HEED:-build/heed}
out=${1:?name a folder for the models}
text=${2:-../shared/data/shakespeare/input.txt}
if [ ! -f "$text" ]; then
  echo "$0: there is no text $text: name one after the folder" >&2
  exit 2
fi

# measure NAME LENGTH [OPTION...]: nats per character, each predicted from half of LENGTH characters at least.
measure() {
  name=$1 length=$2
  shift 2
  printf '%s, %s characters: ' "$name${*:+ }$*" "$length"
  "$heed" perplexity --model "$out/$name" --context "$length" "$@" < "$out/validation.txt" 2>&1 | tail -n 1
}

# compare NAME [SETTING...]
compare() {
  name=$1
  shift
  if [ ! -e "$out/$name/model.safetensors" ]; then
    "$heed" train recipes/shakespeare-char.toml --out "$out/$name" --set data.train="$text" "$@" > "$out/$name.log"
  fi
  for length in 64 128 256; do
    measure "$name" "$length" || true # learned positions take no more than 64, and say so
  done
}

mkdir -p "$out"
# The last tenth, as the recipe keeps it.
tail -c "$(($(wc -c < "$text") / 10 + 1))" "$text" > "$out/validation.txt"
for positions in none sinusoidal learned rotary alibi relative-bias relative-keys relative-keys-values; do
  compare "$positions" --set model.positions="$positions"
done
compare sinusoidal-scaled --set model.positions=sinusoidal --set model.embedding_scale=sqrt-model
compare relative-bias-near --set model.positions=relative-bias --set model.relative_max_distance=32
compare rotary-half --set model.positions=rotary --set model.rotary_width=16
for scaling in linear ntk yarn; do
  for length in 128 256; do
    measure rotary "$length" --rotary-scaling "$scaling"
  done
done
