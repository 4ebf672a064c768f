import { crc32, deflateSync, inflateSync } from 'node:zlib';

/**
 * Makes a screenshot a third to a quarter of its size: the same picture with a palette of 256 colours. Those of an
 * interface are few, but for the edges of letters, where the nearest colour cannot be told from the true one.
 */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1);
  const palette = paletteOf(counts, 256);
  const indexes = new Map([...counts.keys()].map((color) => [color, nearest(palette, color)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows[y * (width + 1) + 1 + x] = indexes.get(pixels[y * width + x] ?? 0) ?? 0;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits, palette.
  header.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('PLTE', colors), chunk('IDAT', data), chunk('IEND')]);
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type: string, data = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Pixels as 0xRRGGBB. Of the formats of PNG, only those that Chromium writes: 8 bits, RGB or RGBA, not interlaced. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  if (png[24] !== 8 || (png[25] !== 2 && png[25] !== 6) || png[28] !== 0) throw new Error('an unexpected kind of PNG');
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * channels, channels);
  const pixels = new Uint32Array(width * height);
  for (let n = 0; n < pixels.length; n += 1) {
    pixels[n] = bytes.readUIntBE(n * channels, 3);
  }
  return { width, height, pixels };
}

/** Undoes the filter of each row, which predicts a byte from those left (a), above (b), and left above (c). */
function unfiltered(data: Buffer, stride: number, channels: number): Buffer {
  const height = data.length / (stride + 1);
  const bytes = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const a = x < channels ? 0 : (bytes[at - channels] ?? 0);
      const b = y === 0 ? 0 : (bytes[at - stride] ?? 0);
      const c = x < channels || y === 0 ? 0 : (bytes[at - stride - channels] ?? 0);
      const predicted = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] ?? 0;
      bytes[at] = ((data[y * (stride + 1) + 1 + x] ?? 0) + predicted) & 255;
    }
  }
  return bytes;
}

function paeth(a: number, b: number, c: number): number {
  const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  if (da <= db && da <= dc) return a;
  return db <= dc ? b : c;
}

const SHIFTS: readonly number[] = [16, 8, 0];
const part = (color: number, shift: number) => (color >> shift) & 255;

/** Median cut: the box of colours with most pixels times its width is cut at the middle of its pixels. */
function paletteOf(counts: ReadonlyMap<number, number>, size: number): number[] {
  const boxes = [boxOf([...counts.keys()], counts)];
  while (boxes.length < size) {
    const widest = boxes.reduce((a, b) => (b.weight > a.weight ? b : a));
    if (widest.colors.length < 2) break;
    const sorted = widest.colors.sort((a, b) => part(a, widest.shift) - part(b, widest.shift));
    let seen = 0;
    const middle = sorted.findIndex((color) => {
      seen += Math.sqrt(counts.get(color) ?? 0);
      return seen * 2 >= widest.total;
    });
    const cut = Math.min(sorted.length - 1, Math.max(1, middle));
    boxes.splice(boxes.indexOf(widest), 1, boxOf(sorted.slice(0, cut), counts), boxOf(sorted.slice(cut), counts));
  }
  // The most frequent colour stands for its box, so that every large surface keeps its exact colour.
  return boxes.map(({ colors }) => colors.reduce((a, b) => ((counts.get(b) ?? 0) > (counts.get(a) ?? 0) ? b : a)));
}

function boxOf(colors: number[], counts: ReadonlyMap<number, number>) {
  const spans = SHIFTS.map((shift) => {
    let [least, most] = [255, 0];
    for (const color of colors) {
      least = Math.min(least, part(color, shift));
      most = Math.max(most, part(color, shift));
    }
    return { shift, span: most - least };
  });
  const { shift, span } = spans.reduce((a, b) => (b.span > a.span ? b : a));
  const total = colors.reduce((sum, color) => sum + Math.sqrt(counts.get(color) ?? 0), 0);
  return { colors, shift, total, weight: span === 0 ? 0 : total * span };
}

function nearest(palette: readonly number[], color: number): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [index, other] of palette.entries()) {
    const distance = SHIFTS.reduce((sum, shift) => sum + (part(color, shift) - part(other, shift)) ** 2, 0);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}
