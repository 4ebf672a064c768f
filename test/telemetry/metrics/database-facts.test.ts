import { expect, it } from 'vitest';
import { DatabaseFacts } from '../../../src/telemetry/metrics/database-facts.ts';
import { connect } from '../../support/database.ts';
import { openFixture, RETENTION_MS } from '../../support/database-fixture.ts';
import { waitFor } from '../../support/wait-for.ts';

const { db, url } = await openFixture();

it('shows the database on a page whose facts about the server take long, and those on a later one', async () => {
  const listener = { lock: async () => true, holds: () => true, unlock: async () => undefined };
  const facts = new DatabaseFacts({ db, listener, retentionMs: RETENTION_MS, maxQueues: 1 });
  // A lock on a view that only this statement reads.
  const admin = await connect(url);
  await admin.query('begin');
  await admin.query('set local allow_system_table_mods = on');
  await admin.query('alter view pg_prepared_xacts alter column gid set default null');
  const isShown = async () => (await facts.refresh()) !== null && facts.facts !== null;
  await waitFor(isShown, { message: 'the facts about the jobs' });
  expect(facts.server).toBeNull();
  await admin.query('rollback');
  await waitFor(() => facts.server !== null, { message: 'the facts about the server' });
  facts.stop();
});
