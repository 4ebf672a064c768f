import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startJobferry } from '../support/process.ts';
import { differences, type Figures, keep, keptFigures, table } from './figures.ts';
import { weighGrouping } from './grouping.ts';
import { weighProcesses } from './processes.ts';
import { openCounters, startWeighingServer } from './server.ts';
import { weighSizes } from './sizes.ts';
import { openRounds, weighStatements } from './statements.ts';

/** `npm run weigh`: measures all that `npm test` compares, prints it beside the kept figures, and keeps it. */
it('measures and keeps the figures', async () => {
  const server = await startWeighingServer();
  const measured: Figures = {
    ...(await weighStatements(await openRounds(await server.createDatabase()))),
    ...(await weighGrouping()),
    ...(process.platform === 'linux' ? await weighProcesses(await server.createDatabase()) : {}),
    ...(await weighSizes()),
  };
  const kept = keptFigures();
  const changed = differences(kept, measured).length;
  console.log(`\n${table(kept, measured)}\n\n${changed} figures differ from the kept ones.`);
  keep(measured);
  expect(differences(keptFigures(), measured)).toEqual([]);
  if (process.platform === 'linux') console.log(await atRest(await server.createDatabase()));
});

/** Longer than the 10 s after which a worker rests, and some of its loops. */
const REST_MS = 15_000;
const WINDOW_MS = 30_000;

/**
 * The cost of a process while there is no job. It depends on timers, and on when the last collection was,
 * so it is not kept.
 */
async function atRest(databaseUrl: string): Promise<string> {
  const { pid } = await startJobferry({ databaseUrl, env: { ALLOW_UNSAFE_DURABILITY: '1' } });
  const counters = await openCounters(databaseUrl);
  await wait(REST_MS);
  const read = async () => ({ ...(await counters.statements()), logEnd: await counters.logEnd() });
  const before = await read();
  await wait(WINDOW_MS);
  const after = await read();
  const [, kB] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  const { records } = await counters.logged(before.logEnd, after.logEnd);
  const perMinute = (count: number) => Math.round((count * 60_000) / WINDOW_MS);
  const [statements, written] = [after.calls - before.calls, records].map(perMinute);
  const memory = `${Math.round(Number(kB) / 1024)} MiB`;
  return `API and worker in one process at rest: ${statements} statements and ${written} log records a minute, ${memory} (not kept)`;
}
