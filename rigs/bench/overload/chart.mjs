const [WIDTH, HEIGHT, LEFT, TOP, GAP] = [860, 200, 70, 50, 70];

/** Goodput and the p99 of what was accepted, second by second, as an SVG picture. */
export function chartOf(seconds, { capacityPerSecond, offeredPerSecond, seconds: loadSeconds }) {
  const good = seconds.map((second) => second.good);
  const p99 = seconds.map((second) => second.p99 ?? 0);
  const most = Math.max(offeredPerSecond, ...good) * 1.05;
  const slowest = Math.max(1000, ...p99) * 1.05;
  const x = (n) => LEFT + (n / Math.max(seconds.length - 1, 1)) * WIDTH;
  const lower = TOP + HEIGHT + GAP;
  const total = { width: LEFT + WIDTH + 30, height: lower + HEIGHT + 50 };
  const line = (values, top, max, color) => {
    const points = values.map((value, n) => `${x(n).toFixed(1)},${(top + HEIGHT - (value / max) * HEIGHT).toFixed(1)}`);
    return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${points.join(' ')}"/>`;
  };
  const level = (value, top, max, label) => {
    const y = (top + HEIGHT - (value / max) * HEIGHT).toFixed(1);
    return (
      `<line x1="${LEFT}" x2="${LEFT + WIDTH}" y1="${y}" y2="${y}" stroke="#999" stroke-dasharray="4 4"/>` +
      `<text x="${LEFT - 8}" y="${y}" text-anchor="end" dominant-baseline="middle">${label}</text>`
    );
  };
  const frame = (top, title) =>
    `<text x="${LEFT}" y="${top - 12}" font-weight="bold">${title}</text>` +
    `<rect x="${LEFT}" y="${top}" width="${WIDTH}" height="${HEIGHT}" fill="none" stroke="#444"/>` +
    `<rect x="${LEFT}" y="${top}" width="${(x(Math.min(loadSeconds, seconds.length - 1)) - LEFT).toFixed(1)}" height="${HEIGHT}" fill="#c33" fill-opacity="0.06"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${total.width}" height="${total.height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    frame(TOP, 'Publishes answered 201 within a second, per second (red: overload)'),
    level(capacityPerSecond, TOP, most, capacityPerSecond),
    level(capacityPerSecond * 0.8, TOP, most, '80 %'),
    level(offeredPerSecond, TOP, most, offeredPerSecond),
    line(good, TOP, most, '#06c'),
    frame(lower, 'p99 of what was accepted, in milliseconds'),
    level(1000, lower, slowest, 1000),
    line(p99, lower, slowest, '#c60'),
    `<text x="${LEFT}" y="${lower + HEIGHT + 20}">0 s</text>`,
    `<text x="${LEFT + WIDTH}" y="${lower + HEIGHT + 20}" text-anchor="end">${seconds.length} s</text>`,
    '</svg>\n',
  ].join('\n');
}
