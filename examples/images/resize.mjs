// @ts-check
const STEPS = 10;
const BYTES_PER_PIXEL = 3;

/**
 * Makes a picture smaller or larger: each pixel of the result is the nearest one of the original.
 *
 * @param {Buffer} ppm a binary PPM file (P6, 8 bits)
 * @param {number} width of the result in pixels
 * @param {(percent: number) => Promise<void>} onProgress called after each of ten steps
 * @returns {Promise<Buffer | null>} a PPM file; null if the file is not such a picture
 */
export async function resize(ppm, width, onProgress) {
  const picture = read(ppm);
  if (picture === null) return null;
  const scale = picture.width / width;
  const height = Math.max(1, Math.round(picture.height / scale));
  const pixels = Buffer.alloc(width * height * BYTES_PER_PIXEL);
  for (let step = 0; step < STEPS; step += 1) {
    const end = Math.round(((step + 1) * height) / STEPS);
    for (let y = Math.round((step * height) / STEPS); y < end; y += 1) {
      const row = Math.min(picture.height - 1, Math.floor(y * scale)) * picture.width;
      for (let x = 0; x < width; x += 1) {
        const from = (row + Math.min(picture.width - 1, Math.floor(x * scale))) * BYTES_PER_PIXEL;
        picture.pixels.copy(pixels, (y * width + x) * BYTES_PER_PIXEL, from, from + BYTES_PER_PIXEL);
      }
    }
    await onProgress(((step + 1) * 100) / STEPS);
  }
  return Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), pixels]);
}

/** @param {Buffer} ppm */
function read(ppm) {
  const [header, width, height] = /^P6\s(\d+)\s(\d+)\s255\s/.exec(ppm.subarray(0, 64).toString('latin1')) ?? [];
  if (header === undefined) return null;
  const picture = { width: Number(width), height: Number(height), pixels: ppm.subarray(header.length) };
  return picture.pixels.length === picture.width * picture.height * BYTES_PER_PIXEL ? picture : null;
}
