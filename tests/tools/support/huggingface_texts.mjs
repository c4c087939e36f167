// What the tokenizers library makes of texts, one line of JSON for each, as heed_encode_texts prints it:
//   node huggingface_texts.mjs TOKENIZER TEXTS
// The package "tokenizers" is looked for in the working directory.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.cwd() + '/'));
const { Tokenizer } = require('tokenizers');

const [, , file, texts] = process.argv;
const json = JSON.parse(fs.readFileSync(file, 'utf8'));
const tokenizer = json.truncation || json.padding
  ? Tokenizer.fromString(JSON.stringify({ ...json, truncation: null, padding: null })) : Tokenizer.fromFile(file);
for (const text of JSON.parse(fs.readFileSync(texts, 'utf8'))) {
  let line;
  try {
    const encoding = typeof text === 'string' ? await tokenizer.encode(text) : await tokenizer.encode(text[0], text[1]);
    const ids = encoding.getIds();
    line = {
      ids, types: encoding.getTypeIds(), offsets: encoding.getOffsets(), tokens: encoding.getTokens(),
      text: await tokenizer.decode(ids, true),
    };
  } catch (error) {
    line = { error: String(error) };
  }
  console.log(JSON.stringify(line));
}
