#!/bin/sh
# The files of classify-language.toml and classify-halves.toml, in the folder `made`.
#
#   recipes/encoders.sh [LABELS]    LABELS: how many labelled sentences to learn languages from; all of them if not given
#
# Start it in the project's folder, to which the paths in the recipes are relative. HEED names another program.
set -eu
heed=${HEED:-build/heed}
data=../shared/data/multi30k
labels=${1:-58000}

# Sentences with the name of their language, German and English in turn.
languages() {
  paste "$data/$1.de" "$data/$1.en" | awk -F '\t' '{print $1 "\tde"; print $2 "\ten"}'
}

# The halves of sentences, for each sentence "both" kinds, or "one" in turn: a first half with its own second half, and
# with that of the sentence two further on.
halves() {
  awk -v kinds="$2" '
    NF >= 6 {
      ++n
      half = int(NF / 2)
      for (i = 1; i <= NF; ++i) {
        if (i <= half) first[n] = first[n] (i > 1 ? " " : "") $i
        else second[n] = second[n] (i > half + 1 ? " " : "") $i
      }
    }
    END {
      for (i = 1; i <= n; ++i) {
        if (kinds == "both" || i % 2 == 0) print first[i] "\t" second[i] "\tsame"
        if (kinds == "both" || i % 2 == 1) print first[i] "\t" second[i + 2 <= n ? i + 2 : 1] "\tother"
      }
    }' "$1"
}

mkdir -p made
languages val > made/language-val.tsv
languages train | head -n "$labels" > made/language-train.tsv
if [ ! -e made/demo ]; then
  "$heed" demo --out made/demo --updates 1 > made/demo.log
fi
halves made/demo/train.en both > made/halves-train.tsv
halves made/demo/validation.en one > made/halves-val.tsv
