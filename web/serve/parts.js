// Parts that several tabs are made of.
import {pieceParts, percent, doubtOf} from './words.js';

export const byId = id => document.getElementById(id);

export function announce(text) { byId('announce').textContent = text; }

export function fail(error) {
  const box = byId('failure');
  box.hidden = !error || error.name === 'AbortError';
  box.textContent = box.hidden ? '' : error.message;
}

export function debounce(call, milliseconds) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
  later.now = () => {
    clearTimeout(timer);
    call();
  };
  return later;
}

// A text area as high as its text.
export function growing(area) {
  const grow = () => {
    area.style.height = 'auto';
    area.style.height = area.scrollHeight + 2 + 'px';
  };
  area.addEventListener('input', grow);
  return grow;
}

// One of the group's elements can be reached by Tab, the others by the arrow keys.
export function roving(group, selector) {
  const all = () => [...group.querySelectorAll(selector)];
  const reset = () => all().forEach((element, i) => { element.tabIndex = i ? -1 : 0; });
  if (!group.dataset.roving) {
    group.dataset.roving = 'yes';
    group.addEventListener('keydown', event => {
      const by = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key], elements = all();
      const here = elements.indexOf(document.activeElement);
      if (here < 0) return;
      const to = by ? here + by : event.key === 'Home' ? 0 : event.key === 'End' ? elements.length - 1 : -1;
      if (!elements[to]) return;
      event.preventDefault();
      elements[here].tabIndex = -1;
      elements[to].tabIndex = 0;
      elements[to].focus();
    });
  }
  reset();
}

let open = null;

// A menu at an element. An item: {text, space, share (0..1, or none), detail, note, choose()}; `isHere` marks the present one.
export class Menu {
  constructor(anchor, title, items) {
    if (open) open.close();
    open = this;
    this.anchor = anchor;
    this.box = make(document.body, 'div', {class: 'menu', role: 'menu', 'aria-label': title});
    make(this.box, 'p', {class: 'menu-title', 'aria-hidden': 'true'}, title);
    this.fill(items);
    this.outside = event => { if (!this.box.contains(event.target) && event.target !== anchor) this.close(); };
    this.scrolled = () => this.place();
    document.addEventListener('pointerdown', this.outside);
    addEventListener('scroll', this.scrolled, true);
    this.box.addEventListener('keydown', event => this.press(event));
    anchor.setAttribute('aria-expanded', 'true');
    this.place();
  }
  fill(items) {
    for (const old of [...this.box.querySelectorAll('.menu-item, .menu-wait')]) old.remove();
    if (!items) make(this.box, 'p', {class: 'menu-wait'}, 'Asking the model …');
    for (const item of items || []) {
      const button = make(this.box, 'button', {type: 'button', class: 'menu-item', role: 'menuitem', tabindex: '-1'});
      if (item.isHere) button.classList.add('here');
      const words = make(button, 'span', {class: 'menu-words'});
      if (item.space) make(words, 'i', {class: 'space'}, item.space);
      make(words, 'b', {}, item.text);
      if (item.note) make(words, 'span', {}, item.note);
      if (item.isHere) make(words, 'span', {class: 'unseen'}, ' (the present one)');
      if (isNumber(item.share)) make(button, 'i', {class: 'menu-bar', style: `--share:${clamp(item.share, 0, 1)}`, 'aria-hidden': 'true'});
      make(button, 'span', {class: 'menu-detail'}, item.detail || '');
      button.addEventListener('click', () => {
        this.close();
        item.choose();
      });
    }
    this.place();
    const first = this.box.querySelector('.menu-item');
    if (first) first.focus();
  }
  place() {
    const at = this.anchor.getBoundingClientRect(), room = document.documentElement.clientWidth;
    const width = Math.min(360, room - 16);
    this.box.style.width = width + 'px';
    this.box.style.left = clamp(at.left, 8, room - width - 8) + 'px';
    const below = innerHeight - at.bottom - 12, above = at.top - 12;
    const down = below >= Math.min(this.box.scrollHeight, 240) || below >= above;
    this.box.style.maxHeight = Math.max(120, down ? below : above) + 'px';
    this.box.style.top = down ? at.bottom + 4 + 'px' : 'auto';
    this.box.style.bottom = down ? 'auto' : innerHeight - at.top + 4 + 'px';
  }
  press(event) {
    const items = [...this.box.querySelectorAll('.menu-item')], here = items.indexOf(document.activeElement);
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const to = by ? (here + by + items.length) % items.length : event.key === 'Home' ? 0 : event.key === 'End' ? items.length - 1 : -1;
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      this.close();
      this.anchor.focus();
    } else if (items[to]) {
      event.preventDefault();
      items[to].focus();
    }
  }
  get isOpen() { return open === this; }
  close() {
    if (open === this) open = null;
    this.box.remove();
    this.anchor.setAttribute('aria-expanded', 'false');
    document.removeEventListener('pointerdown', this.outside);
    removeEventListener('scroll', this.scrolled, true);
  }
}

// A token with its probability as colour and, where wanted, as a number.
export function addToken(parent, token, tag, attributes) {
  const parts = pieceParts(token.piece);
  const element = make(parent, tag, {...attributes, class: 'token'});
  if (isNumber(token.log_probability)) {
    element.style.setProperty('--doubt', doubtOf(token.log_probability).toFixed(3));
    element.title = percent(token.log_probability);
  }
  if (parts.space) make(element, 'i', {class: 'space'}, parts.space);
  element.append(parts.text);
  if (isNumber(token.log_probability)) make(element, 'small', {}, percent(token.log_probability));
  return element;
}

// A table in a card that scrolls: rows of texts or numbers.
export function addTable(parent, {caption, columns, rows}) {
  const table = make(make(parent, 'div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption}), 'table');
  make(table, 'caption', {class: 'unseen'}, caption);
  const head = make(make(table, 'thead'), 'tr'), body = make(table, 'tbody');
  for (const column of columns) make(head, 'th', {scope: 'col'}, column);
  for (const row of rows) {
    const line = make(body, 'tr');
    row.forEach((cell, i) => make(line, i ? 'td' : 'th', i ? {} : {scope: 'row'}, isNumber(cell) ? show(cell) : cell));
  }
  return table;
}

// A section of a card that opens.
export function addFold(parent, title) {
  const fold = make(parent, 'details', {class: 'fold inner'});
  make(fold, 'summary', {}, title);
  return fold;
}

export function empty(parent, text, command) {
  parent.textContent = '';
  const box = make(parent, 'div', {class: 'nothing'});
  make(box, 'p', {}, text);
  if (command) make(box, 'code', {}, command);
}
