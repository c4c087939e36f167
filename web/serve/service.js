// What the page asks of the server. Paths are relative, so that a proxy may serve all of it below a path of its own.
const storage = 'heed-key';

export class Refusal extends Error {
  constructor(status, message, field) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

let asking = null;

// Asks for the key once, however many requests wait for it.
function askForKey() {
  asking = asking || new Promise(resolve => {
    const dialog = document.getElementById('key'), value = document.getElementById('key-value');
    value.value = '';
    dialog.addEventListener('close', () => {
      asking = null;
      if (value.value) sessionStorage.setItem(storage, value.value);
      resolve(value.value !== '');
    }, {once: true});
    dialog.showModal();
  });
  return asking;
}

export function authorization() {
  const key = sessionStorage.getItem(storage);
  return key ? {Authorization: 'Bearer ' + key} : {};
}

async function ask(path, options) {
  for (;;) {
    const headers = {...options.headers, ...authorization()};
    const answer = await fetch(path, {...options, headers});
    if (answer.status === 401 && await askForKey()) continue;
    if (answer.ok) return answer;
    const error = await answer.json().then(body => body.error, () => null);
    throw new Refusal(answer.status, error && error.message || `the server answered ${answer.status}`, error && error.field);
  }
}

function posted(body, signal) {
  return {method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}, signal};
}

export async function getJson(path, signal) { return (await ask(path, {signal})).json(); }
export async function getText(path, signal) { return (await ask(path, {signal})).text(); }
export async function post(path, body, signal) { return (await ask(path, posted(body, signal))).json(); }

const unknown = new Map();  // by path, the fields that the server does not know

// As post(), with fields that an older server may not know: it is asked without them then.
export function postWith(optional, path, body, signal) {
  return knowing(optional, path, some => post(path, {...body, ...some}, signal));
}

async function knowing(optional, path, send) {
  for (;;) {
    const missing = unknown.get(path) || new Set();
    const some = Object.fromEntries(Object.entries(optional).filter(([name]) => !missing.has(name)));
    try {
      return await send(some);
    } catch (error) {
      if (error.status !== 400 || !(error.field in some)) throw error;
      unknown.set(path, missing.add(error.field));
    }
  }
}

// Calls `take` with each event of a stream. `optional` is that of postWith().
export async function streamWith(optional, path, body, signal, take) {
  const answer = await knowing(optional, path, some => ask(path, posted({...body, ...some, stream: true}, signal)));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice(5).trim();
      if (data === '[DONE]') return;
      const event = JSON.parse(data);
      if (event.error) throw new Refusal(answer.status, event.error.message, event.error.field);
      take(event);
    }
  }
}

// Runs the newest of several requests: a new one ends the one before it. `run` gets a signal; what it returns is null
// where another request has followed.
export class Newest {
  async run(run) {
    this.cancel();
    const mine = this.controller = new AbortController();
    try {
      const result = await run(mine.signal);
      return mine.signal.aborted ? null : result;
    } catch (error) {
      if (mine.signal.aborted) return null;
      throw error;
    }
  }
  cancel() { if (this.controller) this.controller.abort(); }
}
