// What encoders make of lines: labels, tags, words for blanks, embeddings.
import {Newest, post} from './service.js';
import {addTable, byId, debounce, empty, fail, growing, roving} from './parts.js';
import {cosines, principal} from './vectors.js';
import {attentionFold} from './attention.js';
import {pieceText, segmentsOf} from './words.js';

const area = byId('lines'), box = byId('understood'), table = byId('similarities');
const newest = new Newest(), grow = growing(area), later = debounce(read, 250);
const mostShown = 12;  // labels of a line
let model = null, task = null, updateAttention = () => {};

const share = probability => `${(100 * probability).toFixed(probability < 0.1 ? 1 : 0)}%`;

// Each task: whether a model has it, what to ask for some lines, and how to draw the answer.
const tasks = {
  classify: {
    name: 'Labels', about: 'The probability of each label, line by line.',
    pairsAbout: 'The probability of each label of two texts, which a tab or “|” separates, line by line.',
    has: one => one.task === 'classify',
    ask: lines => ['heed/classify', readsPairs(model, lines) ? {pairs: lines.map(asPair)} : {texts: lines}],
    draw(lines, answer) {
      answer.results.forEach((result, i) => {
        make(box, 'h4', {}, lines[i]);
        const list = make(box, 'ul', {class: 'bars-list'});
        if (!result.scores.length) {
          make(list, 'li', {}, show(result.number));
          return;
        }
        for (const {label, probability} of [...result.scores].sort((a, b) => b.probability - a.probability).slice(0, mostShown))
          bar(list, label, probability, share(probability));
      });
    },
  },
  tag: {
    name: 'Tags', about: 'A label for each word.',
    has: one => one.task === 'tag',
    ask: lines => ['heed/tag', {sentences: lines.map(wordsOf)}],
    draw(lines, answer) {
      answer.results.forEach((labels, i) => {
        const line = make(box, 'p', {class: 'tagged'});
        wordsOf(lines[i]).forEach((word, w) => {
          const outside = labels[w] === 'O', element = make(line, 'span', {class: outside ? 'tag outside' : 'tag'}, word);
          if (!outside) {
            element.style.setProperty('--hue', String(hueOf(labels[w])));
            make(element, 'small', {}, labels[w]);
          }
          line.append(' ');
        });
      });
    },
  },
  fill: {
    name: 'Blanks', about: 'Words for each blank; write a blank as ___.',
    has: one => one.task === 'masked-lm' && Boolean(one.mask),
    ask: lines => ['heed/fill', {texts: lines.filter(line => line.includes('___')).map(line => line.replace(/_{3,}/g, model.mask)), top: 8}],
    skips: lines => !lines.some(line => line.includes('___')),
    draw(lines, answer) {
      const asked = lines.filter(line => line.includes('___'));
      answer.results.forEach((result, i) => {
        make(box, 'h4', {}, asked[i]);
        result.masks.forEach(candidates => {
          const list = make(box, 'ul', {class: 'bars-list'});
          for (const candidate of candidates) bar(list, pieceText(candidate.token) || candidate.token, candidate.probability, share(candidate.probability));
        });
      });
    },
  },
  embed: {
    name: 'Embeddings', about: 'Lines whose embeddings are alike lie close together on the map. The map shows two directions out of many: the table has the similarities themselves.',
    has: () => true,
    ask: lines => ['heed/embed', {texts: lines, normalized: true}],
    draw(lines, answer) { drawMap(lines, answer.embeddings); },
  },
};

const examples = {
  classify: 'What a wonderful film, I would see it again tomorrow.\nTwo hours of my life that I will not get back.\nIt was fine.',
  pair: 'A man plays the guitar. | Somebody makes music.\nA dog sleeps. | The dog is running.',
  tag: 'Ada Lovelace met Charles Babbage in London.',
  fill: 'The capital of France is ___.\nShe opened the ___ and looked outside.',
  embed: 'A dog runs across a meadow.\nA puppy plays in the grass.\nA cat sleeps on the sofa.\nStock prices fell on Tuesday.\nThe market lost two percent.\nInvestors sold their shares.\nShe plays the violin.\nThe orchestra performed a symphony.',
};

const wordsOf = line => segmentsOf(line).filter(segment => segment.isWord).map(segment => segment.text);

const betweenTexts = /\t|\s*\|\s*/;

function asPair(line) {
  const [first, ...rest] = line.split(betweenTexts);
  return [first, rest.join(' ')];
}

// An imported model does not say what it reads: then the lines do.
const readsPairs = (one, lines) => one.columns ? one.columns === 'pair' : lines.every(line => betweenTexts.test(line));

function bar(list, name, value, words) {
  const line = make(list, 'li');
  make(line, 'span', {class: 'name'}, name);
  make(make(line, 'span', {class: 'bars-of', 'aria-hidden': 'true'}), 'i', {class: 'bar', style: `--share:${clamp(value, 0, 1).toFixed(4)}`});
  make(line, 'span', {class: 'value'}, words);
}

// What is tagged, without the mark of its beginning: one hue each, far from those before it.
const plainLabel = label => label.replace(/^[BIESLU]-/, '');
function hueOf(label) {
  const kinds = [...new Set(model.labels.map(plainLabel))].filter(kind => kind !== 'O');
  return (215 + 137.5 * kinds.indexOf(plainLabel(label))) % 360;
}

async function read() {
  fail(null);
  const lines = area.value.split('\n').map(line => line.trim()).filter(line => line);
  byId('lines-facts').textContent = lines.length === 1 ? '1 line' : `${lines.length} lines`;
  updateAttention();
  if (!lines.length || (tasks[task].skips && tasks[task].skips(lines))) {
    newest.cancel();
    table.hidden = true;
    empty(box, task === 'fill' ? 'Write a text with a blank: ___' : 'Write or paste lines, one text each.');
    return;
  }
  const [path, body] = tasks[task].ask(lines);
  try {
    const answer = await newest.run(signal => post(path, {model: model.name, ...body}, signal));
    if (!answer) return;
    box.textContent = '';
    table.hidden = task !== 'embed';
    tasks[task].draw(lines, answer);
  } catch (error) {
    fail(error);
  }
}

function drawMap(lines, vectors) {
  const similar = cosines(vectors);
  if (vectors.length < 3) empty(box, 'A map needs three lines or more.');
  else drawPoints(lines, vectors, similar);
  table.textContent = '';
  make(table, 'h3', {}, 'Similarities');
  const shown = vectors.length <= 24 ? vectors.length : 24;
  const grid = addTable(table, {caption: 'Cosine similarities of the lines', columns: ['', ...Array.from({length: shown}, (_, i) => String(i + 1))],
    rows: lines.slice(0, shown).map((line, i) => [`${i + 1}  ${line}`, ...similar[i].slice(0, shown).map(value => value.toFixed(2).replace('-0.00', '0.00').replace('-', '−'))])});
  grid.classList.add('similar');
  [...grid.tBodies[0].rows].forEach((row, i) => [...row.cells].slice(1).forEach((cell, j) =>
    cell.style.setProperty('--share', i === j ? '0' : clamp(similar[i][j], 0, 1).toFixed(3))));
  if (shown < vectors.length) make(table, 'p', {class: 'hint'}, `The first ${shown} of ${vectors.length} lines.`);
}

function drawPoints(lines, vectors, similar) {
  const {points, shares} = principal(vectors), high = 360, side = 26;
  const frame = make(box, 'div', {class: 'points', role: 'group', 'aria-label': 'Map of the lines; arrow keys move between them'});
  const links = document.createElementNS(document.querySelector('svg').namespaceURI, 'svg');
  links.setAttribute('aria-hidden', 'true');
  frame.append(links);
  frame.style.height = high + 'px';
  // One scale for both directions, as large as there is room for.
  const most = axis => Math.max(...points.map(point => Math.abs(point[axis]))) || 1;
  const scale = Math.min((frame.clientWidth / 2 - 30) / most(0), (high / 2 - side) / most(1));
  const x = i => 50 + 100 * scale * points[i][0] / frame.clientWidth, y = i => high / 2 - scale * points[i][1];
  const said = make(box, 'p', {class: 'readout', 'aria-live': 'polite'}, 'Point at a line to see the ones most like it.');
  const dots = lines.map((line, i) => {
    const dot = make(frame, 'button', {type: 'button', class: x(i) > 60 ? 'point left' : 'point', style: `left:${x(i)}%;top:${y(i)}px`});
    make(dot, 'i', {}, String(i + 1));
    make(dot, 'span', {}, line);
    return dot;
  });
  // A name that would cover another, or a dot, appears when it is pointed at.
  const taken = dots.map(dot => dot.querySelector('i').getBoundingClientRect());
  for (const dot of dots) {
    const own = dot.querySelector('span').getBoundingClientRect();
    const covers = other => own.left < other.right && other.left < own.right && own.top < other.bottom && other.top < own.bottom;
    dot.classList.toggle('bare', taken.some(covers));
    if (!taken.some(covers)) taken.push(own);
  }
  const choose = i => {
    links.textContent = '';
    dots.forEach((dot, j) => dot.classList.toggle('on', i === j));
    if (i === null) return;
    const near = lines.map((_, j) => j).filter(j => j !== i).sort((a, b) => similar[i][b] - similar[i][a]).slice(0, 3);
    for (const j of near) make(links, 'line', {x1: x(i) + '%', y1: y(i), x2: x(j) + '%', y2: y(j), style: `opacity:${clamp(similar[i][j], 0.15, 1)}`});
    said.textContent = `${lines[i]} Most like it: ` + near.map(j => `${j + 1} (${similar[i][j].toFixed(2)})`).join(', ');
  };
  dots.forEach((dot, i) => {
    dot.addEventListener('pointerenter', () => choose(i));
    dot.addEventListener('focus', () => choose(i));
    dot.addEventListener('pointerleave', () => choose(null));
  });
  roving(frame, '.point');
  make(box, 'p', {class: 'hint'}, `The two directions explain ${share(shares[0])} and ${share(shares[1])} of the differences.`);
}

function chooseTask(name) {
  const before = task && examples[exampleOf(task)];
  task = name;
  byId('task-about').textContent = task === 'classify' && model.columns === 'pair' ? tasks.classify.pairsAbout : tasks[task].about;
  if (!area.value || area.value === before) area.value = examples[exampleOf(task)];
  box.textContent = '';
  table.hidden = true;
  grow();
  read();
}

function exampleOf(name) { return name === 'classify' && model.columns === 'pair' ? 'pair' : name; }

area.addEventListener('input', later);
byId('lines-clear').addEventListener('click', () => {
  area.value = '';
  grow();
  read();
  area.focus();
});

export const tab = {
  kinds: ['encoder'],
  async open(chosen) {
    if (model === chosen) return;
    model = chosen;
    const choice = byId('tasks'), names = Object.keys(tasks), have = await Promise.all(names.map(name => tasks[name].has(chosen)));
    if (model !== chosen) return;
    const there = names.filter((_, i) => have[i]);
    choice.querySelectorAll('label').forEach(label => label.remove());
    choice.hidden = there.length < 2;
    there.forEach((name, i) => {
      const label = make(choice, 'label'), input = make(label, 'input', {type: 'radio', name: 'task', value: name});
      input.checked = i === 0;
      make(label, 'span', {}, tasks[name].name);
      input.addEventListener('change', () => chooseTask(name));
    });
    updateAttention = attentionFold(byId('understand-attention-fold'), model, () => {
      const line = area.value.split('\n').find(one => one.trim());
      return line ? {request: {model: model.name, text: line.trim()}, cells: (line.length / 3) ** 2} : null;
    });
    chooseTask(there[0]);
  },
  close() { newest.cancel(); },
};
