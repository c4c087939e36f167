// node texts.mjs DIR: writes DIR/*/*/texts.json, what the original library makes of texts with each tokenizer.json.
//
// Run it in a folder where the package is installed (npm install tokenizers; 0.23.2 made the kept ones). Of models with
// one tokenizer.json the first gets the file. `ids` are with special tokens, `bare`, `tokens` and `offsets` without;
// `pair` is of the text and the next one; offsets count characters of Unicode.
import { createRequire } from "node:module";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { Tokenizer } = require("tokenizers");

// Spaces of all kinds, letters that no vocabulary has, accents, marks, numerals, special tokens written out, nothing.
const TEXTS = [
  "the cat is on it, and no dogs.",
  "The  Cat\u00e9 and\nthe ending",
  " in 12 areas 'the' 3.5",
  "\u4e2d\u6587 e\u0301 \ud83d\ude00 on",
  "and<mask>the [MASK] </s> <|endoftext|> <extra_id_0>on",
  "",
  "on it",
  "the end",
  "a sea",
  "no one",
  "in the inn",
];

async function described(tokenizer) {
  const lines = [];
  for (let i = 0; i < TEXTS.length; ++i) {
    const text = TEXTS[i];
    const whole = await tokenizer.encode(text);
    const bare = await tokenizer.encode(text, null, { addSpecialTokens: false });
    const pair = await tokenizer.encode(text, TEXTS[(i + 1) % TEXTS.length]);
    lines.push(JSON.stringify({
      text,
      ids: whole.getIds(),
      bare: bare.getIds(),
      tokens: bare.getTokens(),
      offsets: bare.getOffsets(),
      pair: pair.getIds(),
      pair_types: pair.getTypeIds(),
      decoded: await tokenizer.decode(bare.getIds(), false),
      decoded_without_special: await tokenizer.decode(whole.getIds(), true),
    }));
  }
  return `[\n${lines.join(",\n")}\n]\n`;
}

const seen = new Set();
for (const group of readdirSync(process.argv[2], { withFileTypes: true })) {
  if (!group.isDirectory()) continue;
  for (const name of readdirSync(join(process.argv[2], group.name))) {
    const folder = join(process.argv[2], group.name, name);
    if (!existsSync(join(folder, "tokenizer.json"))) continue;
    const content = readFileSync(join(folder, "tokenizer.json"), "utf8");
    if (seen.has(content)) continue;
    seen.add(content);
    writeFileSync(join(folder, "texts.json"), await described(Tokenizer.fromFile(join(folder, "tokenizer.json"))));
  }
}
