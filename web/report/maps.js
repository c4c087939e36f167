// Heat maps on canvases, a pixel per cell, with their labels as text around them.
(() => {
const dark = matchMedia('(prefers-color-scheme: dark)');
const repaints = [];
dark.addEventListener('change', () => repaints.forEach(repaint => repaint()));

function paint(canvas, map, ramp) {
  canvas.width = map.columns;
  canvas.height = map.rows;
  const context = canvas.getContext('2d'), image = context.createImageData(map.columns, map.rows), table = rampColors(ramp, dark.matches ? 'dark' : 'light');
  map.values.forEach((value, i) => {
    const [r, g, b] = table[value];
    image.data.set([r, g, b, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

// Follows the pointer and the arrow keys over a field of cells and calls `select` with the cell, or with null.
function followCells(field, map, select) {
  const box = make(field, 'i');
  let cell = null;
  const choose = next => {
    cell = next;
    box.style.display = cell ? 'block' : 'none';
    if (cell) {
      const width = 100 / map.columns, height = 100 / map.rows;
      Object.assign(box.style, {left: `calc(${cell.column * width}% - 1px)`, top: `calc(${cell.row * height}% - 1px)`,
                                width: `calc(${width}% + 2px)`, height: `calc(${height}% + 2px)`});
    }
    select(cell);
  };
  const follow = event => {
    const frame = field.getBoundingClientRect();
    choose({column: clamp(Math.floor((event.clientX - frame.left) / frame.width * map.columns), 0, map.columns - 1),
            row: clamp(Math.floor((event.clientY - frame.top) / frame.height * map.rows), 0, map.rows - 1)});
  };
  field.onpointermove = follow;
  field.onpointerdown = follow;
  field.onpointerleave = () => { if (document.activeElement !== field) choose(null); };
  field.onblur = () => choose(null);
  field.onkeydown = event => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    choose(cell ? {row: clamp(cell.row + step[0], 0, map.rows - 1), column: clamp(cell.column + step[1], 0, map.columns - 1)}
                : {row: 0, column: 0});
  };
}

function addScale(parent, ramp, title, marks) {
  const scale = make(parent, 'div', {class: 'scale'});
  make(scale, 'span', {}, title);
  const bar = make(scale, 'div'), canvas = make(bar, 'canvas', {'aria-hidden': 'true'});
  // Evenly spaced in colour, which follows the square root.
  const values = Uint8Array.from({length: 256}, (_, i) => ramp === 'weight' ? Math.round(i * i / 255) : i);
  const repaint = () => paint(canvas, {rows: 1, columns: 256, values}, ramp);
  repaint();
  repaints.push(repaint);
  for (const [position, text] of marks) make(bar, 'span', {style: `left:${100 * position}%`}, text);
}

const kinds = {
  cross: {name: 'cross-attention', of: 'cross-attention', layers: data.model.decoder_layers, rows: 'target_tokens', columns: 'source_tokens', verb: 'to produce'},
  encoder: {name: 'encoder self-attention', of: 'encoder', layers: data.model.encoder_layers, rows: 'source_tokens', columns: 'source_tokens', verb: 'to read'},
  decoder: {name: data.model.encoder_layers ? 'decoder self-attention' : 'self-attention', of: 'decoder', layers: data.model.decoder_layers, rows: 'target_tokens', columns: 'fed_tokens', verb: data.model.encoder_layers ? 'to produce' : 'to predict'},
};

// One kind of a sample's attention, cut into maps.
class Attention {
  constructor(sample, kind) {
    this.kind = kinds[kind];
    this.rows = sample[this.kind.rows];
    this.columns = sample[this.kind.columns];
    this.heads = data.model.heads;
    this.values = bytes(sample.maps[kind]);
  }
  map(layer, head) {
    const size = this.rows.length * this.columns.length, first = (layer * this.heads + head) * size;
    return {rows: this.rows.length, columns: this.columns.length, values: this.values.subarray(first, first + size)};
  }
  mean(layer) {
    const sum = new Float64Array(this.rows.length * this.columns.length);
    for (let head = 0; head < this.heads; ++head) this.map(layer, head).values.forEach((value, i) => { sum[i] += value; });
    return {rows: this.rows.length, columns: this.columns.length, values: Uint8Array.from(sum, x => Math.round(x / this.heads))};
  }
}

class Explorer {
  constructor(parent, sample) {
    this.sample = sample;
    this.parent = parent;
    const kindsThere = Object.keys(kinds).filter(kind => sample.maps[kind]);
    const index = data.samples.indexOf(sample);
    const choice = make(parent, 'fieldset');
    make(choice, 'legend', {}, 'Show');
    for (const kind of kindsThere) {
      const label = make(choice, 'label');
      const input = make(label, 'input', {type: 'radio', name: 'kind-' + index, value: kind});
      input.checked = kind === kindsThere[0];
      input.addEventListener('change', () => this.open(kind));
      label.append(kinds[kind].name);
    }
    const both = make(parent, 'div', {class: 'explorer'});
    const left = make(both, 'div');
    this.overview = make(left, 'div', {class: 'overview'});
    addScale(left, 'weight', 'weight', [0, 0.05, 0.25, 0.5, 1].map(w => [Math.sqrt(w), String(w)]));
    const right = make(both, 'div');
    this.title = make(right, 'h3');
    this.readout = make(right, 'p', {class: 'readout', 'aria-live': 'polite'});
    this.large = make(right, 'div', {class: 'large'});
    this.painted = [];
    repaints.push(() => this.painted.forEach(([canvas, map]) => paint(canvas, map, 'weight')));
    new ResizeObserver(() => this.fit()).observe(right);
    this.open(kindsThere[0]);
  }

  open(kind) {
    this.attention = new Attention(this.sample, kind);
    const {heads} = this.attention, {layers} = this.attention.kind;
    this.overview.textContent = '';
    this.painted = [];
    const grid = make(this.overview, 'div', {style: `grid-template-columns:max-content repeat(${heads + 1}, minmax(34px, 1fr))`});
    make(grid, 'span');
    for (let head = 0; head < heads; ++head) make(grid, 'span', {}, heads > 8 ? String(head + 1) : 'head ' + (head + 1));
    make(grid, 'span', {}, 'mean');
    this.buttons = [];
    for (let layer = 0; layer < layers; ++layer) {
      make(grid, 'span', {}, 'layer ' + (layer + 1));
      for (let head = 0; head <= heads; ++head) this.addSmall(grid, layer, head);
    }
    this.choose(layers - 1, heads);
  }

  addSmall(grid, layer, head) {
    const mean = head === this.attention.heads;
    const map = mean ? this.attention.mean(layer) : this.attention.map(layer, head);
    const button = make(grid, 'button', {type: 'button', 'aria-pressed': 'false',
                                         'aria-label': `layer ${layer + 1}, ${mean ? 'mean of heads' : 'head ' + (head + 1)}`});
    const canvas = make(button, 'canvas', {style: `aspect-ratio:${clamp(map.columns / map.rows, 0.4, 2.5)}`});
    paint(canvas, map, 'weight');
    this.painted.push([canvas, map]);
    this.buttons.push({button, layer, head, map});
    button.addEventListener('click', () => this.choose(layer, head));
    button.addEventListener('keydown', event => {
      const across = this.attention.heads + 1, here = layer * across + head;
      const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across}[event.key];
      const next = step && this.buttons[here + step];
      if (next) { event.preventDefault(); next.button.focus(); this.choose(next.layer, next.head); }
    });
  }

  choose(layer, head) {
    for (const entry of this.buttons) {
      const chosen = entry.layer === layer && entry.head === head;
      entry.button.setAttribute('aria-pressed', String(chosen));
      if (chosen) this.chosen = entry;
    }
    const {kind, heads} = this.attention;
    this.title.textContent = `${kind.name[0].toUpperCase()}${kind.name.slice(1)}, layer ${layer + 1}, ` +
        (head === heads ? 'mean of heads' : 'head ' + (head + 1));
    this.drawLarge();
  }

  drawLarge() {
    const {map} = this.chosen, {rows, columns} = this.attention;
    this.large.textContent = '';
    const heat = this.heat = make(this.large, 'div', {class: 'heat'});
    const top = make(heat, 'div', {class: 'top', 'aria-hidden': 'true'});
    const tops = columns.map(token => make(top, 'span', {title: token}, token));
    const left = make(heat, 'div', {class: 'left', 'aria-hidden': 'true'});
    const lefts = rows.map(token => make(left, 'span', {title: token}, token));
    const field = this.field = make(heat, 'div', {class: 'field', tabindex: '0', role: 'img',
                                                  'aria-label': this.title.textContent + '. Arrow keys move between cells.'});
    const canvas = make(field, 'canvas');
    this.tops = tops;
    this.lefts = lefts;
    paint(canvas, map, 'weight');
    this.painted = this.painted.filter(entry => !entry[2]).concat([[canvas, map, 'large']]);
    followCells(field, map, cell => {
      lefts.forEach((label, i) => label.classList.toggle('on', !!cell && cell.row === i));
      tops.forEach((label, i) => label.classList.toggle('on', !!cell && cell.column === i));
      this.say(cell);
    });
    this.say(null);
    this.fit();
  }

  // Cells are as large as there is room for, between 13 and 28 pixels.
  fit() {
    if (!this.heat) return;
    const {map} = this.chosen;
    const room = this.large.clientWidth - Math.max(...this.lefts.map(label => label.scrollWidth)) - 14;
    const cell = clamp(Math.floor(room / map.columns), 13, 28);
    this.field.style.width = cell * map.columns + 'px';
    this.field.style.height = cell * map.rows + 'px';
    for (const label of this.tops) label.style.width = cell + 'px';
    for (const label of this.lefts) label.style.height = cell + 'px';
  }

  say(cell) {
    if (!cell) {
      this.readout.textContent = 'Point at a cell for its weight, or focus the map and use the arrow keys.';
      return;
    }
    const {map} = this.chosen, {rows, columns, kind} = this.attention;
    const weight = map.values[cell.row * map.columns + cell.column] / 255;
    let text = `${weight.toFixed(2)} on “${columns[cell.column]}”, ${kind.verb} “${rows[cell.row]}”`;
    if (kind.rows === 'target_tokens')
      text += `, whose probability was ${Math.exp(this.sample.log_probabilities[cell.row]).toFixed(3)}`;
    this.readout.textContent = text;
  }
}

for (const details of document.querySelectorAll('.maps')) {
  let built = false;
  const build = () => {
    if (built || !details.open) return;
    built = true;
    new Explorer(details.querySelector('div'), data.samples[Number(details.dataset.sample)]);
  };
  details.addEventListener('toggle', build);
  build();
}

function showPositions(parent, table) {
  const map = {rows: table.positions, columns: table.columns.length, values: bytes(table.values)};
  const heat = make(parent, 'div', {class: 'heat'});
  make(heat, 'div');
  const top = make(heat, 'div', {class: 'top', 'aria-hidden': 'true'}), left = make(heat, 'div', {class: 'left', 'aria-hidden': 'true'});
  const every = Math.max(1, Math.ceil(map.columns / 8));
  for (let c = 0; c < map.columns; c += every)
    make(top, 'span', {style: `left:${100 * (c + 0.5) / map.columns}%`}, String(table.columns[c]));
  for (let p = 0; p < map.rows; p += 8) make(left, 'span', {style: `top:${100 * (p + 0.5) / map.rows}%`}, String(p));
  const field = make(heat, 'div', {class: 'field', tabindex: '0', role: 'img',
                                   'aria-label': 'Positional encoding, positions down, columns across. Arrow keys move between cells.'});
  const canvas = make(field, 'canvas');
  const repaint = () => paint(canvas, map, 'signed');
  repaint();
  repaints.push(repaint);
  const readout = make(parent, 'p', {class: 'readout', 'aria-live': 'polite'});
  const hint = 'Positions run down, columns across. Point at a cell for its value.';
  readout.textContent = hint;
  followCells(field, map, cell => {
    const value = cell && (map.values[cell.row * map.columns + cell.column] / 127.5 - 1) * table.limit;
    readout.textContent = cell ? `position ${cell.row}, column ${table.columns[cell.column]}: ${value.toFixed(2)}` : hint;
  });
  const limit = show(Number(table.limit.toPrecision(2)));
  addScale(parent, 'signed', 'value', [[0, '−' + limit], [0.5, '0'], [1, limit]]);
}

const positions = document.querySelector('.positions');
if (positions) showPositions(positions, data.positions);
})();
