// A beam as a tree: a column for each step, the best hypothesis on top, and lines from each hypothesis to its continuations.
import {addFold, addTable} from './parts.js';
import {pieceParts, percent} from './words.js';

const across = 92, down = 34, wide = 74, high = 24, margin = 14;

// `steps`: for each step, hypotheses {parent, group, piece, log_probability, total, score, fate}; a parent is a number in
// the step before. `places`: [step, hypothesis] where each translation ended, the best first.
export function drawBeam(parent, steps, places) {
  parent.textContent = '';
  if (!steps.length) return;
  const most = Math.max(...steps.map(step => step.length));
  const nodes = steps.map((step, s) => step.map((hypothesis, h) => ({...hypothesis, s, h, x: margin + s * across, y: 26 + h * down, lives: false, best: false})));
  mark(nodes, places);
  const groups = new Set(nodes.flat().map(node => node.group)).size;
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
    make(group, 'title', {}, `${node.piece}: ${percent(node.log_probability)} here, log-probability ${node.total.toFixed(2)} so far` +
                              (groups > 1 ? `, group ${node.group + 1}` : '') + (node.rank ? `, translation ${node.rank}` : ''));
    make(group, 'rect', {x: node.x, y: node.y, width: wide, height: high, rx: node.fate === 'ended' ? 12 : 5});
    const {space, text} = pieceParts(node.piece), short = text.length > 9 ? text.slice(0, 8) + '…' : text;
    const label = make(group, 'text', {x: node.x + wide / 2, y: node.y + 16});
    if (space && node.s) make(label, 'tspan', {class: 'space'}, '␣');
    label.append(short);
  }
  make(parent, 'p', {class: 'hint'}, (groups > 1 ? 'Each group has its best hypotheses on top. ' : 'The best hypotheses are on top. ') +
    'The likelier a step is, the thicker is its line. The coloured path became the translation, and paths in full strength the others of the list; faint hypotheses were dropped; those in rounded boxes ended.');
  const fold = addFold(parent, 'As a table');
  fold.addEventListener('toggle', () => addTable(fold, {caption: 'The beam by step', columns: ['Step', 'Number', 'Group', 'Token', 'Goes on from', 'Probability', 'Log-probability so far', 'Score', 'Then'],
    rows: nodes.flat().map(node => [String(node.s + 1), String(node.h + 1), String(node.group + 1), node.piece, node.from ? `${node.from.h + 1}: ${node.from.piece}` : 'the beginning',
                                    percent(node.log_probability), node.total.toFixed(3), node.score.toFixed(3),
                                    node.rank ? `translation ${node.rank}` : {'went-on': 'went on', ended: 'ended', dropped: 'dropped'}[node.fate]])}), {once: true});
}

function classOf(node) { return (node.best ? 'best' : node.lives ? 'lives' : 'dead') + (node.fate === 'ended' ? ' finished' : ''); }

// What led to the translations, and what to the best one.
function mark(nodes, places) {
  for (let s = 1; s < nodes.length; ++s) for (const node of nodes[s]) node.from = nodes[s - 1][node.parent];
  places.forEach(([step, hypothesis], i) => {
    nodes[step][hypothesis].rank = i + 1;
    for (let node = nodes[step][hypothesis]; node; node = node.from) {
      node.lives = true;
      node.best ||= i === 0;
    }
  });
}

function bestText(nodes) {
  return nodes.flatMap(step => step.filter(node => node.best)).map(node => node.piece).join(' ');
}
