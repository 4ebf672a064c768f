import { describe, expect, it } from 'vitest';
import { endTunnel, openTunnel } from '../../src/db/tunnels.ts';
import type { Actor } from '../../src/domain/audit.ts';
import { openFixture } from '../support/database-fixture.ts';

const LABEL = 'same@example.com';
const first: Actor = { type: 'member', id: '01a000000000000000000001', label: LABEL };
const second: Actor = { type: 'member', id: '01a000000000000000000002', label: LABEL };
const key: Actor = { type: 'api_key', id: first.id, label: LABEL };

const { db, accountId, createQueue } = await openFixture();
let opened = 0;

const open = async (queueId: string, actor: Actor) => {
  opened += 1;
  const id = `tunnel-${opened}`;
  expect(await openTunnel(db, { accountId, actor }, { id, queueId, isForced: false })).toBe(true);
  return id;
};
const entriesOf = (queueId: string) =>
  db.query<{ type: string; id: string; action: string }>(
    'select actor_type as type, actor_id as id, action from audit_entry where target_id = $1 order by action desc, type, id',
    [queueId],
  );
const opening = ({ type, id }: Actor) => ({ type, id, action: 'queue.open_tunnel' });

describe('the audit log of tunnels', () => {
  it('has an opening of each actor, also of two with one label', async () => {
    const { id } = await createQueue();
    for (const actor of [first, second, key, first, key]) await open(id, actor);
    expect(await entriesOf(id)).toEqual([key, first, second].map(opening));
  });

  it('has a client that comes back for an hour only once, and then again', async () => {
    const { id } = await createQueue();
    await open(id, first);
    await open(id, first);
    await db.query(`update tunnel set audited_at = audited_at - interval '61 min' where queue_id = $1`, [id]);
    await open(id, first);
    await open(id, first);
    expect(await entriesOf(id)).toEqual([first, first].map(opening));
  });

  it('has the end of a tunnel by another actor, and none by its own or by the process', async () => {
    const { id } = await createQueue();
    const [one, two, three] = [await open(id, first), await open(id, first), await open(id, first)];
    expect(await endTunnel(db, accountId, one, first)).toBe(true);
    expect(await endTunnel(db, accountId, two)).toBe(true);
    expect(await entriesOf(id)).toEqual([opening(first)]);
    expect(await endTunnel(db, accountId, three, second)).toBe(true);
    expect(await endTunnel(db, accountId, three, second)).toBe(false);
    const { type, id: endedBy } = second;
    expect(await entriesOf(id)).toEqual([opening(first), { type, id: endedBy, action: 'queue.end_tunnel' }]);
  });
});
