// Translates while the user types.
import {Newest, postWith} from './service.js';
import {addToken, announce, byId, debounce, empty, fail, growing, Menu, roving} from './parts.js';
import {languageName, percent, piecesBySegment, placePieces, segmentsOf} from './words.js';
import {attentionFold} from './attention.js';
import {drawBeam} from './beam.js';

const source = byId('source'), target = byId('target'), mirror = byId('source-mirror');
const newest = new Newest(), newestBeam = new Newest();
let model = null, updateAttention = () => {};
let lines = [];      // of the source: {text, first, translations, chosen}
let current = 0;     // the line that is looked into
let prefixes = [];   // how lines' translations begin, where a word was chosen

const grow = growing(source);
const later = debounce(translate, 200);

function linesOf(text) {
  let first = 0;
  return text.split('\n').map(line => {
    const one = {text: line, first};
    first += line.length + 1;
    return one;
  });
}

function options() {
  const beam = Math.max(Number(byId('beam').value), Number(byId('n-best').value));
  const force = byId('force').value.split(',').map(word => word.trim()).filter(word => word);
  const body = {model: model.name, beam, n_best: Number(byId('n-best').value), length_penalty: Number(byId('length-penalty').value)};
  return force.length ? {...body, force} : body;
}

async function translate() {
  fail(null);
  const asked = linesOf(source.value), some = asked.filter(line => line.text.trim());
  byId('source-count').textContent = source.value ? `${source.value.length.toLocaleString('en')} characters` : '';
  if (!some.length) {
    newest.cancel();
    lines = [];
    draw();
    return;
  }
  target.classList.add('waits');
  const began = performance.now();
  try {
    const body = {...options(), texts: some.map(line => line.text), align: true, tokens: true};
    if (prefixes.some(prefix => prefix)) body.prefixes = asked.flatMap((line, i) => line.text.trim() ? [prefixes[i] || ''] : []);
    const answer = await newest.run(signal => postWith({source_pieces: true}, 'heed/translate', body, signal));
    if (!answer) return;
    some.forEach((line, i) => Object.assign(line, {translations: answer.lines[i].translations, sourcePieces: answer.lines[i].source_pieces, chosen: 0}));
    lines = asked;
    if (document.activeElement === source) current = lines.findLastIndex(line => line.first <= source.selectionStart);
    if (!lines[current] || !lines[current].translations) current = lines.findIndex(line => line.translations);
    draw(performance.now() - began);
  } catch (error) {
    fail(error);
  }
  target.classList.remove('waits');
}

function draw(milliseconds) {
  drawTarget();
  const line = lines[current], insides = byId('translate-insides');
  insides.hidden = !line;
  byId('target-free').hidden = !prefixes.some(prefix => prefix);
  if (!line) {
    byId('target-facts').textContent = '';
    return;
  }
  const all = lines.filter(one => one.translations), tokens = all.reduce((sum, one) => sum + one.translations[one.chosen].tokens, 0);
  if (milliseconds !== undefined) {
    byId('target-facts').textContent = `${tokens} tokens in ${Math.round(milliseconds)} ms`;
    announce('Translated');
  }
  look(current);
}

// Shows what is inside of a line.
function look(l) {
  current = l;
  [...target.children].forEach((paragraph, i) => paragraph.classList.toggle('current', lines.length > 1 && i === l));
  drawBest(lines[l]);
  drawSubwords(lines[l]);
  updateAttention();
  if (byId('beam-fold').open) readBeam();
}

function drawTarget() {
  target.textContent = '';
  mirror.textContent = '';
  if (!lines.length) make(target, 'p', {class: 'waiting'}, 'The translation appears here as you type.');
  lines.forEach((line, l) => {
    const paragraph = make(target, 'p', {lang: model.target_language || ''});
    addMirror(line, l);
    if (!line.translations) return;
    const translation = line.translations[line.chosen];
    line.segments = segmentsOf(translation.text);
    const pieces = (translation.each || []).map(token => token.piece);
    line.targetPieces = piecesBySegment(line.segments, placePieces(pieces, translation.text));
    const fixed = (prefixes[l] || '').length;
    line.words = line.segments.map((segment, s) => {
      if (!segment.isWord) {
        paragraph.append(segment.text);
        return null;
      }
      const word = make(paragraph, 'button', {type: 'button', class: 'word', 'aria-haspopup': 'menu', 'aria-expanded': 'false'}, segment.text);
      if (segment.end <= fixed) word.classList.add('fixed');
      const show = () => highlight(l, pairs => pairs.filter(pair => line.targetPieces[s].includes(pair.target)));
      word.addEventListener('pointerenter', show);
      word.addEventListener('focus', show);
      word.addEventListener('pointerleave', () => highlight());
      word.addEventListener('blur', () => highlight());
      word.addEventListener('click', () => choose(l, s, word));
      return word;
    });
  });
  roving(target, '.word');
}

// The source once more, behind its text area, whose own text can't be marked.
function addMirror(line, l) {
  if (l) mirror.append('\n');
  line.sourceSegments = segmentsOf(line.text);
  line.sourcePiecesOf = piecesBySegment(line.sourceSegments, placePieces(line.sourcePieces || [], line.text));
  line.marks = line.sourceSegments.map(segment => {
    if (segment.isWord) return make(mirror, 'mark', {}, segment.text);
    mirror.append(segment.text);
    return null;
  });
}

// Marks the words of both sides that the chosen pairs of a line join.
function highlight(l, choosePairs) {
  for (const element of document.querySelectorAll('#translate .on')) element.classList.remove('on');
  const line = lines[l];
  if (!line || !line.translations) return;
  const pairs = choosePairs((line.translations[line.chosen].alignment || []).map(([from, to]) => ({source: from, target: to})));
  const touch = (pieces, marks, side) => pieces.forEach((list, s) => {
    if (marks[s] && pairs.some(pair => list.includes(pair[side]))) marks[s].classList.add('on');
  });
  touch(line.sourcePiecesOf, line.marks, 'source');
  touch(line.targetPieces, line.words, 'target');
  for (const token of document.querySelectorAll('#subwords .token')) {
    const {side, piece} = token.dataset;
    if (l === current && pairs.some(pair => pair[side] === Number(piece))) token.classList.add('on');
  }
}

// Marks what the source's word at a place of its text became.
function highlightSource(offset) {
  const l = lines.findLastIndex(line => line.first <= offset), line = lines[l];
  if (!line || !line.translations) return;
  const s = line.sourceSegments.findIndex(segment => segment.isWord && line.first + segment.first <= offset && offset < line.first + segment.end);
  if (s < 0) highlight();
  else highlight(l, pairs => pairs.filter(pair => line.sourcePiecesOf[s].includes(pair.source)));
}

// Other words at a place, and what would follow.
async function choose(l, s, word) {
  if (l !== current) look(l);
  const line = lines[l], segment = line.segments[s], text = line.translations[line.chosen].text;
  const prefix = text.slice(0, segment.first).trimEnd();
  const menu = new Menu(word, `Instead of “${segment.text}”`, null);
  try {
    const answer = await postWith({}, 'heed/translate', {...options(), n_best: 1, text: line.text, prefix, alternatives: 8, tokens: true});
    if (!menu.isOpen) return;
    const seen = new Set(), items = [];
    for (const other of answer.lines[0].translations) {
      const next = segmentsOf(other.text).find(one => one.isWord && one.first >= prefix.length);
      if (!next || seen.has(next.text)) continue;
      seen.add(next.text);
      const places = placePieces((other.each || []).map(token => token.piece), other.text);
      const own = (other.each || []).filter((_, i) => places[i] && places[i][0] < next.end && places[i][1] > next.first);
      const sum = own.reduce((total, token) => total + token.log_probability, 0);
      items.push({text: next.text, note: other.text.slice(next.end, next.end + 60), isHere: next.text === segment.text, share: own.length ? Math.exp(sum) : null,
                  detail: own.length ? percent(sum) : '', choose: () => goOn(l, other.text.slice(0, next.end))});
    }
    if (items.length) menu.fill(items);
    else menu.close();
  } catch (error) {
    menu.close();
    fail(error);
  }
}

function goOn(l, prefix) {
  prefixes[l] = prefix;
  translate().then(() => {
    const words = target.querySelectorAll('.word.fixed');
    if (words.length) words[words.length - 1].focus();
  });
}

function drawBest(line) {
  const box = byId('best');
  box.textContent = '';
  const best = line.translations[0], low = Math.min(...line.translations.map(one => one.score));
  const known = new Set(segmentsOf(best.text).map(segment => segment.text));
  line.translations.forEach((one, i) => {
    const button = make(box, 'button', {type: 'button', class: 'choice', 'aria-pressed': String(i === line.chosen)});
    make(button, 'span', {class: 'rank'}, String(i + 1));
    const words = make(button, 'span', {class: 'choice-text', lang: model.target_language || ''});
    for (const segment of segmentsOf(one.text))
      if (segment.isWord && !known.has(segment.text)) make(words, 'u', {}, segment.text);
      else words.append(segment.text);
    const share = low < best.score ? (one.score - low) / (best.score - low) : 1;
    make(button, 'i', {class: 'choice-bar', style: `--share:${(0.06 + 0.94 * share).toFixed(3)}`, 'aria-hidden': 'true'});
    make(button, 'span', {class: 'choice-score'}, `score ${one.score.toFixed(3).replace('-', '−')}`);
    button.addEventListener('click', () => {
      line.chosen = i;
      draw();
      byId('best').children[i].focus();
    });
  });
}

function drawSubwords(line) {
  const box = byId('subwords');
  box.textContent = '';
  const translation = line.translations[line.chosen];
  const row = (name, tokens, side) => {
    if (!tokens.length) return;
    make(box, 'h4', {}, name);
    const list = make(box, 'p', {class: 'tokens-row'});
    tokens.forEach((token, i) => {
      const element = addToken(list, token, 'span', {'data-side': side, 'data-piece': i});
      element.addEventListener('pointerenter', () => highlight(current, pairs => pairs.filter(pair => pair[side] === i)));
      element.addEventListener('pointerleave', () => highlight());
    });
  };
  row(`${languageName(model.source_language) || 'Source'}, ${(line.sourcePieces || []).length} tokens`, (line.sourcePieces || []).map(piece => ({piece})), 'source');
  row(`${languageName(model.target_language) || 'Translation'}, ${translation.tokens} tokens`, translation.each || [], 'target');
}

async function readBeam() {
  const line = lines[current], box = byId('beam-tree');
  if (!line) return;
  try {
    const answer = await newestBeam.run(signal =>
      postWith({trace: true}, 'heed/translate', {...options(), text: line.text, tokens: true, ...(prefixes[current] ? {prefix: prefixes[current]} : {})}, signal));
    if (answer && answer.lines[0].steps.length) drawBeam(box, answer.lines[0].steps, answer.lines[0].translations.map(one => one.place).filter(Boolean));
    else if (answer) empty(box, 'There is nothing to translate.');
  } catch (error) {
    empty(box, error.message);
  }
}

source.addEventListener('input', () => {
  prefixes = [];
  mirror.textContent = '';
  later();
});
source.addEventListener('scroll', () => { mirror.scrollTop = source.scrollTop; });
function followCaret() {
  const l = lines.findLastIndex(line => line.first <= source.selectionStart);
  if (l >= 0 && l !== current && lines[l].translations) look(l);
  highlightSource(source.selectionStart);
}
document.addEventListener('selectionchange', () => { if (document.activeElement === source) followCaret(); });
source.addEventListener('focus', followCaret);
source.addEventListener('pointermove', event => {
  const at = document.caretPositionFromPoint && document.caretPositionFromPoint(event.clientX, event.clientY);
  if (at && at.offsetNode === source) highlightSource(at.offset);
});
source.addEventListener('pointerleave', () => highlight());
byId('source-clear').addEventListener('click', () => {
  source.value = '';
  prefixes = [];
  grow();
  later.now();
  source.focus();
});
byId('target-copy').addEventListener('click', async () => {
  const text = lines.map(line => line.translations ? line.translations[line.chosen].text : '').join('\n');
  await navigator.clipboard.writeText(text).then(() => announce('Copied'), () => announce('The browser does not allow copying'));
});
byId('target-free').addEventListener('click', () => {
  prefixes = [];
  translate();
});
for (const id of ['beam', 'n-best', 'length-penalty', 'force']) byId(id).addEventListener('input', later);
byId('beam-fold').addEventListener('toggle', () => { if (byId('beam-fold').open) readBeam(); });

export const tab = {
  kinds: ['translator'],
  open(chosen) {
    if (model === chosen) return;
    model = chosen;
    byId('source-language').textContent = languageName(model.source_language) || 'Source';
    byId('target-language').textContent = languageName(model.target_language) || 'Translation';
    source.lang = model.source_language || '';
    prefixes = [];
    updateAttention = attentionFold(byId('attention-fold'), model, () => {
      const line = lines[current];
      if (!line || !line.translations) return null;
      const translation = line.translations[line.chosen], read = (line.sourcePieces || []).length;
      return {request: {model: model.name, source: line.text, target: translation.text}, cells: Math.max(read, translation.tokens) ** 2};
    });
    translate();
  },
  close() { newest.cancel(); },
};
