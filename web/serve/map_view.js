// A heat map of any size on one canvas: cells, labels as far as there is room for them, a cell that is chosen, and
// magnification. Several views may share what is chosen.
import {pieceParts} from './words.js';

const labelRoom = 88, smallest = 11;  // pixels: for labels beside the map; of a cell whose label can be read

export class MapPlace {
  constructor() {
    this.views = [];
    this.cell = null;
    this.zoom = 1;
    this.left = this.top = 0;  // of what is shown, as a share of the map
    this.listeners = [];
  }
  choose(cell) {
    this.cell = cell;
    this.listeners.forEach(listen => listen(cell));
    this.redraw();
  }
  magnify(factor, x = 0.5, y = 0.5) {
    const before = 1 / this.zoom, most = Math.max(1, Math.max(...this.views.map(view => view.map.columns)) / 6);
    this.zoom = clamp(this.zoom * factor, 1, most);
    const after = 1 / this.zoom;
    this.move(this.left + (before - after) * x, this.top + (before - after) * y);
  }
  move(left, top) {
    this.left = clamp(left, 0, 1 - 1 / this.zoom);
    this.top = clamp(top, 0, 1 - 1 / this.zoom);
    this.redraw();
  }
  // So that the chosen cell is in sight.
  follow() {
    const {rows, columns} = this.views[0].map, shown = 1 / this.zoom;
    const x = this.cell.column / columns, y = this.cell.row / rows;
    this.move(x < this.left ? x : x + 1 / columns > this.left + shown ? x + 1 / columns - shown : this.left,
              y < this.top ? y : y + 1 / rows > this.top + shown ? y + 1 / rows - shown : this.top);
  }
  redraw() {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.views.forEach(view => view.draw()));
  }
}

export class MapView {
  // `map`: {rows, columns, limit, pictures}; `labels`: {rows, columns}, lists of pieces.
  constructor(parent, title, map, labels, place) {
    Object.assign(this, {map, place, title});
    this.labels = {rows: labels.rows.map(text), columns: labels.columns.map(text)};
    this.canvas = make(parent, 'canvas', {class: 'map-view', tabindex: '0', role: 'application', 'aria-roledescription': 'heat map',
      'aria-label': `${title}: ${map.rows} rows, ${map.columns} columns. Arrow keys move between cells, plus and minus zoom.`});
    place.views.push(this);
    this.listen();
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(parent);
  }

  get frame() {
    const style = getComputedStyle(this.canvas.parentElement);
    const width = this.canvas.parentElement.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const room = Math.min(labelRoom, width * 0.25), {rows, columns} = this.map;
    const across = Math.min(width - room - 2, columns * 30);
    const down = clamp(across * rows / columns, Math.min(120, rows * 30), Math.max(across * 1.4, rows > 40 ? 300 : rows * smallest * 1.3));
    return {left: room, top: room, across, down, width: room + across + 2, height: room + down + 2};
  }

  draw() {
    const frame = this.frame, ratio = devicePixelRatio || 1;
    if (frame.across < 20) return;
    const {canvas, map, place} = this, {rows, columns} = map;
    const wide = Math.round(frame.width * ratio), high = Math.round(frame.height * ratio);
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, {width: wide, height: high});
    canvas.style.width = frame.width + 'px';
    canvas.style.height = frame.height + 'px';
    const style = getComputedStyle(canvas), context = canvas.getContext('2d');
    const color = name => style.getPropertyValue(name).trim();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, frame.width, frame.height);
    const cellWidth = frame.across * place.zoom / columns, cellHeight = frame.down * place.zoom / rows;
    // The smallest copy that has a cell for each pixel.
    let level = 0;
    while (level + 1 < map.pictures.length && cellWidth * ratio * (2 << level) <= 1.5) ++level;
    const picture = map.pictures[level], share = 1 / place.zoom;
    context.imageSmoothingEnabled = cellWidth * ratio < 1;
    context.drawImage(picture, place.left * picture.width, place.top * picture.height, share * picture.width, share * picture.height,
                      frame.left, frame.top, frame.across, frame.down);
    context.strokeStyle = color('--line');
    context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.across + 1, frame.down + 1);
    const x = column => frame.left + column * cellWidth - place.left * place.zoom * frame.across;
    const y = row => frame.top + row * cellHeight - place.top * place.zoom * frame.down;
    this.drawLabels(context, frame, {x, y, cellWidth, cellHeight, color});
    if (place.cell) this.drawCell(context, frame, {x, y, cellWidth, cellHeight, color});
  }

  drawLabels(context, frame, {x, y, cellWidth, cellHeight, color}) {
    const {cell} = this.place, {rows, columns} = this.labels;
    context.textBaseline = 'middle';
    const font = size => `${Math.round(clamp(size, 10, 13))}px system-ui, sans-serif`;
    const each = (labels, at, size, from, to, write) => {
      const step = size >= smallest ? 1 : Math.ceil(48 / size), chosen = cell && (labels === rows ? cell.row : cell.column);
      for (let i = 0; i < labels.length; ++i) {
        const middle = at(i) + size / 2, near = cell && step > 1 && i !== chosen && Math.abs(at(i) - at(chosen)) < 16;
        if (middle < from || middle > to || near || (i % step && i !== chosen)) continue;
        context.fillStyle = color(i === chosen ? '--ink' : '--muted');
        context.font = (i === chosen ? '600 ' : '') + font(size * 0.8);
        write(step > 1 && i !== chosen ? String(i + 1) : labels[i], middle);
      }
    };
    context.textAlign = 'right';
    each(rows, y, cellHeight, frame.top, frame.top + frame.down, (label, middle) =>
      context.fillText(fitted(context, label, frame.left - 8), frame.left - 6, middle));
    context.textAlign = 'left';
    each(columns, x, cellWidth, frame.left, frame.left + frame.across, (label, middle) => {
      context.save();
      context.translate(middle, frame.top - 6);
      context.rotate(-Math.PI / 2);
      context.fillText(fitted(context, label, frame.top - 8), 0, 0);
      context.restore();
    });
  }

  drawCell(context, frame, {x, y, cellWidth, cellHeight, color}) {
    const {cell} = this.place;
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.across, frame.down);
    context.clip();
    context.strokeStyle = color('--b');
    context.globalAlpha = 0.5;
    context.lineWidth = 1;
    const middleX = x(cell.column) + cellWidth / 2, middleY = y(cell.row) + cellHeight / 2;
    if (cellWidth < 8) {
      context.beginPath();
      context.moveTo(frame.left, middleY);
      context.lineTo(frame.left + frame.across, middleY);
      context.moveTo(middleX, frame.top);
      context.lineTo(middleX, frame.top + frame.down);
      context.stroke();
    }
    context.globalAlpha = 1;
    context.lineWidth = 2;
    const wide = Math.max(cellWidth, 6), high = Math.max(cellHeight, 6);
    context.strokeRect(middleX - wide / 2, middleY - high / 2, wide, high);
    context.restore();
  }

  // The cell at a point of the page, and where in what is shown the point lies.
  at(event) {
    const box = this.canvas.getBoundingClientRect(), frame = this.frame, {place, map} = this;
    const shareX = (event.clientX - box.left - frame.left) / frame.across, shareY = (event.clientY - box.top - frame.top) / frame.down;
    const inside = shareX >= 0 && shareX < 1 && shareY >= 0 && shareY < 1;
    return {shareX, shareY, cell: inside ? {
      column: clamp(Math.floor((place.left + shareX / place.zoom) * map.columns), 0, map.columns - 1),
      row: clamp(Math.floor((place.top + shareY / place.zoom) * map.rows), 0, map.rows - 1)} : null};
  }

  listen() {
    const {canvas, place} = this;
    let drag = null;
    canvas.addEventListener('pointerdown', event => {
      drag = place.zoom > 1 ? {x: event.clientX, y: event.clientY, left: place.left, top: place.top} : null;
      if (drag) canvas.setPointerCapture(event.pointerId);
      place.choose(this.at(event).cell);
    });
    canvas.addEventListener('pointermove', event => {
      if (drag && event.buttons) {
        const frame = this.frame;
        place.move(drag.left - (event.clientX - drag.x) / frame.across / place.zoom, drag.top - (event.clientY - drag.y) / frame.down / place.zoom);
      } else {
        place.choose(this.at(event).cell);
      }
    });
    canvas.addEventListener('pointerup', () => { drag = null; });
    canvas.addEventListener('pointerleave', () => { if (document.activeElement !== canvas) place.choose(null); });
    canvas.addEventListener('blur', () => place.choose(null));
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && place.zoom === 1) return;  // the page scrolls
      event.preventDefault();
      const {shareX, shareY} = this.at(event);
      place.magnify(Math.exp(-event.deltaY / 300), clamp(shareX, 0, 1), clamp(shareY, 0, 1));
    }, {passive: false});
    canvas.addEventListener('keydown', event => this.press(event));
  }

  press(event) {
    const {place, map} = this, page = event.shiftKey ? 10 : 1;
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    const factor = {'+': 1.5, '=': 1.5, '-': 1 / 1.5}[event.key];
    if (event.key === 'Escape') place.choose(null);
    if (!step && !factor) return;
    event.preventDefault();
    if (factor) place.magnify(factor);
    else {
      place.choose(place.cell ? {row: clamp(place.cell.row + page * step[0], 0, map.rows - 1),
                                 column: clamp(place.cell.column + page * step[1], 0, map.columns - 1)} : {row: 0, column: 0});
      place.follow();
    }
  }
}

function text(piece) {
  return pieceParts(piece).text || piece;
}

function fitted(context, label, room) {
  if (context.measureText(label).width <= room) return label;
  let length = label.length;
  while (length > 1 && context.measureText(label.slice(0, length) + '…').width > room) --length;
  return label.slice(0, length) + '…';
}
