// node translate.mjs ADDON MODEL < lines: translates line by line; several lines wait for the model at once. ADDON is
// heed.c, compiled: ./heed.node.
import {createRequire} from 'node:module';
import {resolve} from 'node:path';
import {createInterface} from 'node:readline';

const [addon, directory] = process.argv.slice(2);
const heed = createRequire(import.meta.url)(resolve(addon));
try {
  const model = heed.open(directory);
  const translations = [];
  for await (const line of createInterface({input: process.stdin})) {
    const translation = heed.translate(model, line);
    translation.catch(() => {}); // a failure waits, like the texts, until all lines are read
    translations.push(translation);
  }
  for (const text of await Promise.all(translations)) console.log(text);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
