/** One line that follows a phase; on a terminal it is rewritten, elsewhere only its end is printed. */
export interface Progress {
  done(summary: string): void;
}

const EVERY_MS = 100;

export function showProgress(title: string, state: () => string): Progress {
  const live = process.stdout.isTTY === true;
  const draw = (text: string) => process.stdout.write(`\r\x1b[2K  ${title.padEnd(34)} ${text}`);
  if (live) draw('');
  const timer = live ? setInterval(() => draw(state()), EVERY_MS) : null;
  return {
    done: (summary) => {
      if (timer !== null) clearInterval(timer);
      if (live) draw(`${summary}\n`);
      else console.log(`  ${title.padEnd(34)} ${summary}`);
    },
  };
}

/** Names to the left, figures to the right. */
export function printTable(rows: readonly (readonly [name: string, value: string])[]): void {
  const names = Math.max(...rows.map(([name]) => name.length));
  const values = Math.max(...rows.map(([, value]) => value.length));
  const line = `  +-${'-'.repeat(names)}-+-${'-'.repeat(values)}-+`;
  const body = rows.map(([name, value]) => `  | ${name.padEnd(names)} | ${value.padStart(values)} |`);
  console.log([line, ...body, line].join('\n'));
}
