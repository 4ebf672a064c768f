import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasGivenServer } from '../support/given-server.ts';
import { complaint } from './figures.ts';
import { startWeighingServer } from './server.ts';
import { COURSES, groupOf, openRounds, ROUNDS, type Rounds, weighStatements } from './statements.ts';

/**
 * Compares the SQL of a job, in counts that a slow machine does not change, with `weight.json`.
 * `npm run weigh` writes that file.
 */

// The counts are those of the embedded PostgreSQL, with a module that has to be loaded at its start.
describe.skipIf(hasGivenServer)('the SQL of a job', () => {
  let rounds: Rounds;

  beforeAll(async () => {
    const server = await startWeighingServer();
    rounds = await openRounds(await server.createDatabase());
  });

  it('executes, plans, writes and logs as much as weight.json says', async () => {
    expect(complaint(await weighStatements(rounds))).toBe('');
  });

  /** The complaint about a build in which one thing is done more. */
  async function complaintAbout(plant: string, restore: string): Promise<string> {
    onTestFinished(async () => void (await rounds.db.query(restore)));
    await rounds.db.query(plant);
    const [course] = COURSES;
    return complaint({ [groupOf(course)]: await rounds.measure(course, ROUNDS.few) });
  }

  it('is too heavy with a planted index of the jobs', async () => {
    const plant = 'create index planted_idx on job (created_at)';
    const text = await complaintAbout(plant, 'drop index if exists planted_idx');
    expect(text).toMatch(/entries, planted_idx: kept nothing, measured 3 per job/);
    expect(text).toMatch(/log bytes: kept/);
    expect(text).toMatch(/run `npm run weigh`/);
  });

  it.each(['publish_and_claim', 'claim_one', 'settle'])(
    'is too heavy with a planted statement in jobferry_%s',
    async (name) => {
      const text = 'select pg_get_functiondef(oid) as text from pg_proc where proname = $1';
      const original = (await rounds.db.one<{ text: string }>(text, [`jobferry_${name}`]))?.text ?? '';
      const planted = original.replace(/^begin$/m, 'begin perform from queue limit 1;');
      expect(planted).not.toBe(original);
      expect(await complaintAbout(planted, original)).toMatch(
        new RegExp(`statements within functions, ${name.split('_')[0]}: kept`),
      );
    },
  );
});
