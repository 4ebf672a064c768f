import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startJobferry } from '../support/process.ts';
import { differences, type Figures, keep, keptFigures, table } from './figures.ts';
import { weighGrouping } from './grouping.ts';
import { weighProcesses } from './processes.ts';
import { startWeighingServer } from './server.ts';
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
  if (process.platform === 'linux') console.log(await memoryAtRest(await server.createDatabase()));
});

const REST_MS = 10_000;

/** It depends on when the last collection was, so it is not kept. */
async function memoryAtRest(databaseUrl: string): Promise<string> {
  const { pid } = await startJobferry({ databaseUrl, env: { ALLOW_UNSAFE_DURABILITY: '1' } });
  await wait(REST_MS);
  const [, kB] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return `Memory of API and worker in one process at rest: ${Math.round(Number(kB) / 1024)} MiB (not kept)`;
}
