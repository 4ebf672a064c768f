import { describe, expect, it } from 'vitest';
import { hasGivenServer } from '../support/given-server.ts';
import { complaint, keptFigures } from './figures.ts';
import { OF_NODE, weighProcesses } from './processes.ts';
import { startWeighingServer } from './server.ts';
import { weighSizes } from './sizes.ts';

/**
 * Compares the statements of two processes and the sizes of what they bring with `weight.json`. System calls and
 * allocated bytes vary with the machine: they are printed where they differ, and `npm run pairs` judges what a job
 * costs.
 */

// /proc has the system calls.
describe.skipIf(hasGivenServer || process.platform !== 'linux')('an API process and a worker process', () => {
  it('send as many statements for one job at a time as weight.json says', async () => {
    const server = await startWeighingServer();
    const measured = await weighProcesses(await server.createDatabase());
    const ofMachine = Object.fromEntries(Object.values(OF_NODE).map((group) => [group, measured[group] ?? {}]));
    for (const group of Object.values(OF_NODE)) delete measured[group];
    expect(complaint(measured)).toBe('');
    const other = Object.values(OF_NODE).every((group) => group in keptFigures()) ? complaint(ofMachine) : '';
    if (other !== '') console.log(`Not judged, because it varies with the machine. ${other}`);
  });
});

it('the packages and the dashboard are as large as weight.json says', async () => {
  expect(complaint(await weighSizes())).toBe('');
});
