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

// How much two pictures differ: the mean and the largest difference of brightness, 0 to 1, of fields of 8 x 8 pixels.
export async function difference(page, one, other) {
  return page.evaluate(async pictures => {
    const grey = async base64 => {
      const blob = await new Response(Uint8Array.from(atob(base64), c => c.charCodeAt(0))).blob(), bitmap = await createImageBitmap(blob);
      const canvas = new OffscreenCanvas(Math.ceil(bitmap.width / 8), Math.ceil(bitmap.height / 8)), context = canvas.getContext('2d');
      context.imageSmoothingQuality = 'high';
      context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
      const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
      return {width: bitmap.width, height: bitmap.height, values: Array.from({length: data.length / 4}, (_, i) => (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 765)};
    };
    const [a, b] = [await grey(pictures[0]), await grey(pictures[1])];
    if (Math.abs(a.width - b.width) > 8 || Math.abs(a.height - b.height) > 8) return {mean: 1, most: 1, sizes: [a.width, a.height, b.width, b.height]};
    const all = a.values.map((value, i) => Math.abs(value - (b.values[i] ?? 0)));
    return {mean: all.reduce((sum, x) => sum + x, 0) / all.length, most: Math.max(...all)};
  }, [one.toString('base64'), other.toString('base64')]);
}
