const EVERY_MS = 100;
const TITLE_WIDTH = 36;

/**
 * Does the work of a phase and shows its state in one line. On a terminal the line is rewritten; elsewhere only the last
 * state is printed.
 * @param work resolves with the last state
 */
export async function showPhase(title: string, state: () => string, work: () => Promise<string>): Promise<void> {
  const live = process.stdout.isTTY === true;
  const line = (text: string) => `  ${title.padEnd(TITLE_WIDTH)} ${text}`;
  const draw = () => process.stdout.write(`\r\x1b[2K${line(state())}`);
  if (live) draw();
  const timer = live ? setInterval(draw, EVERY_MS) : null;
  let end = 'stopped';
  try {
    end = await work();
  } finally {
    if (timer !== null) clearInterval(timer);
    process.stdout.write(`${live ? '\r\x1b[2K' : ''}${line(end)}\n`);
  }
}

/** Names to the left, figures to the right. */
export function printTable(rows: readonly (readonly [name: string, value: string])[]): void {
  const names = Math.max(...rows.map(([name]) => name.length));
  const values = Math.max(...rows.map(([, value]) => value.length));
  const line = `  +-${'-'.repeat(names)}-+-${'-'.repeat(values)}-+`;
  const body = rows.map(([name, value]) => `  | ${name.padEnd(names)} | ${value.padStart(values)} |`);
  console.log([line, ...body, line].join('\n'));
}
