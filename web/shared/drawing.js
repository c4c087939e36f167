// What draws on all pages of heed, and on the threads beside them: numbers as text, axes, and colours of heat maps.
'use strict';
const isNumber = value => typeof value === 'number' && isFinite(value);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Elements of a drawing take their namespace from the page's own drawing, so that none has to be named here.
function make(parent, tag, attributes, text) {
  const drawing = document.querySelector('svg');
  const inside = drawing && parent.namespaceURI === drawing.namespaceURI;
  const element = inside ? document.createElementNS(drawing.namespaceURI, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    // A style set so is not inline, which a page's policy may forbid.
    if (name === 'style') element.style.cssText = value;
    else element.setAttribute(name, value);
  }
  if (text !== undefined) element.textContent = text;
  return parent.appendChild(element);
}

function show(value) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return Number(value.toPrecision(3)).toExponential().replace('e+', 'e');
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(4)));
}

function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count), power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map(x => x * power).find(x => x >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) found.push(i * step);
  return found;
}

function logTicks(low, high) {
  for (const digits of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]]) {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e)
      for (const digit of digits) {
        const tick = digit * Math.pow(10, e);
        if (tick >= low * 0.999 && tick <= high * 1.001) found.push(tick);
      }
    if (found.length >= 3) return found;
  }
  return ticks(low, high, 4);
}

function extent(lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const value of list) if (isNumber(value)) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

// Colours from the lowest value to the highest.
const ramps = {
  weight: {
    light: [[255, 255, 255], [214, 229, 244], [120, 172, 219], [36, 104, 178], [9, 38, 94]],
    dark: [[24, 28, 34], [32, 58, 97], [52, 110, 180], [130, 185, 240], [245, 250, 255]],
  },
  signed: {
    light: [[158, 58, 12], [233, 155, 108], [252, 252, 250], [116, 168, 222], [16, 72, 148]],
    dark: [[255, 176, 128], [160, 82, 40], [24, 28, 34], [44, 94, 158], [140, 192, 255]],
  },
};

// A ramp's 256 colours in one scheme, "light" or "dark".
function rampColors(name, scheme) {
  const stops = ramps[name][scheme], table = [];
  for (let i = 0; i < 256; ++i) {
    // Most attention weights are small, so colour follows the square root.
    const position = (name === 'weight' ? Math.sqrt(i / 255) : i / 255) * (stops.length - 1);
    const below = Math.min(stops.length - 2, Math.floor(position)), share = position - below;
    table.push(stops[below].map((x, c) => x + (stops[below + 1][c] - x) * share));
  }
  return table;
}

function bytes(base64) {
  const text = atob(base64), values = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) values[i] = text.charCodeAt(i);
  return values;
}
