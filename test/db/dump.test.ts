import { describe, expect, it } from 'vitest';
import { POSTGRES_15, startInstalled } from '../../rigs/trials/server.ts';
import { migrate } from '../../src/db/schema/migrate.ts';
import { installWakeUps } from '../../src/worker/wake-ups/runner.ts';
import { settleAs } from '../support/activity.ts';
import { connect } from '../support/database.ts';
import { LIFETIME_MS, openFixture } from '../support/database-fixture.ts';
import { dumpDatabase } from '../support/dump.ts';

const log = { info: () => undefined, warn: () => undefined };

/** "PostgreSQL" in docs/operations.md. */
describe.skipIf(POSTGRES_15 === null)('a dump of pg_dump', () => {
  it('is restored by the owner of the tables with every row, and goes on', async () => {
    const server = await startInstalled();
    await migrate({ url: server.url, log, afterMigrations: () => installWakeUps(server.url) });
    const fixture = await openFixture(server.url);
    const queue = await fixture.createQueue({ max_attempts: 1 });
    await fixture.publishJobs(queue, 3);
    const [job] = (await fixture.claim(queue, 1)).jobs;
    if (job === undefined) throw new Error('nothing was claimed');
    const outcome = { kind: 'failed', statusCode: 500, error: 'HTTP 500' } as const;
    await settleAs(fixture, job, { type: 'answered', outcome }, Date.now(), 1);
    const [last = ''] = await fixture.publishJobs(queue, 1, { key: 'late', delayMs: LIFETIME_MS / 2 });

    const url = server.createDatabase('restored');
    server.run('pg_dump', '--format=custom', '-f', 'test.dump', server.url);
    server.run('pg_restore', '--exit-on-error', '-d', url, 'test.dump');
    const rows = await dumpDatabase(url);
    expect(rows.toSorted()).toEqual((await dumpDatabase(server.url)).toSorted());
    expect(rows.filter((row) => row.startsWith('public.job '))).toHaveLength(4);
    const client = await connect(url);
    const { rows: known } = await client.query('select id from account');
    expect(known).toEqual([{ id: fixture.accountId }]);
    expect(await migrate({ url, log, afterMigrations: () => installWakeUps(url) })).toEqual({ applied: [] });

    const { publishAll, claim } = await openFixture(url);
    const item = { accountId: fixture.accountId, queue: queue.name };
    const again = { outcome: 'existing', id: last };
    expect(await publishAll(queue, [{ ...item, key: 'late' }, item])).toMatchObject([again, { outcome: 'created' }]);
    expect((await claim(queue)).jobs).toHaveLength(3);
  });
});
