// The tabs, and which model each of them uses.
import {getJson} from './service.js';
import {byId, empty, fail} from './parts.js';
import {tab as translate} from './translate.js';
import {tab as write} from './write.js';
import {tab as understand} from './understand.js';
import {tab as model} from './model.js';
import {tab as load} from './load.js';

const tabs = {translate, write, understand, model, load};
const wanted = {
  translate: ['There is no translator on this server.', 'heed serve --model de-en=DIRECTORY'],
  write: ['There is no language model on this server.', 'heed serve --model writer=DIRECTORY'],
  understand: ['There is no encoder on this server.', 'heed serve --model reader=DIRECTORY'],
  model: ['There is no model on this server.', 'heed serve --model NAME=DIRECTORY'],
};
const chooser = byId('models');
const chosen = {};  // by tab, the name of its model
let models = [], open = null;

const fits = name => models.filter(one => tabs[name].kinds && tabs[name].kinds.includes(one.kind));

function openTab(name) {
  if (open && open !== name) tabs[open].close();
  open = name;
  fail(null);
  for (const button of document.querySelectorAll('[role=tab]')) {
    const here = button.getAttribute('aria-controls') === name;
    button.setAttribute('aria-selected', String(here));
    button.tabIndex = here ? 0 : -1;
    byId(button.getAttribute('aria-controls')).hidden = !here;
  }
  document.title = `heed: ${byId('tab-' + name).textContent.trim().toLowerCase()}`;
  const some = fits(name), panel = byId(name);
  chooser.textContent = '';
  for (const one of some) make(chooser, 'option', {value: one.name}, one.name);
  chooser.parentElement.hidden = !some.length;
  const missing = wanted[name] && !some.length;
  panel.classList.toggle('missing', Boolean(missing));
  const said = panel.querySelector('.none') || make(panel, 'div', {class: 'none'});
  said.textContent = '';
  if (missing) {
    empty(said, ...wanted[name]);
    return;
  }
  if (some.length) chooser.value = some.some(one => one.name === chosen[name]) ? chosen[name] : some[0].name;
  tabs[name].open(some.find(one => one.name === chooser.value));
}

function go(name) {
  if (location.hash.slice(1) !== name) history.replaceState(null, '', '#' + name);
  openTab(name);
}

async function start() {
  const buttons = [...document.querySelectorAll('[role=tab]')];
  buttons.forEach((button, i) => {
    button.addEventListener('click', () => go(button.getAttribute('aria-controls')));
    button.addEventListener('keydown', event => {
      const to = {ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: buttons.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = buttons[(to + buttons.length) % buttons.length];
      next.focus();
      go(next.getAttribute('aria-controls'));
    });
  });
  chooser.addEventListener('change', () => {
    chosen[open] = chooser.value;
    openTab(open);
  });
  addEventListener('hashchange', () => { if (tabs[location.hash.slice(1)]) openTab(location.hash.slice(1)); });
  let failure = null;
  try {
    models = (await getJson('heed/models')).models;
  } catch (error) {
    failure = error;
  }
  const first = location.hash.slice(1);
  openTab(tabs[first] ? first : Object.keys(tabs).find(name => fits(name).length) || 'load');
  if (failure) fail(failure);
}

start();
