// What the server is doing: its /metrics, read every second while this tab is seen.
import {getText} from './service.js';
import {addFold, addTable, byId, fail} from './parts.js';
import {Chart} from './chart.js';

const every = 1000, kept = 180;  // milliseconds; points
const samples = [];              // {time, values: Map from "name{labels}" to numbers}
let charts = null, timer = 0, isPaused = false;

// Prometheus' text: [{name, labels, value}].
export function parseMetrics(text) {
  return text.split('\n').flatMap(line => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)$/.exec(line);
    if (!match) return [];
    const labels = Object.fromEntries([...(match[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [key, value.replace(/\\n/g, '\n').replace(/\\(.)/g, '$1')]));
    return [{name: match[1], labels, value: match[3] === '+Inf' ? Infinity : Number(match[3])}];
  });
}

function sum(sample, name, labels = {}) {
  const some = sample.list.filter(one => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value));
  return some.length ? some.reduce((total, one) => total + one.value, 0) : null;
}

// The increase a second of a counter between two samples.
function rate(before, after, name, labels) {
  const last = sum(after, name, labels), first = sum(before, name, labels) || 0;
  return last === null ? null : Math.max(0, last - first) / ((after.time - before.time) / 1000);
}

// A quantile of what a histogram counted between two samples, along a line within its bucket. Seconds.
export function quantile(before, after, name, share) {
  const count = sample => {
    const bounds = new Map();
    for (const one of sample.list) if (one.name === name + '_bucket') bounds.set(one.labels.le, (bounds.get(one.labels.le) || 0) + one.value);
    return bounds;
  };
  const old = count(before), bounds = [...count(after)].map(([le, value]) => [le === '+Inf' ? Infinity : Number(le), value - (old.get(le) || 0)]).sort((a, b) => a[0] - b[0]);
  const all = bounds.length ? bounds[bounds.length - 1][1] : 0;
  if (!all) return null;
  let low = 0, below = 0;
  for (const [bound, value] of bounds) {
    if (value >= share * all) return bound === Infinity ? low : low + (bound - low) * (share * all - below) / (value - below || 1);
    low = bound;
    below = value;
  }
  return low;
}

const milliseconds = value => isNumber(value) ? value >= 1 ? `${show(Number(value.toPrecision(3)))} s` : `${show(Number((1000 * value).toPrecision(3)))} ms` : '–';
const window10 = i => Math.max(0, i - 10);
const rates = (name, labels) => samples.map((sample, i) => i ? rate(samples[Math.max(0, i - 3)], sample, name, labels) : null);
const gauges = name => samples.map(sample => sum(sample, name));
const quantiles = (name, share) => samples.map((sample, i) => i ? quantile(samples[window10(i)], sample, name, share) : null);
const latency = (title, name) => ({title, unit: 'of the last 10 seconds', shown: milliseconds,
  series: [{name: 'median', color: 'a', read: () => quantiles(name, 0.5)}, {name: '95th percentile', color: 'b', read: () => quantiles(name, 0.95)}]});

const specs = [
  {title: 'Tokens a second', series: [{name: 'written', color: 'a', read: () => rates('heed_tokens_total', {direction: 'written'})},
                                      {name: 'read', color: 'c', read: () => rates('heed_tokens_total', {direction: 'read'})}]},
  {title: 'Requests', unit: 'at the moment', series: [{name: 'waiting or running', color: 'a', read: () => gauges('heed_requests')},
                                                      {name: 'connections', color: 'c', read: () => gauges('heed_connections')}]},
  {title: 'Answers a second', series: [{name: 'answered', color: 'a', read: () => rates('heed_requests_total')},
                                       {name: 'refused', color: 'b', read: () => rates('heed_refusals_total')}]},
  latency('First token', 'heed_first_token_seconds'),
  latency('Between tokens', 'heed_between_tokens_seconds'),
  latency('Whole requests', 'heed_request_seconds'),
];

const ago = time => {
  const seconds = Math.round((time - samples[samples.length - 1].time) / 1000);
  return seconds === 0 ? 'now' : `−${-seconds} s`;
};

async function read() {
  clearTimeout(timer);
  try {
    samples.push({time: Date.now(), list: parseMetrics(await getText('metrics'))});
    if (samples.length > kept) samples.shift();
    fail(null);
    draw();
  } catch (error) {
    fail(error);
  }
  if (!isPaused && !document.hidden && !byId('load').hidden) timer = setTimeout(read, every);
}

function draw() {
  charts = charts || specs.map(spec => new Chart(byId('load-charts'), {shownX: ago, ...spec}));
  const times = samples.map(sample => sample.time);
  charts.forEach((chart, i) => chart.set(times, specs[i].series.map(series => series.read())));
  const last = samples[samples.length - 1], past = samples[Math.max(0, samples.length - 4)];
  const figures = [['Requests now', show(sum(last, 'heed_requests') || 0)], ['Connections', show(sum(last, 'heed_connections') || 0)],
                   ['Answered', show(sum(last, 'heed_requests_total') || 0)], ['Refused', show(sum(last, 'heed_refusals_total') || 0)],
                   ['Tokens written', show(sum(last, 'heed_tokens_total', {direction: 'written'}) || 0)],
                   ['Tokens a second', last === past ? '–' : show(Number((rate(past, last, 'heed_tokens_total', {direction: 'written'}) || 0).toPrecision(3)))]];
  const box = byId('load-figures');
  figures.forEach(([name, value], i) => {
    const pair = box.children[i] || make(box, 'div');
    if (!pair.children.length) {
      make(pair, 'dt', {}, name);
      make(pair, 'dd');
    }
    pair.lastChild.textContent = value;
  });
  const table = byId('load-table');
  if (!table.children.length) {
    const fold = addFold(table, 'All metrics as a table');
    fold.classList.add('table');
    fold.addEventListener('toggle', () => drawTable(fold));
  }
}

function drawTable(fold) {
  const old = fold.querySelector('.scroll');
  if (old) old.remove();
  if (!fold.open) return;
  const rows = samples[samples.length - 1].list.filter(one => !one.name.endsWith('_bucket'));
  addTable(fold, {caption: 'All metrics, when this was opened', columns: ['Name', 'Labels', 'Value'],
    rows: rows.map(one => [one.name, Object.entries(one.labels).map(([key, value]) => `${key} ${value}`).join(', '), one.value])});
}

byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  clearTimeout(timer);
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  if (!isPaused) read();
});
document.addEventListener('visibilitychange', () => { if (!document.hidden && !isPaused && !byId('load').hidden) read(); });

export const tab = {
  kinds: null,
  open() { if (!isPaused || !samples.length) read(); },
  close() { clearTimeout(timer); },
};
