// Chromium through playwright-core, both as they are installed, and what tests of the page share.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';

const require = createRequire(process.env.HEED_BROWSER + '/');
const {chromium} = require('playwright-core');
export const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// One browser for all tests; what a page complains of, and what it asks other servers for, fails the test.
export class Browser {
  static async start(base) {
    const browser = new Browser();
    browser.base = base;
    browser.chromium = await chromium.launch({executablePath: process.env.HEED_CHROMIUM, args: ['--no-sandbox', '--font-render-hinting=none']});
    return browser;
  }
  stop() { return this.chromium.close(); }

  async page({scheme = 'light', width = 1280, height = 900, reduced = 'reduce', tab = '', expect = []} = {}) {
    const context = await this.chromium.newContext({colorScheme: scheme, viewport: {width, height}, hasTouch: width < 500, reducedMotion: reduced, permissions: ['clipboard-write']});
    const page = await context.newPage();
    page.complaints = [];
    page.on('console', message => {
      if (['error', 'warning'].includes(message.type()) && !expect.some(text => message.text().includes(text))) page.complaints.push(message.text());
    });
    page.on('pageerror', error => page.complaints.push(String(error)));
    page.asked = [];
    page.on('request', request => {
      const url = request.url();
      page.asked.push(url);
      if (!url.startsWith(this.base) && !url.startsWith('data:') && !url.startsWith('blob:')) page.complaints.push('asked for ' + url);
    });
    await page.addInitScript(() => {
      window.longTasks = [];
      new PerformanceObserver(list => window.longTasks.push(...list.getEntries().map(entry => entry.duration))).observe({type: 'longtask', buffered: true});
    });
    await page.goto(this.base + (tab ? '#' + tab : ''));
    await page.waitForSelector('[role=tab][aria-selected=true]');
    page.finish = async () => {
      assert.deepEqual(page.complaints, []);
      await context.close();
    };
    return page;
  }
}

// Serious findings of axe-core, as text.
export async function findings(page) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  return result.violations.filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.target.join(' ') + ' ' + (node.any[0] ? node.any[0].message : '')).join('; ')}`);
}

// How much two pictures differ: the share of their fields of 8 x 8 pixels whose red, green or blue differs by more than
// 6% of the full range.
export async function difference(page, one, other) {
  return page.evaluate(async pictures => {
    const fields = async base64 => {
      const blob = await new Response(Uint8Array.from(atob(base64), c => c.charCodeAt(0))).blob(), bitmap = await createImageBitmap(blob);
      const canvas = new OffscreenCanvas(Math.ceil(bitmap.width / 8), Math.ceil(bitmap.height / 8)), context = canvas.getContext('2d');
      context.imageSmoothingQuality = 'high';
      context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
      const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
      return {width: bitmap.width, height: bitmap.height, values: data};
    };
    const [a, b] = [await fields(pictures[0]), await fields(pictures[1])];
    if (Math.abs(a.width - b.width) > 8 || Math.abs(a.height - b.height) > 8) return 1;
    let different = 0;
    for (let i = 0; i < a.values.length; i += 4) different += [0, 1, 2].some(c => Math.abs(a.values[i + c] - (b.values[i + c] ?? 0)) > 0.06 * 255);
    return different / (a.values.length / 4);
  }, [one.toString('base64'), other.toString('base64')]);
}
