// The page with `heed serve` behind it, at HEED_ADDRESS: small models with random weights, a translator "t", a language
// model "g" and an encoder "e".
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Browser} from './browser.mjs';

let browser;
before(async () => { browser = await Browser.start(process.env.HEED_ADDRESS + '/'); });
after(() => browser.stop());

test('Translate', async () => {
  const page = await browser.page({tab: 'translate'});
  await page.fill('#source', 'ein hund läuft\n\nzwei hunde');
  await page.waitForFunction(() => document.querySelectorAll('#target p').length === 3 && document.querySelectorAll('.word').length > 1);
  assert.equal(await page.locator('.choice').count(), 4);
  assert.match(await page.locator('#target-facts').innerText(), /^\d+ tokens in \d+ ms$/);
  await page.click('.word');
  await page.waitForSelector('.menu-item');
  await page.click('.menu-item >> nth=-1');
  await page.waitForSelector('.word.fixed');
  await page.finish();
});

test('Write', async () => {
  const page = await browser.page({tab: 'write'});
  await page.fill('#prompt', 'a dog');
  await page.fill('#max-tokens', '12');
  await page.click('#go');
  await page.waitForSelector('#written .token');
  await page.waitForSelector('#go:visible');
  await page.waitForFunction(() => /12 tokens/.test(document.getElementById('write-facts').innerText));
  await page.waitForFunction(() => document.querySelector('#written .token').title.endsWith('%'));
  await page.waitForSelector('.next');
  await page.click('#written .token >> nth=1');
  await page.waitForSelector('.menu-item');
  await page.click('.menu-item:not(.here)');
  await page.waitForSelector('#written .token.chosen');
  await page.finish();
});

test('Understand', async () => {
  const page = await browser.page({tab: 'understand'});
  await page.fill('#lines', 'a dog runs\na man sleeps\na woman sings');
  await page.waitForFunction(() => document.querySelectorAll('.point').length === 3);
  await page.finish();
});

test('Model', async () => {
  const page = await browser.page({tab: 'model'});
  for (const name of ['t', 'g', 'e']) {
    await page.selectOption('#models', name);
    await page.waitForSelector('.diagram svg rect');
    assert.match(await page.locator('#model-content .figures').innerText(), /Parameters/);
  }
  await page.finish();
});

test('Load', async () => {
  const page = await browser.page({tab: 'load'});
  await page.waitForFunction(() => document.querySelectorAll('.chart path.curve').length > 5);
  await page.finish();
});

for (const [tab, fill] of [['translate', page => page.fill('#source', 'ein hund läuft')], ['write', page => page.fill('#prompt', 'a dog runs')],
                           ['understand', page => page.fill('#lines', 'a dog runs')]])
  test(`Attention: ${tab}`, async () => {
    const page = await browser.page({tab});
    await fill(page);
    await page.waitForTimeout(500);
    await page.click(`#${tab} details:has-text("Attention") summary`);
    await page.waitForSelector(`#${tab} .map-view`);
    assert.equal(await page.locator(`#${tab} .map-view`).count(), 2);
    await page.finish();
  });

test('The beam', async () => {
  const page = await browser.page({tab: 'translate'});
  await page.fill('#source', 'ein hund läuft');
  await page.click('#beam-fold summary');
  await page.waitForSelector('.beam .node.best');
  await page.finish();
});
