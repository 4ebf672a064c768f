/** The soundings of a nautical chart: lines of equal depth, with depths in metres. */
const LINES = Array.from({ length: 7 }, (_, n) => {
  const y = 78 + n * 52;
  const path = `M-20 ${y}C173 ${y - 64 + n * 4} 317 ${y + 23 - n * 2} 518 ${y - 9}S806 ${y - 73 + n * 7} 979 ${y - 23}S1267 ${y + 32 - n * 3} 1460 ${y - 41 + n * 4}`;
  return { path, isDashed: n % 2 === 1, isShore: n === 0 };
});

/** Shoals above, deep water below. */
const DEPTHS = Array.from({ length: 14 }, (_, n) => {
  const row = n % 3;
  return { x: 90 + n * 97, y: 92 + row * 124 + ((n * 13) % 40), depth: 3 + row * 10 + ((n * 5) % 8) };
});

export function Soundings() {
  return (
    <svg className="chartlines" viewBox="0 0 1440 420" preserveAspectRatio="xMidYMax slice" aria-hidden="true">
      {LINES.map(({ path, isDashed, isShore }) => (
        <path key={path} d={path} strokeWidth={isShore ? 1.5 : 1} {...(isDashed && { strokeDasharray: '2 6' })} />
      ))}
      {DEPTHS.map(({ x, y, depth }) => (
        <text key={x} x={x} y={y}>
          {depth}
        </text>
      ))}
    </svg>
  );
}
