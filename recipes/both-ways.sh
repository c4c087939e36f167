#!/bin/sh
# Translation from SOURCE to TARGET in three steps: a model for both directions, its translations of the training text,
# and the same model trained further on these and the originals, in the one direction.
#
#   recipes/both-ways.sh SOURCE TARGET FOLDER UPDATES FURTHER [OPTION...]
#
# leaves FOLDER/both-ways after UPDATES, and FOLDER/SOURCE-TARGET after FURTHER ones. Each OPTION is for both trainings.
# Started again, it goes on where it stopped. The text is DATA/train.SOURCE, train.TARGET, val.SOURCE and val.TARGET;
# HEED names another program. Start it in the project's folder, to which the paths are relative.
set -eu
heed=${HEED:-build/heed}
data=${DATA:-../shared/data/multi30k}
if [ $# -lt 5 ]; then
  echo "usage: recipes/both-ways.sh SOURCE TARGET FOLDER UPDATES FURTHER [OPTION...]" >&2
  exit 2
fi
source=$1 target=$2 out=$3 updates=$4 further=$5
shift 5

# train FOLDER UPDATES OPTION...: a run that is finished ends at once.
train() {
  folder=$1 length=$2
  shift 2
  if [ -e "$folder/recipe.toml" ]; then
    set -- "$@" --resume
  fi
  "$heed" train recipes/multi30k-both-ways.toml --out "$folder" --set training.updates="$length" \
    --set schedule.length="$length" --set data.validation_source="$data/val.$source" \
    --set data.validation_target="$data/val.$target" "$@"
}

# translate FROM TO: the training text of one language into the other.
translate() {
  if [ ! -e "$out/made.$2" ]; then
    "$heed" translate --model "$out/both-ways" --beam 4 < "$data/train.$1" > "$out/made.$2.part"
    mv "$out/made.$2.part" "$out/made.$2"
  fi
}

mkdir -p "$out"
train "$out/both-ways" "$updates" \
  --set data.train_source="$data/train.$source,$data/train.$target" \
  --set data.train_target="$data/train.$target,$data/train.$source" "$@"
translate "$source" "$target"
translate "$target" "$source"
train "$out/$source-$target" "$further" --set training.from="$out/both-ways" \
  --set schedule.peak=0.002 --set schedule.warmup=200 \
  --set data.train_source="$data/train.$source,$data/train.$source,$out/made.$source" \
  --set data.train_target="$data/train.$target,$out/made.$target,$data/train.$target" "$@"
