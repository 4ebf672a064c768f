import { availableParallelism, loadavg } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasGivenServer } from '../support/given-server.ts';
import { complaint, keptFigures } from './figures.ts';
import { OF_NODE, weighProcesses } from './processes.ts';
import { startWeighingServer, type WeighingServer } from './server.ts';
import { weighSizes } from './sizes.ts';
import { COURSES, groupOf, openRounds, ROUNDS, type Rounds, weighStatements } from './statements.ts';

/** Compares the costs of a job, in counts that a slow machine does not change, with `weight.json`. `npm run weigh` writes that file. */

// The counts are those of the embedded PostgreSQL, with a module that has to be loaded at its start.
let server: WeighingServer;
/** Load of each processor above which processes are not judged; `npm test` alone makes less. */
const BUSY_LOAD = 4;

beforeAll(async () => {
  if (!hasGivenServer) server = await startWeighingServer();
});

describe.skipIf(hasGivenServer)('the SQL of a job', () => {
  let rounds: Rounds;

  beforeAll(async () => {
    rounds = await openRounds(await server.createDatabase());
  });

  it('executes, plans, writes and logs as much as weight.json says', async () => {
    expect(complaint(await weighStatements(rounds))).toBe('');
  });

  /** The complaint about a build in which one thing is done more. */
  async function complaintAbout(plant: string): Promise<string> {
    await rounds.db.query(plant);
    const [course] = COURSES;
    return complaint({ [groupOf(course)]: await rounds.measure(course, ROUNDS.few) });
  }

  it('is too heavy with a planted index of the jobs', async () => {
    const text = await complaintAbout('create index planted_idx on job (created_at)');
    expect(text).toMatch(/entries, planted_idx: kept nothing, measured 3 per job/);
    expect(text).toMatch(/log bytes: kept/);
    expect(text).toMatch(/run `npm run weigh`/);
    await rounds.db.query('drop index planted_idx');
  });

  it.each(['publish', 'claim', 'settle'])('is too heavy with a planted statement in jobferry_%s', async (name) => {
    const text = 'select pg_get_functiondef(oid) as text from pg_proc where proname = $1';
    const original = (await rounds.db.one<{ text: string }>(text, [`jobferry_${name}`]))?.text ?? '';
    const planted = original.replace(/^begin$/m, 'begin perform from queue limit 1;');
    expect(planted).not.toBe(original);
    expect(await complaintAbout(planted)).toMatch(new RegExp(`statements within functions, ${name}: kept`));
    await rounds.db.query(original);
  });
});

const hasNoNodeFigures = !(OF_NODE.api in keptFigures());
if (hasNoNodeFigures)
  console.log(`weight.json has no figures of Node ${process.version}: only its statements are compared.`);

// /proc has the system calls.
describe.skipIf(hasGivenServer || process.platform !== 'linux')('an API process and a worker process', () => {
  it('send, call and allocate for one job at a time as much as weight.json says', async () => {
    const measured = await weighProcesses(await server.createDatabase());
    if (hasNoNodeFigures) for (const group of Object.values(OF_NODE)) delete measured[group];
    const found = complaint(measured);
    // Then three jobs take so long that background work joins each reading.
    const [load = 0] = loadavg();
    const isBusy = load > BUSY_LOAD * availableParallelism();
    if (found !== '' && isBusy) console.log(`NOT JUDGED beside a load of ${load.toFixed(1)}: ${found}`);
    else expect(found).toBe('');
  });
});

it('the packages and the dashboard are as large as weight.json says', async () => {
  expect(complaint(await weighSizes())).toBe('');
});
