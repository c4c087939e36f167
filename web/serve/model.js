// What a model is: its drawing, its weights, how it was trained.
import {authorization, getJson, getText} from './service.js';
import {addFold, addTable, byId, fail} from './parts.js';
import {Chart} from './chart.js';
import {languageName} from './words.js';

const box = byId('model-content');
const kindNames = {translator: 'Translator', 'language-model': 'Language model', encoder: 'Encoder'};
let model = null;

const bytesText = bytes => bytes >= 1e9 ? show(Number((bytes / 1e9).toPrecision(3))) + ' GB' : show(Number((bytes / 1e6).toPrecision(3))) + ' MB';

export function countText(count) {
  for (const [size, word] of [[1e9, ' billion'], [1e6, ' million'], [1e3, ' thousand']])
    if (count >= size) return Number((count / size).toPrecision(3)) + word;
  return String(count);
}

function figure(list, name, value, small) {
  if (value === undefined || value === null || value === '') return;
  const pair = make(list, 'div');
  make(pair, 'dt', {}, name);
  const shown = make(pair, 'dd', {}, value);
  if (small) make(shown, 'small', {}, small);
}

function drawFigures(about) {
  const list = make(box, 'dl', {class: 'figures'});
  const count = model.parameters, bytes = (about.parameters || []).reduce((sum, one) => sum + (one.bytes || 0), 0) || model.bytes;
  if (count) figure(list, 'Parameters', countText(count), count >= 1e4 ? count.toLocaleString('en') : '');
  if (bytes) figure(list, 'Stored size', bytesText(bytes));
  figure(list, 'Computes in', model.precision);
  figure(list, 'Longest text', isNumber(model.max_length) ? model.max_length.toLocaleString('en') : null, 'tokens');
  if (model.labels && model.labels.length) figure(list, 'Labels', String(model.labels.length), model.labels.slice(0, 4).join(', ') + (model.labels.length > 4 ? ' …' : ''));
}

// The server's drawing, that of the report.
function drawDiagram(text) {
  // A policy without inline styles holds for what is read, too.
  const drawing = new DOMParser().parseFromString(text.replace(/ style="[^"]*"/g, ''), 'text/html').querySelector('svg');
  if (!drawing) return;
  const section = make(box, 'section');
  make(section, 'h2', {}, 'Architecture');
  make(section, 'p', {class: 'about'}, 'From bottom to top. Dashed lines join places that use one table. In a layer, the line on the left is the residual stream.');
  const frame = make(section, 'div', {class: 'diagram', tabindex: '0', role: 'region', 'aria-label': 'Architecture'});
  frame.append(document.importNode(drawing, true));
  frame.firstChild.style.maxWidth = drawing.viewBox.baseVal.width + 'px';
}

function drawCurves(curve) {
  const keys = Object.keys(curve[0] || {}).length ? [...new Set(curve.flatMap(Object.keys))].filter(key => key !== 'update') : [];
  const updates = curve.map(point => point.update), there = keys.filter(key => curve.some(point => isNumber(point[key])));
  if (!there.length) return;
  const section = make(box, 'section');
  make(section, 'h2', {}, 'Training');
  const charts = make(section, 'div', {class: 'charts'});
  const values = key => curve.map(point => isNumber(point[key]) ? point[key] : null);
  const losses = [{key: 'loss', name: 'training', color: 'a'}, {key: 'validation', name: 'validation', color: 'b'}].filter(({key}) => there.includes(key));
  const draw = (title, series) => {
    for (const one of series) Object.assign(one, {joined: true, dots: values(one.key).includes(null)});
    const chart = new Chart(charts, {title, unit: 'by update', series, zero: false});
    chart.set(updates, series.map(one => values(one.key)));
    return chart;
  };
  if (losses.length) draw('Loss', losses).figure.dataset.chart = 'loss';
  const names = {learning_rate: 'Learning rate', gradient_norm: 'Gradient norm', bleu: 'BLEU', accuracy: 'Accuracy', target_tokens_per_second: 'Tokens a second'};
  for (const key of there) if (key !== 'loss' && key !== 'validation')
    draw(names[key] || key.replace(/_/g, ' '), [{key, name: names[key] || key.replace(/_/g, ' '), color: 'c'}]);
}

function drawParameters(parameters) {
  const fold = addFold(box, `All ${parameters.length} weights`);
  fold.classList.add('table');
  fold.addEventListener('toggle', () => addTable(fold, {caption: 'Weights', columns: ['Name', 'Shape', 'Elements', 'Type', 'Bytes'],
    rows: parameters.map(one => [one.name, one.shape, isNumber(one.elements) ? one.elements.toLocaleString('en') : '', one.type || '', one.bytes ? one.bytes.toLocaleString('en') : ''])}), {once: true});
}

function drawSettings(text) {
  const fold = addFold(box, 'Settings');
  fold.classList.add('table');
  make(fold, 'pre', {tabindex: '0'}, text.trim());
}

// Points of the curves from what training wrote down.
const trained = ['loss', 'learning_rate', 'gradient_norm', 'target_tokens_per_second'];
function curveOf(events) {
  return events.flatMap(event => {
    if (event.event === 'train') return [Object.fromEntries(['update', ...trained].map(key => [key, event[key]]))];
    if (event.event !== 'validation') return event.event === undefined ? [event] : [];
    const {loss, seconds, best, event: name, ...scores} = event;
    return [{...scores, validation: loss}];
  });
}

// A link would not send the key.
async function save(event, path) {
  event.preventDefault();
  try {
    const address = URL.createObjectURL(new Blob([await getText(path)], {type: 'text/html'}));
    const link = Object.assign(document.createElement('a'), {href: address, download: `${model.name}.html`});
    link.click();
    URL.revokeObjectURL(address);
  } catch (error) {
    fail(error);
  }
}

async function read() {
  fail(null);
  byId('model-name').textContent = model.name;
  const languages = model.source_language && model.target_language ? ` from ${languageName(model.source_language)} to ${languageName(model.target_language)}` : '';
  byId('model-lead').textContent = kindNames[model.kind] + languages;
  box.textContent = '';
  const wanted = model;
  try {
    const about = await getJson('heed/describe/' + encodeURIComponent(model.name));
    if (wanted !== model) return;
    const lead = byId('model-lead');
    if (about.report) {
      lead.append(' · ');
      const path = 'heed/report/' + encodeURIComponent(model.name);
      const link = make(lead, 'a', {href: path, target: '_blank'}, 'training report');
      if (authorization().Authorization) link.addEventListener('click', event => save(event, path));
    }
    drawFigures(about);
    for (const note of about.notes || []) make(box, 'p', {class: 'hint'}, note);
    if (about.diagram) drawDiagram(about.diagram);
    drawCurves(curveOf(about.curve || []));
    const folds = make(box, 'section', {'aria-label': 'Details'});
    if (about.parameters) drawParameters(about.parameters);
    if (about.architecture) drawSettings(about.architecture);
    folds.append(...box.querySelectorAll(':scope > details'));
    box.append(folds);
  } catch (error) {
    fail(error);
  }
}

export const tab = {
  kinds: ['translator', 'language-model', 'encoder'],
  open(chosen) {
    if (model === chosen) return;
    model = chosen;
    read();
  },
  close() {},
};
