// Encodes the lines of a text with Hugging Face's tokenizers library, and prints the seconds of each round:
//   node huggingface_tokens.mjs TOKENIZER TEXT ROUNDS
// The package "tokenizers" is looked for in the working directory; RAYON_NUM_THREADS says how many threads it takes.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.cwd() + '/'));
const { Tokenizer } = require('tokenizers');

const [, , file, text, rounds] = process.argv;
const begin = process.hrtime.bigint();
const tokenizer = Tokenizer.fromFile(file);
const result = { load: Number(process.hrtime.bigint() - begin) / 1e9, seconds: [], tokens: 0 };
const lines = fs.readFileSync(text, 'utf8').split('\n');
if (lines.at(-1) === '') lines.pop();
for (let round = 0; round < Number(rounds); ++round) {
  const start = process.hrtime.bigint();
  const encodings = await tokenizer.encodeBatch(lines);
  result.seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
  if (round === 0) result.tokens = encodings.reduce((sum, encoding) => sum + encoding.getLength(), 0);
}
console.log(JSON.stringify(result));
