import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { ApiQueue } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';

const HEADER = 'x-acme-signature';

let cluster: Cluster;
let op: TestServices;
let account: Account;

beforeAll(async () => {
  cluster = await startCluster({ workers: 2, env: { SIGNATURE_HEADER: HEADER } });
  op = openServices(cluster.databaseUrl);
  account = await op.firstAccount();
});

/** Which of the secrets a header was made with; null when it is not there. */
function signer(request: ReceivedRequest, header: string, secrets: Record<string, string>): string | null {
  const value = request.headers[header];
  if (value === undefined) return null;
  const isOf = (secret: string) => value === `sha256=${createHmac('sha256', secret).update(request.raw).digest('hex')}`;
  return Object.keys(secrets).find((name) => isOf(secrets[name] ?? '')) ?? 'none';
}

/** When the delivery of each job was claimed, in milliseconds. */
async function claims(queue: ApiQueue): Promise<Map<string, number>> {
  const rows = await cluster.query<{ id: string; at: Date }>(
    'select id, claimed_at as at from job where queue_id = $1 and claimed_at is not null',
    [queue.id],
  );
  return new Map(rows.map((row) => [row.id, row.at.getTime()]));
}

describe.concurrent('a rotation of the signing secret', () => {
  it('loses no delivery at a receiver that is strict, before, during and after', async () => {
    const secrets: Record<string, string> = {};
    const receiver = await openReceiver((request) => {
      // As the spec has it: one signature, of a secret that the receiver was given.
      const names = request.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
      const isStrict = names.filter((name) => name === HEADER).length === 1;
      const signedBy = signer(request, HEADER, secrets);
      return { status: isStrict && (signedBy === 'old' || signedBy === 'next') ? 200 : 401 };
    });
    const { api } = cluster;
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    secrets.old = queue.signingSecret;
    await api.publish(queue.name);
    await receiver.waitFor(1);

    const rotated = await op.queues.rotateSigningSecret(account, queue.id, 3600);
    secrets.next = rotated.signingSecret;
    await api.publish(queue.name);
    await receiver.waitFor(2);
    // There was a delivery during the overlap, however slow the machine is, so it may end.
    const [ending] = await cluster.query<{ at: Date }>(
      `update queue set next_signing_secret_at = jobferry_now() + interval '200 ms' where id = $1
       returning next_signing_secret_at as at`,
      [queue.id],
    );
    const overlapEnds = ending?.at.getTime() ?? 0;
    const isOver = async () => [...(await claims(queue)).values()].some((at) => at > overlapEnds);
    while (!(await isOver())) await api.publish(queue.name);
    await api.publish(queue.name);
    await cluster.waitForCount(queue.id, 'pending', 0);
    await cluster.waitForCount(queue.id, 'processing', 0);

    const [before, ...later] = receiver.requests;
    expect(before && [signer(before, HEADER, secrets), signer(before, `${HEADER}-next`, secrets)]).toEqual([
      'old',
      null,
    ]);
    const claimedAt = await claims(queue);
    const seen = { during: 0, after: 0 };
    for (const request of later) {
      const isAfter = (claimedAt.get(request.json().id) ?? 0) >= overlapEnds;
      seen[isAfter ? 'after' : 'during'] += 1;
      const signers = [signer(request, HEADER, secrets), signer(request, `${HEADER}-next`, secrets)];
      expect(signers).toEqual(isAfter ? ['next', null] : ['old', 'next']);
    }
    expect(Math.min(seen.during, seen.after)).toBeGreaterThan(0);
    expect(receiver.requests.filter((request) => request.status !== 200)).toEqual([]);
    expect(await cluster.count(queue.id, 'completed')).toBe(receiver.requests.length);
  });

  it('a rotation without an overlap signs the next delivery with the new secret alone', async () => {
    const receiver = await openReceiver();
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url });
    const { signingSecret: next } = await op.queues.rotateSigningSecret(account, queue.id, 0);
    await cluster.api.publish(queue.name);
    const [request] = await receiver.waitFor(1);
    if (request === undefined) throw new Error('no delivery');
    const secrets = { old: queue.signingSecret, next };
    expect([signer(request, HEADER, secrets), signer(request, `${HEADER}-next`, secrets)]).toEqual(['next', null]);
  });

  it('is not seen through REST, and no secret is', async () => {
    const { api } = cluster;
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const { signingSecret: next } = await op.queues.rotateSigningSecret(account, queue.id, 60);
    const { signingSecret: old, ...shown } = queue;
    const answers = [
      await api.call('GET', `/v1/queues/${queue.id}`),
      await api.call('GET', '/v1/queues'),
      await api.call('PUT', `/v1/queues/${queue.id}`, { maxAttempts: queue.maxAttempts }),
    ];
    expect(answers[0]?.body).toEqual(shown);
    expect(answers[2]?.body).toEqual(shown);
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      for (const hidden of [old, next, 'igningSecret']) expect(text).not.toContain(hidden);
    }
  });
});
