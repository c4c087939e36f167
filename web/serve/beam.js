// A beam as a tree: a column for each step, the best hypothesis on top, and lines from each hypothesis to its continuations.
import {addFold, addTable} from './parts.js';
import {pieceParts, percent} from './words.js';

const across = 92, down = 34, wide = 74, high = 24, margin = 14;

// `steps`: for each step, hypotheses {parent, piece, log_probability, total, finished}, best first; a parent is a
// number in the step before. `written`: the pieces of what the search chose.
export function drawBeam(parent, steps, written) {
  parent.textContent = '';
  if (!steps.length) return;
  const most = Math.max(...steps.map(step => step.length));
  const nodes = steps.map((step, s) => step.map((hypothesis, h) => ({...hypothesis, s, h, x: margin + s * across, y: 26 + h * down, lives: false, best: false})));
  mark(nodes, written);
  const width = margin * 2 + steps.length * across, height = 34 + most * down;
  const frame = make(parent, 'div', {class: 'scroll beam', tabindex: '0', role: 'region', 'aria-label': 'The beam, step by step'});
  const drawing = document.createElementNS(document.querySelector('svg').namespaceURI, 'svg');
  frame.append(drawing);
  drawing.setAttribute('viewBox', `0 0 ${width} ${height}`);
  drawing.setAttribute('width', width);
  drawing.setAttribute('height', height);
  drawing.setAttribute('role', 'img');
  drawing.setAttribute('aria-label', `Beam search: ${steps.length} steps, at most ${most} hypotheses. The best: ${bestText(nodes)}`);
  for (let s = 0; s < steps.length; ++s) make(drawing, 'text', {class: 'step', x: margin + s * across + wide / 2, y: 12}, String(s + 1));
  const order = node => node.best ? 2 : node.lives ? 1 : 0;
  const all = nodes.flat().sort((a, b) => order(a) - order(b));
  for (const node of all) if (node.from) {
    const {x, y} = node.from, left = x + wide, middle = (left + node.x) / 2, from = y + high / 2, to = node.y + high / 2;
    make(drawing, 'path', {class: 'edge ' + classOf(node), d: `M${left} ${from}C${middle} ${from} ${middle} ${to} ${node.x} ${to}`,
                           style: `stroke-width:${(0.75 + 3.25 * Math.exp(node.log_probability)).toFixed(2)}px`});
  }
  for (const node of all) {
    const group = make(drawing, 'g', {class: 'node ' + classOf(node)});
    make(group, 'title', {}, `${node.piece}: ${percent(node.log_probability)} here` + (isNumber(node.total) ? `, log-probability ${node.total.toFixed(2)} so far` : ''));
    make(group, 'rect', {x: node.x, y: node.y, width: wide, height: high, rx: node.finished ? 12 : 5});
    const {space, text} = pieceParts(node.piece), short = text.length > 9 ? text.slice(0, 8) + '…' : text;
    const label = make(group, 'text', {x: node.x + wide / 2, y: node.y + 16});
    if (space && node.s) make(label, 'tspan', {class: 'space'}, '␣');
    label.append(short);
  }
  make(parent, 'p', {class: 'hint'}, 'The best hypotheses are on top. The likelier a step is, the thicker is its line. The coloured path became the translation; faint paths were given up; hypotheses in rounded boxes ended.');
  const fold = addFold(parent, 'As a table');
  fold.addEventListener('toggle', () => addTable(fold, {caption: 'The beam by step', columns: ['Step', 'Rank', 'Token', 'Goes on from', 'Probability', 'Log-probability so far'],
    rows: nodes.flat().map(node => [String(node.s + 1), String(node.h + 1), node.piece, node.from ? `${node.from.h + 1}: ${node.from.piece}` : 'the beginning',
                                    percent(node.log_probability), isNumber(node.total) ? node.total.toFixed(3) : ''])}), {once: true});
}

function classOf(node) { return (node.best ? 'best' : node.lives ? 'lives' : 'dead') + (node.finished ? ' finished' : ''); }

// What led to an end, and what led to the best one.
function mark(nodes, written) {
  const ends = nodes.flat().filter(node => node.finished);
  for (let s = 1; s < nodes.length; ++s) for (const node of nodes[s]) node.from = nodes[s - 1][node.parent];
  const last = nodes[nodes.length - 1], pathOf = node => node ? [...pathOf(node.from), node.piece] : [];
  // A prefix goes before the first step.
  const best = (ends.length ? ends : last).find(node => pathOf(node).join(' ') === written.slice(-node.s - 1).join(' ')) || last[0];
  for (const end of ends.length ? ends : last) for (let node = end; node; node = node.from) node.lives = true;
  for (let node = best; node; node = node.from) node.best = true;
}

function bestText(nodes) {
  return nodes.flatMap(step => step.filter(node => node.best)).map(node => node.piece).join(' ');
}
