// Continues texts and chats token by token, with branches wherever another token could have been.
import {Newest, postWith, streamWith} from './service.js';
import {announce, byId, debounce, fail, growing, Menu, roving} from './parts.js';
import {doubtOf, percent, pieceParts} from './words.js';
import {distribution, settings} from './sampling.js';
import {attentionFold} from './attention.js';

const prompt = byId('prompt'), message = byId('message'), written = byId('written');
const writing = new Newest(), asking = new Newest();
const shownTokens = 14, askedTokens = 1000;
let model = null, isChat = false, updateAttention = () => {};
let turns = [];       // of the chat, before the text that is being written: {role, content}
let branches = [];    // {tokens: [{text, id, log_probability, top, isChosen}], facts}
let current = -1;     // the branch that is shown
let tellsNext = true;  // whether the server knows /heed/next
let next = null;      // what the server said of the next token: {tokens, counts, at}

const growPrompt = growing(prompt), growMessage = growing(message);
const options = Object.fromEntries(settings.map(({key, usual}) => [key, usual]));
const askLater = debounce(() => readNext(), 250);

const tokens = () => current < 0 ? [] : branches[current].tokens;
const textOf = list => list.map(token => token.text).join('');
const asked = prefix => isChat ? {messages: turns, ...(prefix ? {prefix} : {})} : {prompt: prompt.value + prefix};
const hasPrompt = () => isChat ? turns.length > 0 : prompt.value !== '';

// The text of a token that the server showed as a piece.
function tokenText(token) {
  if (token.text !== undefined) return token.text;
  const {space, text} = pieceParts(token.piece);
  return ' '.repeat(space.length) + text;
}

async function write(first) {
  fail(null);
  const branch = {tokens: first, facts: ''};
  branches.push(branch);
  current = branches.length - 1;
  draw();
  byId('go').hidden = true;
  byId('stop').hidden = false;
  byId('stop').focus();
  announce('Writing');
  const began = performance.now(), count = first.length;
  let firstToken = 0;
  const body = {model: model.name, ...asked(textOf(first)), ...options, max_tokens: Number(byId('max-tokens').value), seed: Number(byId('seed').value),
                tokens: true};
  try {
    await writing.run(signal => streamWith({top_tokens: 8}, 'heed/generate', body, signal, event => {
      if (event.texts) {
        takeWhole(branch.tokens.slice(count), event.texts[0].each || []);
        branch.facts = factsOf({...event, ...event.texts[0]}, began, firstToken);
        return;
      }
      firstToken = firstToken || performance.now();
      take(branch, count, event);
    }));
    announce('Written');
  } catch (error) {
    fail(error);
  }
  byId('stop').hidden = true;
  byId('go').hidden = false;
  if (document.activeElement === document.body) byId('go').focus();
  draw();
}

// A token comes before its text, which may be a part of a character at first; a server that does not send tokens sends texts.
function take(branch, count, event) {
  const last = branch.tokens[branch.tokens.length - 1];
  let token = last;
  if (event.token || branch.tokens.length === count || last.text) branch.tokens.push(token = {...event.token, text: event.text || ''});
  else token.text = event.text || '';
  if (branches[current] === branch) addWritten(token, branch.tokens.length - 1);
}

// What the end of a stream says of the tokens; their texts came before.
function takeWhole(own, each) {
  if (own.length <= each.length) own.forEach((token, i) => Object.assign(token, each[i]));
}

// What it took, and what cache and drafts did.
function factsOf(done, began, firstToken) {
  const seconds = (performance.now() - began) / 1000, facts = [];
  facts.push(`${done.tokens} tokens, ${show(Number((done.tokens / seconds).toPrecision(2)))} a second`);
  if (firstToken) facts.push(`the first after ${Math.round(firstToken - began)} ms`);
  if (isNumber(done.prompt_tokens))
    facts.push(`prompt of ${done.prompt_tokens} tokens` + (isNumber(done.cached_tokens) ? `, ${done.cached_tokens} of them from the cache` : ''));
  if (done.drafted) facts.push(`${done.accepted} of ${done.drafted} drafted tokens were right`);
  if (done.finish) facts.push({end: 'the model ended it', stop: 'a stop text appeared', length: 'the limit of tokens was reached'}[done.finish] || done.finish);
  return facts.join(' · ');
}

function addWritten(token, i) {
  if (!token.text) return;  // a part of a character
  const element = make(written, 'button', {type: 'button', class: 'token', tabindex: '-1', 'aria-haspopup': 'menu', 'aria-expanded': 'false'}, token.text);
  if (token.isChosen) element.classList.add('chosen');
  if (isNumber(token.log_probability)) {
    element.style.setProperty('--doubt', doubtOf(token.log_probability).toFixed(3));
    element.title = percent(token.log_probability);
    make(element, 'small', {}, percent(token.log_probability));
  }
  element.addEventListener('click', () => choose(i, element));
}

function draw() {
  byId('written-pane').hidden = current < 0;
  byId('turns').textContent = '';
  for (const turn of turns) {
    const line = make(byId('turns'), 'div', {class: 'turn ' + turn.role});
    make(line, 'b', {}, turn.role === 'user' ? 'You' : model.name);
    make(line, 'p', {}, turn.content);
  }
  written.textContent = '';
  tokens().forEach(addWritten);
  roving(written, '.token');
  drawBranches();
  byId('write-facts').textContent = current < 0 ? '' : branches[current].facts;
  askLater();
  updateAttention();
}

function drawBranches() {
  const box = byId('branches');
  box.textContent = '';
  if (branches.length > 1) branches.forEach((branch, i) => {
    const button = make(box, 'button', {type: 'button', 'aria-pressed': String(i === current), 'aria-label': `Branch ${i + 1}: ${textOf(branch.tokens).slice(0, 60)}`}, String(i + 1));
    button.addEventListener('click', () => {
      current = i;
      draw();
      byId('branches').children[i].focus();
    });
  });
}

// Other tokens at a place: the next token's panel goes there, and choosing one begins a branch.
async function choose(i, element) {
  const list = tokens(), token = list[i];
  const asked = readNext(i);
  const menu = new Menu(element, 'The model also considered', null);
  const known = token.top || (await asked, next && next.at === i ? next.tokens.slice(0, 8) : []);
  const items = known.map(other => {
    const {space, text} = pieceParts(other.piece);
    return {text: text.replace(/\n/g, '⏎') || '␣', space, share: Math.exp(other.log_probability), detail: percent(other.log_probability), isHere: other.id === token.id,
            choose: () => branchAt(i, other)};
  });
  if (items.length) menu.fill(items);
  else menu.close();
}

function branchAt(i, other) {
  writing.cancel();
  write([...tokens().slice(0, i), {...other, top: tokens()[i] && tokens()[i].top, text: tokenText(other), isChosen: true}]);
}

// What the model says of the token at a place of the written text; without one, of that after it.
async function readNext(i = tokens().length) {
  if (!hasPrompt() || !tellsNext) {
    next = null;
    drawNext();
    return;
  }
  const before = tokens().slice(0, i);
  try {
    const answer = await asking.run(signal => postWith({}, 'heed/next', {model: model.name, ...asked(textOf(before)), top: askedTokens}, signal));
    if (!answer) return;
    const counts = new Map((answer.prompt_ids || []).map(id => [id, 0]));
    for (const token of before) counts.set(token.id, (counts.get(token.id) || 0) + 1);
    next = {tokens: answer.tokens, counts, at: i, after: textOf(before) || (isChat ? '' : prompt.value)};
    drawNext();
  } catch (error) {
    next = null;
    if (error.status === 404) tellsNext = false;
    else fail(error);
    drawNext();
  }
}

function drawNext() {
  const box = byId('distribution');
  byId('next-where').textContent = next ? `after “${('…' + next.after.slice(-28)).replace(/\s+/g, ' ')}”` : tellsNext ? 'Write something, and what could follow appears here.' : 'This server does not say what could follow.';
  if (!next) {
    box.textContent = '';
    return;
  }
  const all = distribution(next.tokens, options, next.counts);
  const rows = all.slice(0, shownTokens).map((one, i) => ({...one, token: next.tokens[i]}));
  const most = Math.max(...rows.map(row => Math.max(row.share, Math.exp(row.token.log_probability))));
  while (box.children.length > rows.length) box.lastChild.remove();
  rows.forEach((row, i) => {
    const line = box.children[i] || newRow(box), {space, text} = pieceParts(row.token.piece);
    line.classList.toggle('cut', row.cut !== '');
    line.querySelector('.space').textContent = space;
    line.querySelector('b').textContent = text.replace(/\n/g, '⏎');
    line.querySelector('.bar').style.setProperty('--share', (row.share / most).toFixed(4));
    line.querySelector('.was').style.setProperty('--share', (Math.exp(row.token.log_probability) / most).toFixed(4));
    line.querySelector('.value').textContent = row.cut ? (row.cut === 'temperature' ? 'never' : row.cut) : percent(Math.log(row.share));
    line.onclick = () => branchAt(next.at, row.token);
  });
  const kept = all.filter(one => !one.cut).length;
  byId('next-where').append(kept < all.length ? `: ${kept} ${kept === 1 ? 'token' : 'tokens'} may be drawn` : '');
}

function newRow(box) {
  const line = make(box, 'button', {type: 'button', class: 'next'}), name = make(line, 'span', {class: 'name'});
  make(name, 'i', {class: 'space'});
  make(name, 'b');
  const bars = make(line, 'span', {class: 'bars-of', 'aria-hidden': 'true'});
  make(bars, 'i', {class: 'bar'});
  make(bars, 'i', {class: 'was'});
  make(line, 'span', {class: 'value'});
  return line;
}

function buildSampling() {
  const box = byId('sampling');
  for (const {key, name, low, high, step, usual, words} of settings) {
    const label = make(box, 'label'), said = words || show;
    make(label, 'span', {}, name);
    const input = make(label, 'input', {type: 'range', id: 'set-' + key, min: low, max: high, step}), value = make(label, 'output', {});
    input.value = usual;
    const tell = () => {
      options[key] = Number(input.value);
      value.textContent = said(options[key]);
      input.setAttribute('aria-valuetext', said(options[key]));
    };
    tell();
    input.addEventListener('input', () => {
      tell();
      drawNext();
    });
  }
}

function begin() {
  if (!isChat) {
    branches = [];
    if (prompt.value) write([]);
    return;
  }
  if (!message.value.trim()) return;
  if (current >= 0) turns.push({role: 'assistant', content: textOf(tokens())});
  turns.push({role: 'user', content: message.value});
  message.value = '';
  growMessage();
  branches = [];
  write([]);
}

function forget() {
  writing.cancel();
  branches = [];
  current = -1;
  turns = [];
  draw();
}

function setMode(chat) {
  isChat = chat;
  forget();
  byId('completion').hidden = chat;
  byId('chat').hidden = !chat;
  byId('go').textContent = chat ? 'Send' : 'Write';
  if (chat) byId('turns').after(byId('written-pane'));
  else document.querySelector('#write .actions').after(byId('written-pane'));
}

prompt.addEventListener('input', () => {
  if (current >= 0) forget();
  askLater();
});
for (const area of [prompt, message]) area.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey || (area === message && !event.shiftKey))) {
    event.preventDefault();
    begin();
  }
});
byId('go').addEventListener('click', begin);
byId('stop').addEventListener('click', () => writing.cancel());
byId('numbers').addEventListener('change', event => written.classList.toggle('numbered', event.target.checked));
byId('prompt-clear').addEventListener('click', () => {
  prompt.value = '';
  growPrompt();
  forget();
  prompt.focus();
});
byId('chat-clear').addEventListener('click', forget);
for (const input of document.querySelectorAll('input[name=mode]')) input.addEventListener('change', () => setMode(input.value === 'chat'));
buildSampling();

export const tab = {
  kinds: ['language-model'],
  open(chosen) {
    if (model === chosen) return;
    model = chosen;
    byId('write-mode').hidden = !model.chat;
    document.querySelector('input[name=mode][value=completion]').checked = true;
    setMode(false);
    updateAttention = attentionFold(byId('write-attention-fold'), model, () => {
      const text = isChat ? textOf(tokens()) : prompt.value + textOf(tokens());
      return text ? {request: {model: model.name, text}, cells: (text.length / 2) ** 2} : null;
    });
    drawNext();
  },
  close() {},
};
