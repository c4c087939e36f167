// Writes huggingface.json: small tokenizers, one for each part that a tokenizer.json may have, and what Hugging Face's
// library makes of texts with them. Run by hand where the npm package "tokenizers" is installed:
//   node make_huggingface.mjs > huggingface.json
// Models are chosen so that everything shows: one spells each character in bytes, so that ids show the normalized text
// and offsets where it came from; one knows no word, so that offsets show the pieces.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.cwd() + '/'));
const { Tokenizer } = require('tokenizers');

const kTexts = [
  '', ' ', 'Hello, world!', '  hello  world  ', "I'm we'll THEY'RE it'\u017f", 'abc123 4½ Ⅷ٣', 'a-b_c\td\ne\r\n\nf',
  'Caf\u00e9 cafe\u0301 \u1e69\u0323 a\u0301b', 'ﬁ①\u3000x\u00ad\u00e9e\u0301ab', '東京タワーの中文。', '한국 각 \u1100\u1161',
  'สวัสดี مرحبا', '👨‍👩‍👧 🇩🇪 👍🏽x', '\u0001\u0007\u200b\ufeff\ufffd.', 'İI ΑΣ ẞǅ', '<s>hi</s> [MASK] <x> token1 Token1s TOKEN1',
  '▁a ▁▁b', 'lll hello ll', "don't do not x . y ' z", '\u{11935}\u{11930}\u1c89\u2b820\u{2b820}\u{2b920}', 'aaaa bbab abab zz a?b',
];

const kBytes = {};
for (let b = 0; b < 256; ++b) kBytes[`<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`] = b;
const spelling = { type: 'BPE', byte_fallback: true, vocab: kBytes, merges: [] };
const spelled = { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, { type: 'Fuse' }] };
const words = { type: 'WordLevel', unk_token: '?', vocab: { '?': 0, hello: 1, '12': 2 } };
const kAlphabet = {};
for (let b = 0, extra = 256; b < 256; ++b) {
  const itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  kAlphabet[String.fromCodePoint(itself ? b : extra++)] = b;
}
const bytes = (more = {}) => ({ type: 'BPE', vocab: { ...kAlphabet, he: 256, ll: 257, hell: 258, 'Ġw': 259, hello: 260 },
  merges: ['h e', 'l l', 'he ll', 'Ġ w'], ...more });
const byteLevel = (more = {}) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true, ...more });
const letters = (extra, merges, more = {}) => ({ type: 'BPE', vocab: Object.fromEntries(
  [...'?abcdefghijklmnopqrstuvwxyz', ...extra].map((t, i) => [t, i])), merges, unk_token: '?', ...more });
const added = (content, id, more = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false,
  special: true, ...more });

const cases = {};
const normalizer = (name, value) => { cases[`normalizer ${name}`] = { normalizer: value, model: spelling, decoder: spelled }; };
const pre = (name, value, model = words) => { cases[`pre-tokenizer ${name}`] = { pre_tokenizer: value, model }; };

for (const type of ['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'StripAccents', 'Nmt', 'ByteLevel']) normalizer(type, { type });
normalizer('Strip', { type: 'Strip', strip_left: true, strip_right: true });
normalizer('Strip left', { type: 'Strip', strip_left: true, strip_right: false });
normalizer('Prepend', { type: 'Prepend', prepend: '▁x' });
normalizer('Replace text', { type: 'Replace', pattern: { String: 'l' }, content: '東L' });
normalizer('Replace expression', { type: 'Replace', pattern: { Regex: '\\s+|(?<=a)b' }, content: '' });
const bert = { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true };
normalizer('Bert', bert);
normalizer('Bert cased', { ...bert, lowercase: false });
normalizer('Bert unclean', { ...bert, clean_text: false, handle_chinese_chars: false, strip_accents: true });
// From the rules a>b, ab>xy, U+FB01>fi, U+E9>e, U+AD>nothing, e U+301>E, U+2460>1, U+3000>space.
normalizer('Precompiled', { type: 'Precompiled', precompiled_charsmap: 'AAQAAACAAQBhDQAABwAAgA4AAIDMDAIAZTQDAIEFAAAFAACArQUAAAAAAICpBQAACQAAgJGEAgCgDQAAAwAAgIB8AgCABQAAAQAAgKwAAgCBHQAACwAAgBQAAAAXAAAAFgAAABkAAAAYAAAAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGKNAQBgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAAAAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAADifAAA4zAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAA78QAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAMIcAADDAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIAAxAEUAYgBlAGZpAHh5AA==' });
normalizer('Sequence', { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: 'É' }, { type: 'NFKD' }, { type: 'StripAccents' },
  { type: 'Replace', pattern: { String: ' ' }, content: '▁' }, { type: 'Lowercase' }] });

for (const behavior of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']) {
  for (const invert of [false, true]) {
    pre(`Split ${behavior} ${invert}`, { type: 'Split', pattern: { Regex: 'l|\\s' }, behavior, invert });
  }
}
pre('Split expression', { type: 'Split', pattern: { Regex: '(?i:HE)++l*?o|[\\p{Lu}&&[^T]]|\\b\\d{2,}|(?<!e)(?=l)' }, behavior: 'Isolated', invert: false });
pre('Digits', { type: 'Digits', individual_digits: false });
pre('Digits each', { type: 'Digits', individual_digits: true });
pre('Punctuation', { type: 'Punctuation', behavior: 'Isolated' });
pre('Punctuation together', { type: 'Punctuation', behavior: 'Contiguous' });
for (const type of ['Whitespace', 'WhitespaceSplit', 'BertPreTokenizer', 'UnicodeScripts']) pre(type, { type });
pre('CharDelimiterSplit', { type: 'CharDelimiterSplit', delimiter: 'l' });
pre('FixedLength', { type: 'FixedLength', length: 3 });
for (const prepend_scheme of ['always', 'first', 'never']) pre(`Metaspace ${prepend_scheme}`, { type: 'Metaspace', replacement: '▁', prepend_scheme, split: true });
pre('Metaspace whole', { type: 'Metaspace', replacement: '_', prepend_scheme: 'always', split: false }, spelling);
cases['pre-tokenizer Metaspace of an older version'] = { pre_tokenizer: { type: 'Metaspace', replacement: '▁', add_prefix_space: true },
  normalizer: { type: 'Strip', strip_left: true, strip_right: false }, model: words };
pre('Sequence', { type: 'Sequence', pretokenizers: [{ type: 'Whitespace' }, { type: 'Digits', individual_digits: true }] });
pre('ByteLevel', byteLevel(), bytes());
pre('ByteLevel prefix', byteLevel({ add_prefix_space: true }), bytes());
pre('ByteLevel whole', byteLevel({ use_regex: false }), bytes({ ignore_merges: true }));
pre('ByteLevel inside', { type: 'Sequence', pretokenizers: [{ type: 'Punctuation', behavior: 'Contiguous' }, byteLevel(),
  { type: 'Digits', individual_digits: false }, { type: 'Split', pattern: { Regex: '[0-9][0-9]' }, behavior: 'Isolated', invert: false }] }, bytes());

cases['model BPE'] = { pre_tokenizer: { type: 'WhitespaceSplit' }, model: letters(['ab', 'abab', 'aa', 'll', 'he', 'hell'], ['a b', 'ab ab', 'a a', 'h e', 'l l', 'he ll']) };
cases['model BPE fused'] = { model: letters(['ab', ' '], [['a', 'b']], { fuse_unk: true }) };
cases['model BPE without unknown'] = { model: { ...letters(['ab'], ['#version: 0.2', 'a b']), unk_token: null } };
cases['model BPE marked'] = { pre_tokenizer: { type: 'WhitespaceSplit' }, decoder: { type: 'BPEDecoder', suffix: '</w>' },
  model: letters(['##b', '##a', 'b</w>', 'a</w>', '##b</w>', '##a</w>', 'ab', 'ab</w>', 'abab</w>', '##ab</w>', 'bb', '##l', '##e', '##l</w>', 'he'],
    ['a ##b', 'b ##b', 'a ##b</w>', 'h ##e', '##a ##b</w>', 'ab ##ab</w>'], { continuing_subword_prefix: '##', end_of_word_suffix: '</w>' }) };
cases['model WordPiece'] = { normalizer: bert, pre_tokenizer: { type: 'BertPreTokenizer' }, decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: { type: 'WordPiece', unk_token: '?', continuing_subword_prefix: '##', max_input_chars_per_word: 5,
    vocab: Object.fromEntries(['?', 'he', '##l', '##llo', 'a', '##b', '##a', 'ab', 'x', '.', "'", 'do', 'not', 'don', 't', ',', '##1', '東'].map((t, i) => [t, i])) } };
cases['model Unigram'] = { pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true }, decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  model: { type: 'Unigram', unk_id: 0, vocab: [['?', 0], ['▁', -2], ['a', -1], ['b', -1], ['ab', -2], ['ba', -1.5], ['▁a', -2.5], ['l', -3], ['ll', -5.9], ['h', -3], ['e', -2], ['o', -2.25], ['zzz', -1]] } };
cases['model Unigram bytes'] = { decoder: spelled, model: { type: 'Unigram', unk_id: 0, byte_fallback: true, vocab: [['?', 0], ...Object.keys(kBytes).map((b) => [b, -9]), ['ab', -1], ['ll', -2], ['é', -3]] } };

cases['processor Bert'] = { pre_tokenizer: { type: 'Whitespace' }, post_processor: { type: 'BertProcessing', sep: ['[SEP]', 7], cls: ['[CLS]', 8] }, model: words };
cases['processor Roberta'] = { pre_tokenizer: byteLevel({ add_prefix_space: true }), post_processor: { type: 'RobertaProcessing', sep: ['</s>', 7], cls: ['<s>', 8], trim_offsets: true, add_prefix_space: true }, model: bytes() };
cases['processor Template'] = { pre_tokenizer: { type: 'Whitespace' }, model: words, post_processor: { type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: 'A', type_id: 3 } }, { Sequence: { id: 'A', type_id: 2 } }], pair: [{ Sequence: { id: 'B', type_id: 1 } }, { SpecialToken: { id: 'A', type_id: 0 } }, { Sequence: { id: 'A', type_id: 4 } }],
  special_tokens: { A: { id: 'A', ids: [5, 6], tokens: ['x', 'y'] } } } };
cases['processor Sequence'] = { pre_tokenizer: byteLevel(), model: bytes(), post_processor: { type: 'Sequence', processors: [byteLevel(), { type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: 'A', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }], pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: { A: { id: 'A', ids: [5], tokens: ['x'] } } }] } };

const kSpecial = ['<s>', '</s>', '[MASK]', '<x>', 'token1'];
const cased = (more) => kSpecial.map((text, i) => added(text, 300 + i, more[text] ?? {}));
cases['added tokens'] = { pre_tokenizer: byteLevel(), decoder: byteLevel(), model: bytes(), added_tokens: cased({ '<x>': { special: false } }) };
cases['added tokens that strip'] = { pre_tokenizer: byteLevel(), model: bytes(), post_processor: byteLevel(),
  added_tokens: cased({ '<s>': { rstrip: true }, '[MASK]': { lstrip: true, rstrip: true }, '</s>': { lstrip: true }, token1: { single_word: true } }) };
cases['added tokens in normalized text'] = { normalizer: { type: 'Lowercase' }, model: spelling, decoder: spelled,
  added_tokens: cased({ '[MASK]': { normalized: true }, token1: { normalized: true, special: false, single_word: true }, '<x>': { normalized: true } }) };
cases['added tokens between normalized texts'] = { normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, { type: 'Replace', pattern: { String: ' ' }, content: '▁' }] },
  model: spelling, decoder: spelled, added_tokens: cased({}) };

const decoders = {
  CTC: { type: 'CTC', pad_token: 'a', word_delimiter_token: 'b', cleanup: true },
  'Strip each': { type: 'Strip', content: 'l', start: 0, stop: 1 },
  Metaspace: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  'Metaspace never': { type: 'Metaspace', replacement: '▁', prepend_scheme: 'never', split: true },
  Llama: { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }] },
  none: null,
};
for (const [name, decoder] of Object.entries(decoders)) {
  cases[`decoder ${name}`] = { decoder, pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    model: letters(['▁', '▁a', '<0xC3>', '<0xA9>', 'll', '▁h', '<0x20>'], ['▁ a', 'l l', '▁ h'], { byte_fallback: true, unk_token: null }) };
}

const kEmpty = { version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
// Types are left out where all are 0.
const result = (encoding, text) => ({ ids: encoding.getIds(), offsets: encoding.getOffsets().flat(), text,
  ...(encoding.getTypeIds().some((t) => t) ? { types: encoding.getTypeIds() } : {}) });
const out = { texts: kTexts, cases: [] };
for (const [name, parts] of Object.entries(cases)) {
  const json = { ...kEmpty, ...parts };
  const tokenizer = Tokenizer.fromString(JSON.stringify(json));
  const entry = { name, tokenizer: json, texts: [], pairs: [] };
  for (const text of kTexts) {
    const encoding = await tokenizer.encode(text);
    // The library does not come back from decoding nothing by BPEDecoder.
    const ids = encoding.getIds();
    entry.texts.push(result(encoding, ids.length > 0 ? await tokenizer.decode(ids, true) : ''));
  }
  if (name.startsWith('processor')) {
    for (let i = 2; i < 8; ++i) entry.pairs.push(result(await tokenizer.encode(kTexts[i], kTexts[i + 1]), null));
  }
  out.cases.push(entry);
}
console.log('{"texts": ' + JSON.stringify(out.texts) + ',\n"cases": [\n' + out.cases.map((c) => JSON.stringify(c)).join(',\n') + ']}');
