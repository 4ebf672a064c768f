import { expect, it } from 'vitest';
import { differences, type Figures, keep, keptFigures, table } from './figures.ts';
import { weighGrouping } from './grouping.ts';
import { startWeighingServer } from './server.ts';
import { openRounds, weighStatements } from './statements.ts';

/** `npm run weigh`: measures what `npm test` compares, prints it beside the kept figures, and keeps it. */
it('measures and keeps the figures', async () => {
  const server = await startWeighingServer();
  const measured: Figures = {
    ...(await weighStatements(await openRounds(await server.createDatabase()))),
    ...(await weighGrouping()),
  };
  const kept = keptFigures();
  const changed = differences(kept, measured).length;
  console.log(`\n${table(kept, measured)}\n\n${changed} figures differ from the kept ones.`);
  keep(measured);
  expect(differences(keptFigures(), measured)).toEqual([]);
});
