// What the page's scripts share. They run in one element, this one first.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const isNumber = value => typeof value === 'number' && isFinite(value);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Elements of a drawing take their namespace from the page's own drawing, so that none has to be named here.
function make(parent, tag, attributes, text) {
  const drawing = document.querySelector('svg');
  const inside = drawing && parent.namespaceURI === drawing.namespaceURI;
  const element = inside ? document.createElementNS(drawing.namespaceURI, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
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
