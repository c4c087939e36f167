// The site as files in Chromium: nothing complains or asks for anything else, axe-core finds nothing serious, and the
// search leads to what was looked for.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Browser, findings} from '../../serve/page/browser.mjs';

const base = `file://${process.env.HEED_SITE}/`;
const browser = await Browser.start(base);

async function open(address, settings = {}) {
  const context = await browser.chromium.newContext(settings);
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', message => { if (message.type() === 'error') page.complaints.push(message.text()); });
  page.on('pageerror', error => page.complaints.push(String(error)));
  page.on('request', request => { if (!request.url().startsWith(base)) page.complaints.push('asked for ' + request.url()); });
  await page.goto(base + address);
  return page;
}

for (const colorScheme of ['light', 'dark']) {
  for (const width of [400, 1400]) {
    test(`pages can be used by everyone, ${colorScheme}, ${width} pixels`, async () => {
      for (const address of ['index.html', 'recipes.html', 'reference/c.html', 'reference/python.html', 'source/src/nn/norm.cpp.html']) {
        const page = await open(address, {colorScheme, viewport: {width, height: 900}, reducedMotion: 'reduce'});
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${address} is wider than the window`);
        assert.deepEqual(page.complaints, []);
        // Last, since axe-core asks for the styles in a way that files refuse.
        assert.deepEqual(await findings(page), [], address);
        await page.context().close();
      }
    });
  }
}

test('the search is used by keys alone', async () => {
  const page = await open('reference/cpp.html', {reducedMotion: 'reduce'});
  await page.keyboard.press('/');
  await page.keyboard.type('repetition pen');
  await page.waitForSelector('#found a');
  assert.match(await page.textContent('#found p'), /\d+ sections?/);
  await page.keyboard.press('ArrowDown');
  const address = await page.evaluate(() => document.activeElement.href);
  assert.ok(address.startsWith(base), address);
  await page.keyboard.press('Enter');
  await page.waitForURL(url => url.href === address);
  assert.match(await page.textContent('main'), /[Rr]epetition/);
  await page.keyboard.press('/');
  await page.keyboard.type('no-such-word');
  await page.waitForSelector('#found:not([hidden])');
  assert.equal(await page.textContent('#found p'), 'Nothing has all of these words.');
  await page.keyboard.press('Escape');
  assert.ok(await page.isHidden('#found'));
  assert.deepEqual(page.complaints, []);
  await page.fill('#search input', 'penalty');
  assert.deepEqual(await findings(page), []);
});

test.after(() => browser.stop());
