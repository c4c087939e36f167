#!/bin/sh
# Trains the classifier of languages that heed has built in, and puts it into src/api/languages/model.
#
# Start it in the project's folder. HEED names another program.
set -eu
heed=${HEED:-build/heed}
recipes/languages/make.py made
"$heed" train recipes/languages/classifier.toml --out made/languages
"$heed" quantize --model made/languages --out made/languages-int8
mkdir -p src/api/languages/model
cp made/languages-int8/config.json made/languages-int8/model.safetensors made/languages-int8/*.tokenizer src/api/languages/model/
