import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JobferryError } from '../../src/domain/errors.ts';
import { Admission, type Publish, type Refusal } from '../../src/http/guards/admission.ts';
import { createPublishTurns } from '../../src/http/guards/publish-turns.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { countedSince } from '../support/counted.ts';
import { testApi } from '../support/fake-api.ts';
import { account, CREATED_AT, fakeServices, ID } from '../support/fake-services.ts';

const MIB = 1024 * 1024;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Publishes of one account that come through the whole way, and how they fare. */
class Client {
  readonly #admission: Admission;
  readonly #account: string;
  readonly underWay: Publish[] = [];
  refused = 0;
  overShare = 0;

  constructor(admission: Admission, account: string) {
    this.#admission = admission;
    this.#account = account;
  }

  publish(times: number): void {
    for (let n = 0; n < times; n += 1) {
      const proceed = () => this.#proceed();
      const refuse = (why: Refusal) => this.#refuse(why);
      if (this.#admission.isBusy) this.#admission.wait(this.#account, 0, proceed, refuse);
      else this.#proceed();
    }
  }

  /** Ends the oldest running publishes. */
  finish(times: number): void {
    for (const publish of this.underWay.splice(0, times)) this.#admission.end(publish);
  }

  #proceed(): void {
    const publish = this.#admission.receive(this.#account, 200);
    if (publish === null || this.#admission.received(publish, 200, this.#admission.turn) !== true) this.#refuse('busy');
    else this.underWay.push(publish);
  }

  #refuse(why: Refusal): void {
    this.refused += 1;
    if (why === 'over_share') this.overShare += 1;
  }
}

/** So many seconds in which so many a second come and so many are answered. */
async function pass(seconds: number, perSecond: { come: [Client, number][]; answered: number }): Promise<void> {
  for (let tick = 0; tick < seconds * 100; tick += 1) {
    await vi.advanceTimersByTimeAsync(10);
    for (const [client, count] of perSecond.come) client.publish(count / 100);
    const busy = () => perSecond.come.map(([client]) => client).filter(({ underWay }) => underWay.length > 0);
    // One of each in turn.
    for (let left = perSecond.answered / 100; left > 0 && busy().length > 0; ) {
      for (const client of busy().slice(0, left)) {
        client.finish(1);
        left -= 1;
      }
    }
  }
}

describe('admission', () => {
  it('waits a burst out', async () => {
    const admission = new Admission();
    const client = new Client(admission, 'a');
    client.publish(1500);
    await pass(3, { come: [[client, 0]], answered: 2000 });
    expect(client.refused).toBe(0);
    expect(client.underWay).toEqual([]);
  });

  it('refuses nothing that is answered as fast as it comes', async () => {
    const client = new Client(new Admission(), 'a');
    await pass(5, { come: [[client, 1000]], answered: 1000 });
    expect(client.refused).toBe(0);
  });

  it('runs a bounded number at once, and refuses the rest', async () => {
    const client = new Client(new Admission(), 'a');
    await pass(5, { come: [[client, 6000]], answered: 2000 });
    expect(client.underWay.length).toBeLessThanOrEqual(256);
    expect(client.refused).toBeGreaterThan(15_000);
  });

  it('refuses no publish of an account with few, beside one account and beside many with many', async () => {
    for (const accounts of [1, 10]) {
      const admission = new Admission();
      const quiet = new Client(admission, 'quiet');
      const loud = Array.from({ length: accounts }, (_, n) => new Client(admission, `loud-${n}`));
      const come = loud.map((client): [Client, number] => [client, 10_000 / accounts]);
      await pass(5, { come: [...come, [quiet, 100]], answered: 2000 });
      expect(quiet.refused).toBe(0);
      expect(loud.every(({ refused }) => refused > 0)).toBe(true);
      // One account can be the cause; of many the process has too many.
      const isCause = (client: Client) => client.overShare / client.refused > 0.9;
      expect(loud.map(isCause)).toEqual(Array(accounts).fill(accounts === 1));
    }
  });

  it('takes all again when the load has gone', async () => {
    const client = new Client(new Admission(), 'a');
    await pass(3, { come: [[client, 6000]], answered: 2000 });
    // It is alone, so the process is too small.
    expect(client.overShare).toBe(0);
    await pass(1, { come: [[client, 0]], answered: 2000 });
    const before = client.refused;
    await pass(3, { come: [[client, 1500]], answered: 2000 });
    expect(client.refused).toBe(before);
  });

  it('lets an account proceed at once if it runs less than its share', async () => {
    const admission = new Admission();
    const loud = new Client(admission, 'loud');
    loud.publish(1000);
    await vi.advanceTimersByTimeAsync(100);
    expect(loud.underWay).toHaveLength(256);
    const quiet = new Client(admission, 'quiet');
    quiet.publish(100);
    expect(quiet.underWay).toHaveLength(86);
    // All together have no more than twice as many as one.
    const others = Array.from({ length: 100 }, (_, n) => new Client(admission, `other-${n}`));
    for (const other of others) other.publish(10);
    expect(others.reduce((sum, { underWay }) => sum + underWay.length, 0)).toBe(512 - 256 - 86);
  });

  it('has a problem only when publishes that do not end leave no turn for others', async () => {
    const admission = new Admission();
    const client = new Client(admission, 'a');
    await pass(25, { come: [[client, 6000]], answered: 2000 });
    expect(admission.problem()).toBeNull();
    expect(admission.running).toBe(client.underWay.length);
    client.publish(256);
    await vi.advanceTimersByTimeAsync(1000);
    expect(admission.running).toBe(256);
    expect(admission.problem()).toBeNull();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(admission.problem()).toBe('256 have been running for more than 10 s, so others are refused');
    // An end makes room for another one, and is enough.
    client.finish(1);
    expect(admission.problem()).toBeNull();
    client.finish(255);
    expect(admission.running).toBe(0);
  });

  it('counts large bodies for more, so that a few of them are enough', async () => {
    const admission = new Admission();
    const large = Array.from({ length: 32 }, () => admission.receive('loud', MIB) as Publish);
    for (const publish of large) void admission.received(publish, MIB);
    await vi.advanceTimersByTimeAsync(100);
    expect(large.filter(({ stage }) => stage === 'under way')).toHaveLength(4);
  });

  it('does not make an account with few publishes wait behind large bodies that got their turn together', async () => {
    const admission = new Admission();
    const [loud, quiet] = [new Client(admission, 'loud'), new Client(admission, 'quiet')];
    loud.publish(256);
    const large: Publish[] = [];
    const come = () => large.push(admission.receive('loud', MIB) as Publish);
    for (let n = 0; n < 32; n += 1) admission.wait('loud', 0, come, () => undefined);
    loud.finish(256);
    await vi.advanceTimersByTimeAsync(100);
    expect(large).toHaveLength(32);
    for (const publish of large) void admission.received(publish, MIB, admission.turn);
    quiet.publish(10);
    expect(quiet.underWay).toHaveLength(10);
  });

  it('sends a refusal half a second later, so that clients cannot keep the process busy with refusals', async () => {
    const admission = new Admission();
    const client = new Client(admission, 'a');
    client.publish(1000);
    await vi.advanceTimersByTimeAsync(1400);
    expect(client.refused).toBe(0);
    await vi.advanceTimersByTimeAsync(700);
    expect(client.refused).toBe(1000 - 256);
  });

  it('gives no place to bodies that are on their way, however many accounts send them slowly', () => {
    const admission = new Admission();
    for (let n = 0; n < 2000; n += 1) expect(admission.receive(`slow-${n}`, 1000)).not.toBeNull();
    expect(admission.isBusy).toBe(false);
    const quiet = Array.from({ length: 20 }, () => admission.receive('quiet', 1000));
    expect(quiet).not.toContain(null);
  });

  it('lets no account send more at once than its part', () => {
    const admission = new Admission();
    const sent = Array.from({ length: 100 }, () => admission.receive('a', MIB));
    expect(sent.filter((publish) => publish !== null)).toHaveLength(64);
    for (const publish of sent) if (publish !== null) admission.end(publish);
    expect(admission.receive('a', MIB)).not.toBeNull();
  });

  it('makes bodies that came slowly wait for their turn as the others do', async () => {
    const admission = new Admission();
    const slow = Array.from({ length: 1000 }, () => admission.receive('slow', 1000) as Publish);
    const goOn = slow.map((publish) => admission.received(publish, 1000));
    expect(goOn.filter((on) => on === true)).toHaveLength(128);
    await vi.advanceTimersByTimeAsync(100);
    expect(slow.filter(({ stage }) => stage === 'under way')).toHaveLength(256);
  });
});

it.each([
  ['POST', '/v1/queues/mails/jobs', 'gone; nothing was stored, try again'],
  ['GET', '/v1/queues', 'gone'],
])('a key that cannot be looked up stores nothing: %s %s', async (method, path, error) => {
  vi.useRealTimers();
  const authenticate = () => Promise.reject(new JobferryError('unavailable', 'gone', { stored: 'unknown' }));
  const api = await testApi({ services: { accounts: { authenticate } } });
  expect(await api.send(method, path, { body: '{"payload":{}}' })).toMatchObject({ status: 503, json: { error } });
});

it('a publish whose client leaves while it waits is not carried out', async () => {
  const admission = new Admission();
  const begin = () => admission.receive('one', 200) as Publish;
  const running = Array.from({ length: 256 }, begin);
  for (const publish of running) expect(admission.received(publish, 200, admission.turn)).toBe(true);
  const [gone, waiting] = [begin(), begin()];
  const outcomes = [admission.received(gone, 200), admission.received(waiting, 200)];
  admission.end(gone);
  for (const publish of running) admission.end(publish);
  await vi.advanceTimersByTimeAsync(10);
  expect(await Promise.all(outcomes)).toEqual(['busy', true]);
  expect(admission.running).toBe(1);
});

it('a publish that is refused after its body keeps no memory while its answer waits', async () => {
  const admission = new Admission();
  const running = Array.from({ length: 128 }, () => admission.receive('other', 200) as Publish);
  for (const publish of running) admission.received(publish, 200);
  const turns = createPublishTurns({ accounts: fakeServices({}).services.accounts }, admission, MIB);
  // Never closed: it waits behind another answer of its connection.
  const open = () => ({ locals: { account, waitedMs: 4000 }, on: vi.fn(), writeHead: vi.fn(), end: vi.fn() }) as never;
  const req = { headers: { 'content-length': String(40 * MIB) } } as never;
  const res = open();
  expect(turns.receive(req, res)).toBe(true);
  expect(await turns.bodyRead(res, 200)).toBe(false);
  // Two of these are more than an account may have.
  expect(turns.receive(req, open())).toBe(true);
});

it('what has waited too long is refused before anything is done for it, and the rest goes on', async () => {
  vi.useRealTimers();
  let write = () => {};
  const written = new Promise<void>((resolve) => {
    write = resolve;
  });
  const publishJob = async () => {
    await written;
    return { created: true, payloadDiffers: false, job: { id: ID, status: 'pending' as const, createdAt: CREATED_AT } };
  };
  const api = await testApi({ services: { jobs: { publish: publishJob } } });
  const publish = () => api.send('POST', '/v1/queues/mails/jobs', { body: '{"payload":{}}' });
  const refused = countedSince(counts.refusedPublishes, 'busy');
  const answers = Array.from({ length: 280 }, publish);
  const done = await Promise.race([Promise.any(answers), written]);
  expect(done).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1', 'cache-control': 'no-store' },
    json: { error: 'too many jobs are being published at the moment; nothing was stored, try again' },
  });
  write();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  const begun = api.calls.filter(({ method }) => method === 'jobs.publish').length;
  expect(statuses.filter((status) => status === 201)).toHaveLength(begun);
  expect(statuses.filter((status) => status === 503).length).toBe(280 - begun);
  expect(refused()).toBe(280 - begun);
  expect((await publish()).status).toBe(201);
});
