// A stand-in for `heed serve`: the files of web/ and answers that look like those of models, the same ones each time.
// The page is tried with it where pictures are compared or texts have to make sense.
//
//   node stand_in.mjs [PORT]     0, or none: a free port, which is printed
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {dirname, extname, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url)), web = join(here, '..', '..', '..', 'web');
const types = {'.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html'};
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

function random(text) {
  let state = 2166136261;
  for (const character of text) state = Math.imul(state ^ character.codePointAt(0), 16777619);
  return () => {
    state = Math.imul(state ^ state >>> 15, 2246822519) + 0x9e3779b9 | 0;
    const mixed = Math.imul(state ^ state >>> 13, 3266489917);
    return ((mixed ^ mixed >>> 16) >>> 0) / 4294967296;
  };
}

const idOf = piece => Math.floor(random(piece)() * 32000);
const scored = (piece, probability) => ({piece, id: idOf(piece), log_probability: Math.log(probability)});

// ---- The translator

const words = {
  ein: ['a', 'one', 'some'], eine: ['a', 'one', 'the'], einem: ['a', 'the'], einen: ['a', 'the'], der: ['the', 'that'], die: ['the', 'those'], das: ['the', 'this'], im: ['in the', 'inside the'],
  hund: ['dog', 'hound', 'puppy'], mann: ['man', 'guy', 'person'], frau: ['woman', 'lady'], kind: ['child', 'kid'], junge: ['boy', 'youngster'], brauner: ['brown', 'tan'], grüne: ['green', 'grassy'],
  läuft: ['runs', 'is running', 'walks'], spielt: ['plays', 'is playing'], steht: ['stands', 'is standing'], sitzt: ['sits', 'is sitting'], fährt: ['rides', 'is riding', 'drives'], schaut: ['looks', 'is looking'],
  über: ['across', 'over', 'through'], auf: ['on', 'at'], in: ['in', 'into'], mit: ['with', 'holding'], und: ['and', 'while'], vor: ['in front of', 'before'], aus: ['out of', 'from'],
  wiese: ['meadow', 'field', 'lawn'], gitarre: ['guitar', 'instrument'], fahrrad: ['bicycle', 'bike'], straße: ['street', 'road'], wasser: ['water', 'lake'], fenster: ['window'], park: ['park'], ball: ['ball'], rote: ['red'], roten: ['red'],
  grüner: ['green'], kleiner: ['small', 'little'], kleine: ['small', 'little'], schnell: ['quickly', 'fast'], bühne: ['stage'], menschenmenge: ['crowd', 'group of people'], dem: ['the'], den: ['the'],
};

const pieces = text => (text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) || []).flatMap(word => {
  const first = '▁' + word;
  if (!/[\p{L}]/u.test(word)) return [word];
  return word.length > 6 ? [first.slice(0, 5), word.slice(4)] : [first];
});

// Target tokens with the number of the source piece that each comes from; `which` chooses among the words for one place.
function translated(source, which, prefix = '') {
  const target = [], list = source.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) || [];
  let piece = 0;
  list.forEach((word, w) => {
    const known = words[word.toLowerCase()], chosen = known ? known[(which[w] || 0) % known.length] : word;
    const cased = w ? chosen : chosen[0].toUpperCase() + chosen.slice(1), count = pieces(word).length;
    for (const one of pieces(cased)) target.push({piece: one, source: piece, word: w});
    piece += count;
  });
  let text = target.map(one => one.piece).join('').replace(/▁/g, ' ').trim();
  if (prefix && !text.startsWith(prefix)) {
    // The part of the translation after as many words as the prefix has.
    const rest = text.split(' ').slice(prefix.split(' ').length).join(' ');
    text = (prefix + ' ' + rest).trim();
    const own = pieces(text);
    return {text, target: own.map((one, i) => ({piece: one, source: Math.min(piece - 1, i), word: 0}))};
  }
  return {text, target};
}

function translation(source, which, prefix, rank) {
  const {text, target} = translated(source, which, prefix), draw = random(source + rank);
  const each = target.map(one => {
    const probability = 0.35 + 0.64 * Math.sqrt(draw());
    return {...scored(one.piece, draw() < 0.12 ? probability * 0.15 : probability), top: [scored(one.piece, probability), scored('▁other', 0.1), scored('▁some', 0.04)]};
  });
  each.push({...scored('</s>', 0.97), top: []});
  const log = each.reduce((sum, token) => sum + token.log_probability, 0) - 0.9 * rank;
  return {text, score: log / each.length, log_probability: log, tokens: each.length, alignment: target.map((one, i) => [one.source, i]), each};
}

function beamOf(source, beam) {
  const best = [...translated(source, {}).target.map(one => one.piece), '</s>'], draw = random('beam' + source), steps = [];
  let totals = [0];
  best.forEach((piece, s) => {
    const step = [];
    for (let h = 0; h < beam; ++h) {
      const other = ['▁the', '▁with', '▁small', '▁is', ',', '▁big', '▁out'][Math.floor(draw() * 7)];
      const parent = h === 0 ? 0 : Math.floor(draw() * Math.min(beam, totals.length)), log = Math.log(h ? 0.05 + 0.3 * draw() : 0.5 + 0.45 * draw());
      const finished = s === best.length - 1 ? h < 2 : s > best.length - 4 && h === 2;
      const total = totals[parent] + log;
      step.push({piece: h === 0 ? piece : finished ? '</s>' : other, parent, group: 0, log_probability: log, total, score: total / (s + 1), fate: finished ? 'ended' : 'went-on', id: 1});
    }
    steps.push(step);
    totals = step.map(one => one.total);
  });
  return steps;
}

function translate(body) {
  const texts = body.texts || [body.text], prefixes = body.prefixes || [body.prefix || ''];
  return {model: body.model, lines: texts.map((text, t) => {
    const prefix = prefixes[t] || '', count = (text.match(/[\p{L}\p{N}]+/gu) || []).length;
    const line = {source_pieces: [...pieces(text), '</s>']};
    if (body.alternatives) {
      const at = prefix ? prefix.split(' ').length : 0, found = new Map();
      for (let i = 0; i < body.alternatives; ++i) {
        const one = translation(text, {[at]: i}, '', i);
        const start = one.text.split(' ').slice(0, at).join(' ');
        if (!prefix || start === prefix) found.set(one.text, one);
        else found.set(i, translation(text, {}, prefix, i));
      }
      line.translations = [...found.values()].filter((one, i, all) => all.findIndex(other => other.text === one.text) === i);
    } else {
      const n = body.n_best || 1;
      line.translations = Array.from({length: n}, (_, i) => translation(text, i ? {[(i * 2) % count]: 1, [(i * 3 + 1) % count]: 1} : {}, prefix, i));
    }
    if (body.trace) {
      line.steps = beamOf(text, body.beam || 4);
      line.translations.slice(0, 2).forEach((one, i) => { one.place = [line.steps.length - 1, i]; });
    }
    return line;
  })};
}

// ---- The language model

const story = ' The sea was calm that morning, and the old lighthouse keeper climbed the stairs as he had done for forty years. He counted them without thinking: two hundred and twelve. At the top he opened the window and listened to the gulls.'
  .match(/ ?[\p{L}]+|[^\p{L}]/gu);
const vocabulary = ' the, a, his, and, of, was, to, in, that, he, it, with, for, as, on, at, by, had, but, not, wind, sea, old, stone, night, light, voice, boat, door, long, quiet, grey, cold, white, far, again, away, nothing, nobody, slowly'.split(',');

// Logits of the words after a text; the one that the story goes on with is mostly the first.
function nextTokens(text, wanted) {
  const draw = random(text), sure = draw();
  const list = vocabulary.map((word, i) => ({piece: word.replace(' ', 'Ġ'), id: idOf(word), text: word, logit: 6 - 0.28 * i + 1.5 * (draw() - 0.5)}));
  if (wanted) {
    const old = list.find(one => one.text === wanted);
    const own = old || {piece: wanted.replace(' ', 'Ġ'), id: idOf(wanted), text: wanted};
    own.logit = 5 + 5.5 * sure;
    if (!old) list.push(own);
  }
  const sum = list.reduce((total, one) => total + Math.exp(one.logit), 0) * 1.03;
  for (const one of list) one.log_probability = one.logit - Math.log(sum);
  return list.sort((a, b) => b.logit - a.logit);
}

const promptOf = body => body.messages ? body.messages.map(one => one.content).join('\n') + (body.prefix || '') : body.prompt;

// Where in the story a text stands.
function placeIn(text) {
  for (let i = story.length; i > 0; --i) if (text.endsWith(story.slice(Math.max(0, i - 3), i).join(''))) return i;
  return 0;
}

async function generate(body, answer) {
  answer.writeHead(200, {'Content-Type': 'text/event-stream'});
  let text = promptOf(body), written = 0;
  for (let i = placeIn(text); i < story.length && written < body.max_tokens; ++i, ++written) {
    const list = nextTokens(text, story[i]), token = list.find(one => one.text === story[i]);
    for (const event of [{token: {...token, top: list.slice(0, body.top_tokens)}}, {text: story[i]}]) answer.write(`data: ${JSON.stringify({sample: 0, ...event})}\n\n`);
    text += story[i];
    if (written % 8 === 7) await new Promise(resolve => setTimeout(resolve, 5));
    if (answer.destroyed) return;
  }
  answer.end(`data: ${JSON.stringify({texts: [{finish: 'end', tokens: written, prompt_tokens: 12, cached_tokens: 8, drafted: 20, accepted: 13}]})}\n\n`);
}

// ---- Attention

const base64 = values => Buffer.from(values.buffer).toString('base64');

function attention(body) {
  const rowText = body.kind === 'encoder' ? body.source || body.text : body.target || body.text, columnText = body.kind === 'decoder' ? rowText : body.source || body.text;
  const rows = [...pieces(rowText), '</s>'], columns = [...pieces(columnText), '</s>'], layers = 3, heads = 4, maps = [];
  const limit = body.at_most || Infinity, down = Math.min(rows.length, limit), across = Math.min(columns.length, limit);
  for (const layer of body.layers || Array.from({length: layers}, (_, i) => i)) for (const head of body.heads || Array.from({length: heads}, (_, i) => i)) {
    const weights = new Float32Array(down * across), norms = new Float32Array(down * across), draw = random(`${layer} ${head}`);
    const width = 0.4 + 2.5 * draw() * across / 24, shift = Math.round(3 * (draw() - 0.5)), sink = head === 3 ? 4 : 0.05;
    for (let r = 0; r < down; ++r) {
      let sum = 0;
      for (let c = 0; c < across; ++c) {
        const hidden = body.kind === 'decoder' && c > r, away = c - r * across / down - shift;
        const weight = hidden ? 0 : Math.exp(-away * away / (2 * width * width)) + 0.02 * draw() + (c === (body.kind === 'decoder' ? 0 : across - 1) ? sink : 0);
        weights[r * across + c] = weight;
        sum += weight;
      }
      for (let c = 0; c < across; ++c) {
        weights[r * across + c] /= sum || 1;
        norms[r * across + c] = weights[r * across + c] * (c === across - 1 || (body.kind === 'decoder' && c === 0) ? 0.15 : 1.6 + draw());
      }
    }
    maps.push({layer, head, weights: base64(weights), norms: body.norms ? base64(norms) : null, rows: down, columns: across});
  }
  return {rows, columns, layers, heads, maps};
}

// ---- Encoders

const labels = ['positive', 'neutral', 'negative'];
const results = {
  '/heed/classify': body => ({results: (body.texts || body.pairs.map(pair => pair.join(' '))).map(text => {
    const good = /wonderful|great|love/.test(text) ? 3 : /fine/.test(text) ? 0 : /not|bad|dull/.test(text) ? -3 : random(text)() * 4 - 2;
    const z = [good, 1.1 - Math.abs(good) / 2, -good].map(Math.exp), sum = z.reduce((a, b) => a + b);
    return {labels: [labels[0]], scores: labels.map((label, i) => ({label, probability: z[i] / sum})), number: 0};
  })}),
  '/heed/tag': body => ({results: body.sentences.map(words => words.map((text, i) =>
    /London|Paris|Berlin/.test(text) ? 'B-LOC' : /^[A-Z]/.test(text) ? (i && /^[A-Z]/.test(words[i - 1]) ? 'I-PER' : 'B-PER') : 'O'))}),
  '/heed/fill': body => ({results: body.texts.map(text => ({masks: text.split('[MASK]').slice(1).map(() =>
    (text.includes('capital') ? ['paris', 'lyon', 'marseille', 'nice'] : ['door', 'window', 'curtains', 'box']).map((word, i) =>
      ({token: word, id: i, text: word, probability: 0.62 / (1 + i * i * 2)})))}))}),
  '/heed/embed': body => ({embeddings: body.texts.map(text => {
    const topics = [/dog|puppy|cat|meadow|grass/i, /stock|market|investor|shares|percent/i, /violin|orchestra|symphony|plays/i];
    const vector = [], draw = random(text);
    for (let d = 0; d < 48; ++d) vector.push(0.45 * (draw() - 0.5) + (topics[d % 3].test(text) ? 0.35 : 0));
    const norm = Math.hypot(...vector);
    return vector.map(x => x / norm);
  })}),
  '/heed/translate': translate,
  '/heed/attention': attention,
  '/heed/next': body => {
    const text = promptOf(body);
    return {tokens: nextTokens(text, story[placeIn(text)]).slice(0, body.top), prompt_ids: []};
  },
};

// ---- All

const models = [
  {name: 'german-english', kind: 'translator', loaded: true, parameters: 48231936, max_length: 256, precision: 'int8', chat: false, source_language: 'de', target_language: 'en', labels: [], columns: null},
  {name: 'keeper', kind: 'language-model', loaded: true, parameters: 124439808, max_length: 4096, precision: 'bf16', chat: true, labels: [], columns: null},
  {name: 'reviews', kind: 'encoder', loaded: true, parameters: 22713216, max_length: 512, precision: 'f32', chat: false, task: 'classify', labels, columns: 'one'},
  {name: 'names', kind: 'encoder', loaded: true, parameters: 22713216, max_length: 512, precision: 'f32', chat: false, task: 'tag', labels: ['O', 'B-PER', 'I-PER', 'B-LOC'], columns: null},
  {name: 'imported', kind: 'encoder', loaded: true, parameters: 22713216, max_length: 512, precision: 'f32', chat: false, task: 'classify', labels, columns: null},
  {name: 'words', kind: 'encoder', loaded: true, parameters: 22713216, max_length: 512, precision: 'f32', chat: false, task: 'masked-lm', labels: [], columns: null, mask: '[MASK]'},
];

function describe(name) {
  const model = models.find(one => one.name === name), curve = [];
  for (let update = 100; update <= 6000; update += 100) {
    const loss = 2.1 + 5 * Math.exp(-update / 900) + 0.12 * random(String(update))();
    curve.push({event: 'train', update, loss, learning_rate: 5e-4 * Math.min(update / 1000, Math.sqrt(1000 / update))});
    if (update % 500 === 0) curve.push({event: 'validation', update, loss: loss + 0.1 + update / 40000, seconds: update / 10, best: true});
  }
  const shapes = ['32000 x 512', '512 x 512', '512 x 512', '512 x 2048', '2048 x 512', '512'];
  return {name, kind: model.kind, report: model.kind === 'translator', diagram: readFileSync(join(here, 'architecture.svg'), 'utf8'), curve, notes: [],
          architecture: 'architecture = "encoder-decoder"\nmodel = 512\nheads = 8\nencoder_layers = 6\ndecoder_layers = 6\ninner = 2048\n',
          parameters: ['source.embedding', 'encoder.layers.0.query', 'encoder.layers.0.key', 'encoder.layers.0.inner', 'encoder.layers.0.outer', 'encoder.layers.0.norm'].map((weight, i) =>
            ({name: weight, shape: shapes[i], elements: shapes[i].split(' x ').reduce((a, b) => a * b), type: i < 5 ? 'int8' : 'f32', bytes: 9e6 * (i + 1) / (2 + i)}))};
}

let asked = 0;

function metrics() {
  ++asked;
  const count = 40 * asked + 9 * Math.sin(asked), lines = [`heed_requests_total{interface="heed",model="german-english",status="200"} ${Math.round(count)}`, 'heed_refusals_total{reason="busy",model=""} 3',
    `heed_tokens_total{model="german-english",direction="read"} ${Math.round(count * 21)}`, `heed_tokens_total{model="german-english",direction="written"} ${Math.round(count * 19)}`,
    `heed_connections ${Math.round(12 + 4 * Math.sin(asked / 3))}`, `heed_requests ${Math.round(5 + 3 * Math.sin(asked / 2))}`, 'heed_model_loaded{model="german-english"} 1'];
  for (const name of ['heed_first_token_seconds', 'heed_between_tokens_seconds', 'heed_request_seconds'])
    for (const [bound, share] of [['0.005', 0.1], ['0.01', 0.5], ['0.025', 0.9], ['0.05', 0.97], ['+Inf', 1]])
      lines.push(`${name}_bucket{model="german-english",le="${bound}"} ${Math.round(count * 10 * share * (1 + 0.03 * Math.sin(asked)))}`);
  return lines.join('\n') + '\n';
}

function file(path, answer) {
  const inside = normalize(path === '/' ? 'serve/index.html' : path.slice('/page/'.length));
  let body;
  try {
    body = readFileSync(join(web, inside));
  } catch {
    answer.writeHead(404).end();
    return;
  }
  answer.writeHead(200, {'Content-Type': types[extname(inside)] + '; charset=utf-8', 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache'});
  answer.end(body);
}

export const server = createServer(async (request, answer) => {
  const {pathname} = new URL(request.url, 'http://localhost');
  const json = value => answer.writeHead(200, {'Content-Type': 'application/json'}).end(JSON.stringify(value));
  let text = '';
  for await (const part of request) text += part;
  const body = text && JSON.parse(text);
  if (pathname === '/' || pathname.startsWith('/page/')) file(pathname, answer);
  else if (pathname === '/heed/models') json({models});
  else if (pathname.startsWith('/heed/describe/')) json(describe(decodeURIComponent(pathname.split('/')[3])));
  else if (pathname === '/metrics') answer.writeHead(200, {'Content-Type': 'text/plain'}).end(metrics());
  else if (pathname === '/heed/generate') await generate(body, answer);
  else if (results[pathname]) json(results[pathname](body));
  else answer.writeHead(404, {'Content-Type': 'application/json'}).end('{"error": {"message": "there is nothing at this path", "field": null}}');
});

export function listen(port) { return new Promise(resolve => server.listen(port, '127.0.0.1', () => resolve(server.address().port))); }

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(`http://127.0.0.1:${await listen(Number(process.argv[2] || 0))}/`);
