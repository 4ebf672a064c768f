/** The soundings of a nautical chart: lines of equal depth, with depths in metres. */
const LINES = Array.from({ length: 7 }, (_, n) => {
  const y = 78 + n * 52;
  const path = `M-20 ${y}C173 ${y - 64 + n * 4} 317 ${y + 23 - n * 2} 518 ${y - 9}S806 ${y - 73 + n * 7} 979 ${y - 23}S1267 ${y + 32 - n * 3} 1460 ${y - 41 + n * 4}`;
  return { path, isDashed: n % 2 === 1, isShore: n === 0 };
});

const DEPTHS: readonly (readonly [x: number, y: number, depth: number])[] = [
  ...([
    [120, 96, 3],
    [402, 132, 5],
    [700, 78, 4],
    [1010, 140, 7],
    [1310, 88, 2],
  ] as const),
  ...([
    [250, 224, 11],
    [590, 236, 14],
    [905, 250, 16],
    [1190, 232, 12],
  ] as const),
  ...([
    [90, 330, 21],
    [440, 344, 26],
    [770, 352, 31],
    [1080, 338, 24],
    [1370, 330, 19],
  ] as const),
];

export function Soundings() {
  return (
    <svg className="chartlines" viewBox="0 0 1440 420" preserveAspectRatio="xMidYMax slice" aria-hidden="true">
      {LINES.map(({ path, isDashed, isShore }) => (
        <path key={path} d={path} strokeWidth={isShore ? 1.5 : 1} {...(isDashed && { strokeDasharray: '2 6' })} />
      ))}
      {DEPTHS.map(([x, y, depth]) => (
        <text key={x} x={x} y={y}>
          {depth}
        </text>
      ))}
    </svg>
  );
}
