#!/bin/sh
# English to German in three steps: a model for both directions, its translations of the training text, and the model
# of multi30k-en-de.toml, which learns from these beside the originals. Started again, it goes on where it was stopped.
#
#   recipes/multi30k-en-de.sh FOLDER    leaves FOLDER/both-ways and FOLDER/en-de; HEED names another program
#
# Started in the project's folder, which the recipes' paths begin at.
set -eu
heed=${HEED:-build/heed}
data=../shared/data/multi30k
out=${1:?names no folder for the models}

# A run that was finished ends at once.
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
