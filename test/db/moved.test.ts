import { expect, it, vi } from 'vitest';
import { markMoved } from '../../src/db/schema/moved.ts';
import { ReleaseWatch } from '../../src/services/server/release-watch.ts';
import { connect, LOCK_WAITERS } from '../support/database.ts';
import { DELIVERED, openFixture } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

const REFUSED = { kind: 'unavailable', message: expect.stringContaining('the database was moved to another place') };

it('a process that was suspended over the final backup publishes, claims and settles nothing afterwards', async () => {
  const fixture = await openFixture();
  const { db, url } = fixture;
  const queue = await fixture.createQueue();
  await fixture.publishJobs(queue, 2);
  const [job] = (await fixture.claim(queue, 1)).jobs;
  if (job === undefined) throw new Error('no job was claimed');
  const log = { warn: vi.fn(), info: vi.fn() };
  const release = new ReleaseWatch({ db, log, startsBeside: false });
  const stop = vi.fn();
  release.onRefused(stop);
  await release.look();
  expect(stop).not.toHaveBeenCalled();

  await markMoved({ db, url }, true);
  await expect(fixture.publishJobs(queue, 1)).rejects.toMatchObject(REFUSED);
  await expect(fixture.claim(queue, 1)).rejects.toMatchObject(REFUSED);
  await expect(fixture.settle(job, DELIVERED)).rejects.toMatchObject(REFUSED);
  await expect(fixture.createQueue()).rejects.toMatchObject(REFUSED);

  await release.look();
  await release.look();
  expect(release.refusal).toMatch(/^this database was moved to another place at /);
  expect(stop).toHaveBeenCalledTimes(1);
  expect(log.warn).toHaveBeenCalledTimes(1);

  await markMoved({ db, url }, false);
  await fixture.publishJobs(queue, 1);
  await fixture.settle(job, DELIVERED);
});

it('a final backup has the change of a transaction that its mark waited for', async () => {
  const { db, url, createQueue } = await openFixture();
  await createQueue();
  const running = await connect(url);
  await running.query(`begin; update queue set name = 'renamed'`);
  const marking = markMoved({ db, url }, true);
  await waitFor(async () => (await db.query(LOCK_WAITERS)).length > 0);
  await running.query('commit');
  await marking;
  expect(await db.query('select name from queue')).toEqual([{ name: 'renamed' }]);
  await expect(running.query(`update queue set name = 'again'`)).rejects.toThrow('moved to another place');
});
