#!/bin/sh
# Translation from SOURCE to TARGET in three steps: a model for both directions, its translations of the training text,
# and the same model trained further on these and the originals, in the one direction.
#
#   recipes/both-ways.sh SOURCE TARGET FOLDER UPDATES[,AGAIN...] FURTHER [OPTION...]
#
# leaves FOLDER/both-ways after UPDATES, and FOLDER/SOURCE-TARGET after FURTHER ones. With AGAIN, the model for both
# directions learns that many updates more from its own translations and the originals (FOLDER/both-ways-2), and then
# translates the text once more. Every training gets the OPTIONs.
# Started again, it goes on where it stopped. The text is DATA/train.SOURCE, train.TARGET, val.SOURCE and val.TARGET;
# HEED names another program. Start it in the project's folder, to which the paths are relative.
set -eu
heed=${HEED:-build/heed}
data=${DATA:-../shared/data/multi30k}
if [ $# -lt 5 ] || [ -z "$(echo "$4" | tr -d ,)" ]; then
  echo "usage: recipes/both-ways.sh SOURCE TARGET FOLDER UPDATES[,AGAIN...] FURTHER [OPTION...]" >&2
  exit 2
fi
source=$1 target=$2 out=$3 rounds=$4 further=$5
shift 5

# train FOLDER UPDATES OPTION...: with the weights of the latest model, once there is one. A run that is finished ends at
# once.
train() {
  folder=$1 length=$2
  shift 2
  if [ -n "$model" ]; then
    set -- --set training.from="$model" --set schedule.peak=0.002 --set schedule.warmup=200 "$@"
  fi
  if [ -e "$folder/recipe.toml" ]; then
    set -- "$@" --resume
  fi
  "$heed" train recipes/multi30k-both-ways.toml --out "$folder" --set training.updates="$length" \
    --set schedule.length="$length" --set data.validation_source="$data/val.$source" \
    --set data.validation_target="$data/val.$target" "$@"
}

# translate FROM TO: the training text of one language into the other.
translate() {
  if [ ! -e "$made.$2" ]; then
    "$heed" translate --model "$model" --beam 4 < "$data/train.$1" > "$made.$2.part"
    mv "$made.$2.part" "$made.$2"
  fi
}

mkdir -p "$out"
# What the one direction is learned from: file by file, the sources and their translations.
sources=$data/train.$source targets=$data/train.$target
model='' round=1
for updates in $(echo "$rounds" | tr , ' '); do
  suffix=$([ $round -eq 1 ] || echo "-$round")
  train "$out/both-ways$suffix" "$updates" \
    --set data.train_source="$sources,$targets" --set data.train_target="$targets,$sources" "$@"
  model=$out/both-ways$suffix made=$out/made$suffix
  translate "$source" "$target"
  translate "$target" "$source"
  sources=$sources,$data/train.$source,$made.$source targets=$targets,$made.$target,$data/train.$target
  round=$((round + 1))
done
train "$out/$source-$target" "$further" --set data.train_source="$sources" --set data.train_target="$targets" "$@"
