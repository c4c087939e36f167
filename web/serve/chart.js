// Curves over one axis, drawn as those of the report. Pointing at one, or the arrow keys, show the values there.

export class Chart {
  // `series`: [{name, color, dots, joined}]; `dots` marks the points, `joined` draws the curve across missing values.
  // `shown` makes text of a value, `shownX` of a place on the axis.
  constructor(parent, {title, unit, series, zero = true, shown = show, shownX = show}) {
    Object.assign(this, {title, unit, series, zero, shown, shownX, x: [], cursor: null});
    const figure = this.figure = make(parent, 'figure', {class: 'chart'}), caption = make(figure, 'figcaption');
    make(caption, 'h3', {}, title);
    if (unit) make(caption, 'span', {class: 'unit'}, unit);
    this.legend = make(figure, 'ul', {class: 'legend'});
    this.svg = document.createElementNS(document.querySelector('svg').namespaceURI, 'svg');
    figure.append(this.svg);
    this.svg.setAttribute('tabindex', '0');
    this.svg.setAttribute('role', 'img');
    this.listen();
    new ResizeObserver(() => this.draw()).observe(figure);
  }

  // Values of each series at the places `x`; null where there is none.
  set(x, values) {
    this.x = x;
    this.values = values;
    if (this.cursor !== null) this.cursor = clamp(this.cursor, 0, x.length - 1);
    this.draw();
  }

  draw() {
    const {svg} = this, {width, height} = svg.getBoundingClientRect();
    if (!width || !height || !this.values) return;
    svg.textContent = '';
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    let [low, high] = extent(this.values);
    if (low > high) [low, high] = [0, 1];
    if (this.zero) low = Math.min(0, low);
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    if (!this.zero) low -= room;
    high += room;
    const marks = ticks(low, high, 4), widest = Math.max(...marks.map(mark => this.shown(mark).length));
    const left = 14 + 7 * widest, right = width - 8, top = 12, bottom = height - 26;
    const [first, last] = this.x.length > 1 ? [this.x[0], this.x[this.x.length - 1]] : [0, 1];
    Object.assign(this, {left, right, top, bottom, first, last});
    this.atX = value => left + (value - first) / (last - first) * (right - left);
    this.atY = value => bottom - (value - low) / (high - low) * (bottom - top);
    for (const mark of marks) {
      const y = this.atY(mark);
      make(svg, 'line', {class: 'grid', x1: left, x2: right, y1: y, y2: y});
      make(svg, 'text', {x: left - 8, y: y + 4, 'text-anchor': 'end'}, this.shown(mark));
    }
    make(svg, 'line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom});
    for (const mark of ticks(first, last, Math.max(2, Math.floor((right - left) / 90)))) {
      const x = this.atX(mark);
      if (x < right - 12) make(svg, 'text', {x, y: bottom + 18, 'text-anchor': x < left + 12 ? 'start' : 'middle'}, this.shownX(mark));
    }
    this.series.forEach((series, s) => this.drawCurve(series, this.values[s]));
    this.overlay = make(svg, 'g', {});
    this.point();
  }

  drawCurve(series, values) {
    let path = '', pen = 'M';
    values.forEach((value, i) => {
      if (!isNumber(value)) {
        if (!series.joined) pen = 'M';
        return;
      }
      path += pen + this.atX(this.x[i]).toFixed(1) + ' ' + this.atY(value).toFixed(1);
      pen = 'L';
    });
    const group = make(this.svg, 'g', {style: `color:var(--${series.color})`});
    if (path) make(group, 'path', {class: 'curve', d: path});
    const there = values.flatMap((value, i) => isNumber(value) ? [i] : []);
    if (series.dots ? there.length <= 80 : there.length === 1)
      for (const i of there) make(group, 'circle', {class: 'dot', cx: this.atX(this.x[i]), cy: this.atY(values[i]), r: 2.5});
  }

  point() {
    if (!this.overlay) return;
    this.overlay.textContent = '';
    this.legend.textContent = '';
    const {cursor} = this, said = [];
    if (cursor !== null) make(this.overlay, 'line', {class: 'cursor', x1: this.atX(this.x[cursor]), x2: this.atX(this.x[cursor]), y1: this.top, y2: this.bottom});
    this.series.forEach((series, s) => {
      const values = this.values[s], i = cursor === null ? values.findLastIndex(isNumber) : cursor;
      const text = isNumber(values[i]) ? this.shown(values[i]) : '–';
      const item = make(this.legend, 'li', {style: `color:var(--${series.color})`});
      make(item, 'i');
      make(item, 'span', {}, series.name);
      make(item, 'b', {}, text);
      said.push(`${series.name} ${text}`);
      if (cursor !== null && isNumber(values[i]))
        make(this.overlay, 'circle', {class: 'at', style: `color:var(--${series.color})`, r: 4, cx: this.atX(this.x[i]), cy: this.atY(values[i])});
    });
    const where = cursor === null ? 'at the end' : `at ${this.shownX(this.x[cursor])}`;
    if (cursor !== null) make(make(this.legend, 'li'), 'span', {}, where);
    this.svg.setAttribute('aria-label', `${this.title}: ${where}, ${said.join(', ')}`);
  }

  move(cursor) {
    this.cursor = cursor;
    this.point();
  }

  listen() {
    const {svg} = this;
    const follow = event => {
      if (!this.x.length) return;
      const share = (event.clientX - svg.getBoundingClientRect().left - this.left) / (this.right - this.left);
      const wanted = this.first + clamp(share, 0, 1) * (this.last - this.first);
      let best = 0;
      this.x.forEach((x, i) => { if (Math.abs(x - wanted) < Math.abs(this.x[best] - wanted)) best = i; });
      this.move(best);
    };
    svg.addEventListener('pointermove', follow);
    svg.addEventListener('pointerdown', follow);
    svg.addEventListener('pointerleave', () => { if (document.activeElement !== svg) this.move(null); });
    svg.addEventListener('blur', () => this.move(null));
    svg.addEventListener('keydown', event => {
      const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key], end = this.x.length - 1;
      const to = by ? clamp((this.cursor === null ? (by > 0 ? -1 : end + 1) : this.cursor) + by, 0, end) : event.key === 'Home' ? 0 : event.key === 'End' ? end : null;
      if (event.key === 'Escape') this.move(null);
      if (to === null || end < 0) return;
      event.preventDefault();
      this.move(to);
    });
  }
}
