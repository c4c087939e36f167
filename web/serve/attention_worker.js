// Fetches attention maps, makes pictures of them and finds what stands out, beside the thread that draws the page.
'use strict';
importScripts('../shared/drawing.js');

const largestPicture = 512;  // of the smaller copies, in cells

function floats(base64) {
  return base64 ? new Float32Array(bytes(base64).buffer) : null;
}

function meanOf(lists) {
  const sum = new Float32Array(lists[0].length);
  for (const list of lists) for (let i = 0; i < sum.length; ++i) sum[i] += list[i];
  for (let i = 0; i < sum.length; ++i) sum[i] /= lists.length;
  return sum;
}

// A map of half the size: the largest of each four cells, so that narrow lines stay.
function halved({rows, columns, values}) {
  const down = Math.ceil(rows / 2), across = Math.ceil(columns / 2), half = new Float32Array(down * across);
  for (let r = 0; r < rows; ++r) {
    const to = (r >> 1) * across, from = r * columns;
    for (let c = 0; c < columns; ++c) {
      const i = to + (c >> 1), value = values[from + c];
      if (value > half[i]) half[i] = value;
    }
  }
  return {rows: down, columns: across, values: half};
}

function picture(map, limit, table) {
  const pixels = new Uint32Array(map.values.length), colors = Uint32Array.from(table, ([r, g, b]) =>
    (255 << 24 | Math.round(b) << 16 | Math.round(g) << 8 | Math.round(r)) >>> 0);
  for (let i = 0; i < pixels.length; ++i) pixels[i] = colors[Math.round(255 * clamp(map.values[i] / limit, 0, 1))];
  return createImageBitmap(new ImageData(new Uint8ClampedArray(pixels.buffer), map.columns, map.rows));
}

async function pictures(map, limit, scheme) {
  const table = rampColors('weight', scheme), all = [await picture(map, limit, table)];
  for (let small = map; Math.max(small.rows, small.columns) > largestPicture;) {
    small = halved(small);
    all.push(await picture(small, limit, table));
  }
  return all;
}

// Columns that get more than three times their share, and at least a fifth, of all weight.
function sinksOf({rows, columns, values}) {
  const sums = new Float64Array(columns);
  let all = 0;
  for (let r = 0, i = 0; r < rows; ++r) for (let c = 0; c < columns; ++c, ++i) {
    sums[c] += values[i];
    all += values[i];
  }
  const found = [];
  if (rows > 2) sums.forEach((sum, column) => {
    if (sum > 0.2 * all && sum > 3 * all / columns) found.push({column, share: sum / all});
  });
  return found.sort((a, b) => b.share - a.share).slice(0, 2);
}

async function finish(values, rows, columns, scheme, limit) {
  const map = {rows, columns, values};
  return {values, rows, columns, limit, pictures: await pictures(map, limit, scheme), sinks: sinksOf(map)};
}

function largest(values) {
  let high = 1e-9;
  for (const value of values) if (value > high) high = value;
  return high;
}

const tasks = {
  // Small maps of all heads and, for each layer, their mean.
  async overview(answer, {scheme}) {
    const maps = [], byLayer = new Map();
    for (const map of answer.maps) {
      const values = floats(map.weights), rows = map.rows || answer.rows.length, columns = map.columns || answer.columns.length;
      byLayer.set(map.layer, [...byLayer.get(map.layer) || [], values]);
      maps.push({layer: map.layer, head: map.head, picture: await picture({rows, columns, values}, 1, rampColors('weight', scheme))});
    }
    for (const [layer, lists] of byLayer) {
      const {rows, columns} = answer.maps[0];
      const mean = {rows: rows || answer.rows.length, columns: columns || answer.columns.length, values: meanOf(lists)};
      maps.push({layer, head: answer.heads, picture: await picture(mean, 1, rampColors('weight', scheme))});
    }
    return {rows: answer.rows, columns: answer.columns, layers: answer.layers, heads: answer.heads, maps};
  },
  // One map, or the mean of several: raw weights and norms of weighted values.
  async open(answer, {scheme}) {
    const rows = answer.rows.length, columns = answer.columns.length;
    const weights = answer.maps.map(map => floats(map.weights)), norms = answer.maps.map(map => floats(map.norms)).filter(x => x);
    const one = lists => lists.length === 1 ? lists[0] : meanOf(lists);
    const norm = norms.length ? one(norms) : null;
    return {rows: answer.rows, columns: answer.columns,
            weights: await finish(one(weights), rows, columns, scheme, 1),
            norms: norm && await finish(norm, rows, columns, scheme, largest(norm))};
  },
};

const running = new Map();

self.onmessage = async ({data}) => {
  if (data.cancel) {
    if (running.has(data.cancel)) running.get(data.cancel).abort();
    return;
  }
  const controller = new AbortController();
  running.set(data.id, controller);
  try {
    const answer = await fetch(data.url, {method: 'POST', headers: data.headers, body: JSON.stringify(data.body), signal: controller.signal});
    if (answer.status === 404) throw new Error('This server does not say what the model attends to.');
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error && body.error.message || `the server answered ${answer.status}`);
    const result = await tasks[data.task](body, data);
    const moved = [];
    for (const map of result.maps || []) moved.push(map.picture);
    for (const map of [result.weights, result.norms]) if (map) moved.push(map.values.buffer, ...map.pictures);
    self.postMessage({id: data.id, result}, moved);
  } catch (error) {
    self.postMessage({id: data.id, error: error.message});
  } finally {
    running.delete(data.id);
  }
};
