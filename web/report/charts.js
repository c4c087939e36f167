// Curves over a shared horizontal axis: pointing at one shows the values of all at that update. A page has one run
// (data.curves) or several (data.runs), whose curves then lie over each other.
(() => {
if (!data.curves && !data.runs) return;
const showBytes = bytes =>
  !isNumber(bytes) ? show(bytes) : bytes >= 1e9 ? show(bytes / 1e9) + ' GB' : show(bytes / 1e6) + ' MB';

function specsOfOne(curves) {
  const {train, validation} = curves;
  // Without label smoothing the two losses of training are one.
  const smoothed = train.nll.some((nll, i) => isNumber(nll) && Math.abs(nll - train.loss[i]) > 1e-9 * Math.abs(nll));
  const of = (part, key, name, color, dots = false) => ({run: curves, of: part, key, name, color, dots});
  const specs = {
    loss: {log: true, best: true, series: [
      of(train, 'loss', smoothed ? 'training, smoothed' : 'training', 'a'),
      ...(smoothed ? [of(train, 'nll', 'training', 'c')] : []),
      of(validation, 'loss', 'validation', 'b', true)]},
    kl: {log: true, series: [of(train, 'kl', 'KL divergence', 'a')]},
    memory: {zero: true, show: showBytes, series: [of(train, 'peak_memory_bytes', 'peak memory', 'a')]},
    learning_rate: {zero: true, series: [of(train, 'learning_rate', 'learning rate', 'a')]},
    throughput: {zero: true, series: [of(train, 'target_tokens_per_second', `${curves.targets} per second`, 'a')]},
    gradient_norm: {log: true, zero: true, series: [of(train, 'gradient_norm', 'gradient norm', 'a')]},
  };
  for (const {key, name, highest} of curves.metrics)
    specs[key] = {zero: key === 'bleu', highest, best: true, series: [of(validation, key, name, 'b', true)]};
  return specs;
}

function specsOfSeveral(runs) {
  const of = (part, key, dots = false) => runs.map(({name, curves}, i) =>
    ({run: curves, of: curves[part], key, name, color: 'run-' + i % 8, dots})).filter(s => s.of[key]);
  const specs = {
    loss: {log: true, series: of('validation', 'loss', true)},
    training: {log: true, series: of('train', 'nll')},
    learning_rate: {zero: true, series: of('train', 'learning_rate')},
    throughput: {zero: true, series: of('train', 'target_tokens_per_second')},
  };
  for (const {key, highest} of runs[0].curves.metrics)
    specs[key] = {zero: key === 'bleu', highest, series: of('validation', key, true)};
  return specs;
}

const specs = data.runs ? specsOfSeveral(data.runs) : specsOfOne(data.curves);
const allCurves = data.runs ? data.runs.map(run => run.curves) : [data.curves];
const state = {over: 'update', logarithmic: false, cursor: null};
const charts = [];

// Where an update lies on another axis, interpolated between the training points that have both.
function along(curves, update, key) {
  const updates = curves.train.update, values = curves.train[key];
  let last = null;
  for (let i = 0; i < updates.length; ++i) {
    if (!isNumber(values[i])) continue;
    if (updates[i] >= update) {
      const [u, v] = last || [0, 0];
      return updates[i] === u ? values[i] : v + (values[i] - v) * (update - u) / (updates[i] - u);
    }
    last = [updates[i], values[i]];
  }
  return last ? last[1] * (last[0] ? update / last[0] : 1) : null;
}

function horizontal(series) {
  if (state.over === 'update') return series.of.update;
  return series.of[state.over] && series.of[state.over].some(isNumber)
    ? series.of[state.over] : series.of.update.map(update => along(series.run, update, state.over));
}

// The unit of time depends on how long the run took.
function axis(high) {
  if (state.over === 'update') return {name: 'updates', one: 'update', unit: 1};
  if (state.over === 'epoch') return {name: 'epochs', one: 'epoch', unit: 1};
  return high > 7200 ? {name: 'hours', unit: 3600} : high > 120 ? {name: 'minutes', unit: 60} : {name: 'seconds', unit: 1};
}

function verticalScale(spec, series) {
  let [low, high] = extent(series.map(s => s.y));
  if (spec.log && state.logarithmic && low > 0) {
    const room = Math.max(1.02, Math.pow(high / low, 0.04));
    low /= room;
    high *= room;
    return {ticks: logTicks(low, high), at: value => value > 0 ? Math.log(value / low) / Math.log(high / low) : NaN};
  }
  if (spec.zero) low = Math.min(0, low);
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  if (!spec.zero) low -= room;
  high = isNumber(spec.highest) ? Math.max(high, Math.min(high + room, spec.highest)) : high + room;
  return {ticks: ticks(low, high, 5), at: value => (value - low) / (high - low)};
}

function bestAt(series) {
  if (series.of !== series.run.validation) return -1;
  return series.key === 'bleu'
    ? series.y.reduce((best, y, i) => isNumber(y) && (best < 0 || y > series.y[best]) ? i : best, -1)
    : series.of.best.lastIndexOf(true);
}

// Above the point or below it, where the other curves leave room; null where there is none.
function labelPosition(chart, series, x, y) {
  let above = y - chart.top, below = chart.bottom - y;
  for (const other of chart.series) {
    if (other === series) continue;
    other.x.forEach((value, i) => {
      if (Math.abs(chart.x(value) - x) > 40 || !isNumber(other.y[i])) return;
      const distance = chart.y(other.y[i]) - y;
      if (distance < 0) above = Math.min(above, -distance); else below = Math.min(below, distance);
    });
  }
  return above >= 24 ? y - 9 : below >= 26 ? y + 18 : null;
}

function drawCurve(chart, series) {
  let path = '', pen = 'M';
  series.x.forEach((x, i) => {
    const y = chart.y(series.y[i]);
    if (!isNumber(series.y[i]) || !isNumber(x) || !isNumber(y)) { pen = 'M'; return; }
    path += pen + chart.x(x).toFixed(1) + ' ' + y.toFixed(1);
    pen = 'L';
  });
  const group = make(chart.svg, 'g', {style: `color:var(--${series.color})`});
  make(group, 'path', {class: 'curve', d: path || 'M0 0'});
  const points = series.x.map((x, i) => i).filter(i => isNumber(series.x[i]) && isNumber(series.y[i]));
  if (series.dots ? points.length <= 80 : points.length === 1)
    for (const i of points)
      make(group, 'circle', {class: 'dot', cx: chart.x(series.x[i]), cy: chart.y(series.y[i]), r: 2.5});
  const best = chart.spec.best ? bestAt(series) : -1;
  if (best >= 0 && isNumber(series.y[best])) {
    const x = chart.x(series.x[best]), y = chart.y(series.y[best]);
    make(group, 'circle', {class: 'at', cx: x, cy: y, r: 4.5});
    const anchor = x > chart.right - 40 ? 'end' : x < chart.left + 40 ? 'start' : 'middle';
    const position = labelPosition(chart, series, x, y);
    if (position !== null) make(group, 'text', {x, y: position, 'text-anchor': anchor}, 'best ' + show(series.y[best]));
  }
}

function drawAxes(chart, scale, unit) {
  const {svg, left, right, top, bottom, shown} = chart;
  for (const tick of scale.ticks) {
    const y = chart.y(tick);
    make(svg, 'line', {class: 'grid', x1: left, x2: right, y1: y, y2: y});
    make(svg, 'text', {x: left - 8, y: y + 4, 'text-anchor': 'end'}, shown(tick));
  }
  make(svg, 'line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom});
  const room = Math.max(2, Math.floor((right - left - 60) / 75)), end = right - 7 * unit.name.length - 8;
  for (const tick of ticks(chart.low / unit.unit, chart.high / unit.unit, room)) {
    const x = chart.x(tick * unit.unit);
    make(svg, 'line', {class: 'axis', x1: x, x2: x, y1: bottom, y2: bottom + 4});
    if (x + 3.5 * show(tick).length < end) make(svg, 'text', {x, y: bottom + 18, 'text-anchor': 'middle'}, show(tick));
  }
  make(svg, 'text', {x: right, y: bottom + 18, 'text-anchor': 'end'}, unit.name);
  for (const update of data.curves ? data.curves.resumes : []) {
    const at = state.over === 'update' ? update : along(data.curves, update, state.over);
    if (!isNumber(at)) continue;
    const line = make(svg, 'line', {class: 'resume', x1: chart.x(at), x2: chart.x(at), y1: top, y2: bottom});
    make(line, 'title', {}, 'resumed after update ' + show(update));
  }
}

function draw(chart) {
  const {svg, spec} = chart;
  const {width, height} = svg.getBoundingClientRect();
  if (!width || !height) return;
  svg.textContent = '';
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  chart.series = spec.series.map(s => ({...s, x: horizontal(s), y: s.of[s.key]})).filter(s => s.y.some(isNumber));
  [chart.low, chart.high] = extent(allSeries().map(s => horizontal(s)));
  chart.low = Math.min(0, chart.low);
  if (chart.high <= chart.low) chart.high = chart.low + 1;
  const scale = verticalScale(spec, chart.series), unit = axis(chart.high);
  const widest = Math.max(...scale.ticks.map(tick => chart.shown(tick).length));
  Object.assign(chart, {left: 16 + 7 * widest, right: width - 8, top: 12, bottom: height - 26, unit});
  chart.x = value => chart.left + (value - chart.low) / (chart.high - chart.low) * (chart.right - chart.left);
  chart.y = value => chart.bottom - scale.at(value) * (chart.bottom - chart.top);
  drawAxes(chart, scale, unit);
  for (const series of chart.series) drawCurve(chart, series);
  chart.overlay = make(svg, 'g', {});
  point(chart);
}

function allSeries() { return Object.values(specs).flatMap(spec => spec.series); }

function nearest(series, x) {
  let best = -1, distance = Infinity;
  series.x.forEach((value, i) => {
    if (isNumber(value) && isNumber(series.y[i]) && Math.abs(value - x) < distance) {
      distance = Math.abs(value - x);
      best = i;
    }
  });
  return best;
}

// Marks the cursor's position and shows the values there in the legend; without a cursor, the last values.
function point(chart) {
  if (!chart.overlay) return;
  chart.overlay.textContent = '';
  chart.legend.textContent = '';
  const cursor = state.cursor, said = [];
  if (cursor !== null)
    make(chart.overlay, 'line', {class: 'cursor', x1: chart.x(cursor), x2: chart.x(cursor), y1: chart.top, y2: chart.bottom});
  for (const series of chart.series) {
    const i = cursor === null ? series.y.findLastIndex(isNumber) : nearest(series, cursor);
    const item = make(chart.legend, 'li', {style: `color:var(--${series.color})`});
    make(item, 'i');
    make(item, 'span', {}, series.name);
    const far = cursor !== null && Math.abs(series.x[i] - cursor) > 0.005 * (chart.high - chart.low);
    const elsewhere = far ? ` (at ${show(series.x[i] / chart.unit.unit)})` : '';
    make(item, 'b', {}, chart.shown(series.y[i]) + elsewhere);
    said.push(`${series.name} ${chart.shown(series.y[i])}${elsewhere}`);
    if (cursor !== null)
      make(chart.overlay, 'circle', {class: 'at', style: `color:var(--${series.color})`, r: 4,
                                     cx: chart.x(series.x[i]), cy: chart.y(series.y[i])});
  }
  const {one, name, unit} = chart.unit;
  const where = cursor === null ? 'at the end' : one ? `at ${one} ${show(cursor)}` : `after ${show(cursor / unit)} ${name}`;
  make(make(chart.legend, 'li'), 'span', {}, where);
  chart.svg.setAttribute('aria-label', `${chart.title}: ${where}, ${said.join(', ')}`);
}

function moveCursor(x) {
  state.cursor = x;
  charts.forEach(point);
}

function steps(chart) {
  return [...new Set(chart.series.flatMap(s => s.x.filter((x, i) => isNumber(x) && isNumber(s.y[i]))))].sort((a, b) => a - b);
}

function listen(chart) {
  const {svg} = chart;
  const follow = event => {
    const x = (event.clientX - svg.getBoundingClientRect().left - chart.left) / (chart.right - chart.left);
    const wanted = chart.low + clamp(x, 0, 1) * (chart.high - chart.low);
    const stops = steps(chart);
    moveCursor(stops.reduce((a, b) => Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a, stops[0]));
  };
  svg.addEventListener('pointermove', follow);
  svg.addEventListener('pointerdown', follow);
  svg.addEventListener('pointerleave', () => { if (document.activeElement !== svg) moveCursor(null); });
  svg.addEventListener('blur', () => moveCursor(null));
  svg.addEventListener('keydown', event => {
    const stops = steps(chart), by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
    const here = state.cursor === null ? -1 : stops.findIndex(x => x >= state.cursor);
    let to = by ? clamp((here < 0 ? (by > 0 ? -1 : stops.length) : here) + by, 0, stops.length - 1) : null;
    if (event.key === 'Home') to = 0;
    if (event.key === 'End') to = stops.length - 1;
    if (event.key === 'Escape') moveCursor(null);
    if (to === null) return;
    event.preventDefault();
    moveCursor(stops[to]);
  });
}

for (const figure of document.querySelectorAll('.chart')) {
  const spec = specs[figure.dataset.chart];
  if (!spec.series.some(s => s.of[s.key].some(isNumber))) {
    figure.remove();
    continue;
  }
  const svg = figure.querySelector('svg');
  const chart = {svg, spec, shown: spec.show || show, legend: figure.querySelector('.legend'), title: figure.querySelector('h3').textContent};
  svg.setAttribute('tabindex', '0');
  svg.setAttribute('role', 'img');
  charts.push(chart);
  draw(chart);
  listen(chart);
}
let pending = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => charts.forEach(draw));
}).observe(document.querySelector('.charts'));
const epochs = document.querySelector('input[value=epoch]');
if (!allCurves.some(({train}) => train.epoch.some(isNumber))) epochs.parentElement.remove();
for (const input of document.querySelectorAll('input[name=over]'))
  input.addEventListener('change', () => { state.over = input.value; state.cursor = null; charts.forEach(draw); });
document.getElementById('logarithmic').addEventListener('change', event => {
  state.logarithmic = event.target.checked;
  charts.forEach(draw);
});
})();
