import { expect, it } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { withPalette } from './png.ts';

useBrowser();

it.skipIf(NO_BROWSER !== null)('a picture with a palette shows the same, and is smaller', async () => {
  const server = await startReceiver({ respond: { headers: { 'content-type': 'text/html' }, body: PAGE } });
  const { page } = await openPage({ url: server.url, cookie: null }, { width: 300, height: 200 });
  await page.goto(server.url);
  const png = await page.screenshot();
  const small = withPalette(png);
  expect(small.length).toBeLessThan(png.length);
  const read = (image: Buffer) =>
    page.evaluate(async (base64) => {
      const image = new Image();
      image.src = `data:image/png;base64,${base64}`;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext('2d');
      context?.drawImage(image, 0, 0);
      return [...(context?.getImageData(0, 0, image.width, image.height).data ?? [])];
    }, image.toString('base64'));
  const [before, after] = [await read(png), await read(small)];
  expect(after).toHaveLength(before.length);
  const furthest = before.reduce((most, value, n) => Math.max(most, Math.abs(value - (after[n] ?? 0))), 0);
  expect(furthest).toBeLessThan(24);
  await server.close();
});

const PAGE = `<!doctype html><title>p</title><link rel="icon" href="data:,"><style>body { margin: 0; font: 20px sans-serif;
  background: #0f191c; color: #e6eeef } p { background: #cb3d3b }</style><h1>Retries in 11 s</h1><p>Dead</p>`;
