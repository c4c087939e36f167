// Attention by layer and head: small maps of all heads, and one large map of raw weights beside one of the norms of the
// weighted values.
import {authorization} from './service.js';
import {MapPlace, MapView} from './map_view.js';
import {addFold, addTable} from './parts.js';
import {pieceParts} from './words.js';

const kinds = {
  cross: {name: 'Cross-attention', verb: 'writing'},
  encoder: {name: 'Encoder', verb: 'reading'},
  decoder: {name: 'Decoder', verb: 'writing'},
};
const smallMap = 64;           // cells each way of a small map of a long text
const longText = 200 * 200;    // cells from which small maps are made by the server
const dark = matchMedia('(prefers-color-scheme: dark)');

let worker = null, last = 0;
const waiting = new Map();

function ask(task, body, signal) {
  if (!worker) {
    worker = new Worker(new URL('attention_worker.js', import.meta.url));
    worker.onmessage = ({data}) => {
      const {resolve, reject} = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) reject(new Error(data.error)); else resolve(data.result);
    };
  }
  const id = ++last;
  signal.addEventListener('abort', () => worker.postMessage({cancel: id}));
  return new Promise((resolve, reject) => {
    waiting.set(id, {resolve, reject});
    worker.postMessage({id, task, body, scheme: dark.matches ? 'dark' : 'light', url: new URL('heed/attention', document.baseURI).href,
                        headers: {'Content-Type': 'application/json', ...authorization()}});
  });
}

const shown = piece => pieceParts(piece).text || piece;

export class Attention {
  // `kindsThere`: which of the kinds above the model has. `cells`: how many a map of the text has, about.
  constructor(parent, kindsThere) {
    this.parent = parent;
    this.kinds = kindsThere;
    this.kind = kindsThere[0];
    this.chosen = null;
    this.name = 'kind-' + parent.id;
    dark.addEventListener('change', () => { if (this.request) this.read(); });
    this.build();
  }

  build() {
    this.parent.textContent = '';
    if (this.kinds.length > 1) {
      const choice = make(this.parent, 'fieldset', {class: 'switch'});
      make(choice, 'legend', {class: 'unseen'}, 'Kind of attention');
      for (const kind of this.kinds) {
        const label = make(choice, 'label'), input = make(label, 'input', {type: 'radio', name: this.name, value: kind});
        input.checked = kind === this.kind;
        make(label, 'span', {}, kinds[kind].name);
        input.addEventListener('change', () => {
          this.kind = kind;
          this.chosen = null;
          this.read();
        });
      }
    }
    this.state = make(this.parent, 'p', {class: 'hint'});
    this.overview = make(this.parent, 'div', {class: 'overview', role: 'group', 'aria-label': 'Layers and heads'});
    this.opened = make(this.parent, 'div', {class: 'opened'});
  }

  // `request`: {model, text or source and target}.
  show(request, cells) {
    const same = JSON.stringify([request, cells]);
    if (this.last === same) return;
    this.last = same;
    this.request = request;
    this.cells = cells;
    this.read();
  }

  async read() {
    if (this.controller) this.controller.abort();
    const {signal} = this.controller = new AbortController();
    const body = {...this.request, kind: this.kind};
    if (this.cells > longText) body.at_most = smallMap;
    this.state.textContent = 'Reading …';
    try {
      const all = await ask('overview', body, signal);
      if (signal.aborted) return;
      this.state.textContent = '';
      this.all = all;
      this.drawOverview();
      const {layer, head} = this.chosen || {layer: all.layers - 1, head: this.cells > longText ? 0 : all.heads};
      await this.open(Math.min(layer, all.layers - 1), Math.min(head, all.heads));
    } catch (error) {
      if (!signal.aborted) this.state.textContent = error.message;
    }
  }

  drawOverview() {
    const {layers, heads, maps} = this.all, withMean = this.cells <= longText;
    this.overview.textContent = '';
    const grid = make(this.overview, 'div', {style: `grid-template-columns:max-content repeat(${heads + withMean}, minmax(30px, 5.5rem))`});
    make(grid, 'span');
    for (let head = 0; head < heads; ++head) make(grid, 'span', {}, heads > 8 ? String(head + 1) : 'head ' + (head + 1));
    if (withMean) make(grid, 'span', {}, 'mean');
    this.buttons = [];
    for (let layer = 0; layer < layers; ++layer) {
      make(grid, 'span', {}, 'layer ' + (layer + 1));
      for (let head = 0; head < heads + withMean; ++head) {
        const map = maps.find(one => one.layer === layer && one.head === head);
        const button = make(grid, 'button', {type: 'button', 'aria-pressed': 'false', tabindex: '-1', 'aria-label': this.nameOf(layer, head)});
        if (map) {
          const {picture} = map, canvas = make(button, 'canvas', {style: `aspect-ratio:${clamp(picture.width / picture.height, 0.5, 2)}`});
          Object.assign(canvas, {width: picture.width, height: picture.height});
          canvas.getContext('2d').drawImage(picture, 0, 0);
        }
        this.buttons.push({button, layer, head});
        button.addEventListener('click', () => this.open(layer, head));
        button.addEventListener('keydown', event => {
          const across = heads + withMean, here = layer * across + head;
          const next = this.buttons[here + ({ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across}[event.key] || NaN)];
          if (!next) return;
          event.preventDefault();
          next.button.focus();
          this.open(next.layer, next.head);
        });
      }
    }
  }

  nameOf(layer, head) { return `layer ${layer + 1}, ${head === this.all.heads ? 'mean of heads' : 'head ' + (head + 1)}`; }

  async open(layer, head) {
    this.chosen = {layer, head};
    for (const entry of this.buttons) {
      const pressed = entry.layer === layer && entry.head === head;
      entry.button.setAttribute('aria-pressed', String(pressed));
      entry.button.tabIndex = pressed ? 0 : -1;
    }
    if (this.opening) this.opening.abort();
    const {signal} = this.opening = new AbortController();
    this.controller.signal.addEventListener('abort', () => this.opening.abort());
    const heads = head === this.all.heads ? Array.from({length: head}, (_, i) => i) : [head];
    try {
      const map = await ask('open', {...this.request, kind: this.kind, layers: [layer], heads, norms: true}, signal);
      if (!signal.aborted) this.drawOpened(map, `${kinds[this.kind].name}, ${this.nameOf(layer, head)}`);
    } catch (error) {
      if (!signal.aborted) this.state.textContent = error.message;
    }
  }

  drawOpened(map, title) {
    this.opened.textContent = '';
    make(this.opened, 'h4', {}, title);
    const place = new MapPlace(), both = make(this.opened, 'div', {class: 'two-maps'});
    const draw = (values, name, about) => {
      const figure = make(both, 'figure'), caption = make(figure, 'figcaption');
      make(caption, 'b', {}, name);
      caption.append(' ' + about);
      new MapView(make(figure, 'div', {class: 'map-frame'}), name, values, map, place);
    };
    draw(map.weights, 'Weights', 'what each row attends to');
    if (map.norms) draw(map.norms, 'Norms', `of the weighted values: what arrives, up to ${show(Number(map.norms.limit.toPrecision(2)))}`);
    const tools = make(this.opened, 'div', {class: 'map-tools'});
    for (const [name, factor] of [['+', 1.6], ['−', 1 / 1.6]]) {
      const button = make(tools, 'button', {type: 'button', 'aria-label': factor > 1 ? 'Zoom in' : 'Zoom out'}, name);
      button.addEventListener('click', () => place.magnify(factor));
    }
    addScale(tools);
    const readout = make(tools, 'p', {class: 'readout', 'aria-live': 'polite'});
    place.listeners.push(cell => { readout.textContent = this.describe(map, cell); });
    readout.textContent = this.describe(map, null);
    for (const {column, share} of map.weights.sinks)
      make(this.opened, 'p', {class: 'hint'}, `“${shown(map.columns[column])}” gets ${(100 * share).toFixed(0)}% of all weight` +
        (map.norms ? `, and ${(100 * shareOf(map.norms, column)).toFixed(0)}% of the norms` : '') +
        ': a sink, where heads put their weight when they have nothing to add.');
    if (map.rows.length * map.columns.length <= 1600) {
      const fold = addFold(this.opened, 'Weights as a table');
      fold.addEventListener('toggle', () => addTable(fold, {caption: title, columns: ['', ...map.columns.map(shown)],
        rows: map.rows.map((row, r) => [shown(row), ...map.columns.map((_, c) => map.weights.values[r * map.columns.length + c].toFixed(2))])}),
        {once: true});
    }
  }

  describe(map, cell) {
    if (!cell) return 'Point at a cell to see its weight, or focus a map and use the arrow keys.';
    const i = cell.row * map.columns.length + cell.column;
    return `${kinds[this.kind].verb} “${shown(map.rows[cell.row])}”: weight ${map.weights.values[i].toFixed(3)} on “${shown(map.columns[cell.column])}”` +
      (map.norms ? `, norm ${show(Number(map.norms.values[i].toPrecision(2)))}` : '');
  }
}

// Colour follows the square root of a weight; norms are measured by their largest.
function addScale(parent) {
  const scale = make(parent, 'div', {class: 'scale', 'aria-hidden': 'true'}), bar = make(scale, 'div'), canvas = make(bar, 'canvas');
  const table = rampColors('weight', dark.matches ? 'dark' : 'light'), context = canvas.getContext('2d');
  Object.assign(canvas, {width: 256, height: 1});
  for (let i = 0; i < 256; ++i) {
    context.fillStyle = `rgb(${table[Math.round(i * i / 255)].map(Math.round).join(' ')})`;
    context.fillRect(i, 0, 1, 1);
  }
  for (const weight of [0, 0.05, 0.25, 0.5, 1]) make(bar, 'span', {style: `left:${100 * Math.sqrt(weight)}%`}, String(weight));
}

function shareOf({rows, columns, values}, column) {
  let all = 0, of = 0;
  for (let i = 0; i < rows * columns; ++i) {
    all += values[i];
    if (i % columns === column) of += values[i];
  }
  return of / all;
}

// Kinds of attention that a model of this kind has.
export function kindsOf(model) {
  return model.kind === 'translator' ? ['cross', 'encoder', 'decoder'] : model.kind === 'encoder' ? ['encoder'] : ['decoder'];
}

// A fold with attention in it: read when it is opened and while it is. `request()` gives {request, cells} or null.
export function attentionFold(fold, model, request) {
  const view = new Attention(fold.querySelector('div'), kindsOf(model));
  const update = () => {
    const wanted = fold.open && request();
    if (wanted) view.show(wanted.request, wanted.cells);
  };
  fold.ontoggle = update;
  return update;
}
