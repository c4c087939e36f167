#!/bin/sh
# English to German in three steps: a model for both directions, its translations of the training text, and the model
# of multi30k-en-de.toml, which learns from these and the originals. Started again, the script goes on where it stopped.
#
#   recipes/multi30k-en-de.sh FOLDER    leaves FOLDER/both-ways and FOLDER/en-de; HEED names another program
#
# Start it in the project's folder, to which the paths in the recipes are relative.
set -eu
heed=${HEED:-build/heed}
data=../shared/data/multi30k
out=${1:?name a folder for the models}

# A run that is finished ends at once.
train() {
  resume=
  if [ -e "$2/recipe.toml" ]; then
    resume=--resume
  fi
  "$heed" train "recipes/$1.toml" --out "$2" $resume
}

translate() {
  if [ ! -e "$2" ]; then
    "$heed" translate --model "$out/both-ways" --beam 4 < "$1" > "$2.part"
    mv "$2.part" "$2"
  fi
}

mkdir -p "$out" made
train multi30k-both-ways "$out/both-ways"
translate "$data/train.de" made/multi30k.en
translate "$data/train.en" made/multi30k.de
train multi30k-en-de "$out/en-de"
