import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { buildEarlier, type EarlierBuild, earlierCommit } from './earlier-build.ts';

/** A rolling upgrade: processes of an earlier commit and of this one on one database, under load. */

const KEY = 'key-of-the-bootstrap-account';
const commit = await earlierCommit();
if (commit === null) {
  console.log(
    'skipped: no tag, and the commit before this one has no prisma/functions (or is missing in a shallow clone)',
  );
}

describe.skipIf(commit === null)(`an earlier build (${commit?.slice(0, 10)}) beside the present one`, () => {
  let earlier: EarlierBuild;
  beforeAll(async () => {
    earlier = await buildEarlier(commit ?? '');
  });
  afterAll(() => earlier?.remove());

  it('has versions of the functions that this build has left as they were', async () => {
    const lines = (text: string) => text.split('\n').filter((line) => /^\d/.test(line));
    const present = lines(await readFile(new URL('../../prisma/functions/versions', import.meta.url), 'utf8'));
    const before = lines(earlier.versions);
    expect(present.slice(0, before.length)).toEqual(before);
  });

  it('loses no job while the upgrade goes on', async () => {
    const { url: databaseUrl } = await createTestDatabase({ empty: true });
    const env = { BOOTSTRAP_API_KEY: KEY };
    const old = await startJobferry({ databaseUrl, env, main: earlier.main });
    // Every fifth delivery fails at first, so that retries cross from one build to the other.
    const receiver = await openReceiver((request) => {
      const { id, attempt } = request.json();
      return attempt === 1 && Number.parseInt(id.slice(-1), 16) % 5 === 0 ? { status: 500 } : {};
    });
    const queue = await createApi(old.baseUrl, KEY).createQueue({ webhookUrl: receiver.url, backoffDelay: 0.5 });

    const accepted: string[] = [];
    const stopped = new Set<string>();
    async function publishThrough(baseUrl: string): Promise<void> {
      const api = createApi(baseUrl, KEY);
      while (!stopped.has(baseUrl)) accepted.push((await api.publish(queue.name)).id);
    }
    const more = async (load: Promise<void>) => {
      const enough = accepted.length + 300;
      await Promise.race([load, waitFor(() => accepted.length >= enough, { timeoutMs: 60_000, message: 'more jobs' })]);
    };

    const throughOld = publishThrough(old.baseUrl);
    await more(throughOld);
    const present = await startJobferry({ databaseUrl, env });
    const throughPresent = publishThrough(present.baseUrl);
    await more(Promise.race([throughOld, throughPresent]));
    expect((await fetch(`${old.baseUrl}/readyz`)).status).toBe(200);
    stopped.add(old.baseUrl);
    await throughOld;
    expect((await old.kill('SIGTERM')).code).toBe(0);
    await more(throughPresent);
    stopped.add(present.baseUrl);
    await throughPresent;

    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const open = async () =>
      (await client.query(`select from job where status not in ('completed', 'dead')`)).rowCount ?? -1;
    await waitFor(async () => (await open()) === 0, { timeoutMs: 60_000, message: 'all jobs to end' });
    const { rows } = await client.query('select status, count(*)::integer from job group by 1');
    await client.end();
    expect(rows).toEqual([{ status: 'completed', count: accepted.length }]);
    const received = new Set(receiver.requests.map((request) => request.json().id));
    expect(accepted.filter((id) => !received.has(id))).toEqual([]);
    const broken = [...old.logs, ...present.logs].filter(({ level }) => level === 'error' || level === 'fatal');
    expect(broken).toEqual([]);
  });
});
