import { beforeAll, describe, expect, it } from 'vitest';
import { receiverOf as receiverInSql } from '../../src/db/queues/receivers.ts';
import type { Account } from '../../src/domain/account.ts';
import { asReceiver, otherPorts, receiverOf } from '../../src/domain/receiver-host.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';

let op: TestServices;
let account: Account;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('first', 'pro'), ('second', 'pro')`);
  account = await op.firstAccount();
});

const create = (name: string, webhookUrl: string) => op.queues.create(account, { name, webhookUrl });

describe('the receiver of a webhook', () => {
  it.each([
    ['https://API.Partner.com/jobs?host=x.com#@y.com', 'api.partner.com'],
    ['https://api.partner.com:443/', 'api.partner.com'],
    ['http://api.partner.com:443/', 'api.partner.com:443'],
    ['http://127.1:8080/a/b:99', '127.0.0.1:8080'],
    ['https://[2001:DB8::1]:8443', '[2001:db8::1]:8443'],
    ['https://user:p%40ss@api.partner.com/', 'api.partner.com'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
    ['https://a.example?query', 'a.example'],
  ])('a webhook at %s has the receiver %s, in SQL, too', async (webhookUrl, host) => {
    expect(receiverOf(webhookUrl)).toBe(host);
    expect(asReceiver(` ${host.toUpperCase()} `)).toBe(receiverOf(webhookUrl));
    const row = await op.db.one(`select ${receiverInSql('$1::text')} as host`, [new URL(webhookUrl).href]);
    expect(row).toEqual({ host });
  });

  it.each([
    ['bücher.example', 'xn--bcher-kva.example'],
    [' BÜCHER.example:8443 ', 'xn--bcher-kva.example:8443'],
    ['https://Api.partner.com:443/jobs', 'api.partner.com'],
    ['http://127.0.0.1:80', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['api.partner.com:443', 'api.partner.com:443'],
    ['api.partner.com:80', 'api.partner.com:80'],
    ['[2001:DB8::1]:8443', '[2001:db8::1]:8443'],
    ['a.example/path', 'a.example/path'],
    ['user@a.example', 'user@a.example'],
    ['%', '%'],
    ['', ''],
    // It is longer than any host, so it is not parsed, which takes long for letters of other alphabets.
    [`Ü.${'a.'.repeat(200)}example`, `ü.${'a.'.repeat(200)}example`],
  ])('typed as %j is stored as %s', (typed, stored) => {
    expect(asReceiver(typed)).toBe(stored);
  });

  it('has other ports, which an error can name', () => {
    const urls = [
      'https://a.example:1/',
      'https://a.example/',
      'https://b.example/',
      'https://a.example:1/x',
      'no URL',
    ];
    expect(otherPorts(urls, 'A.example')).toEqual(['a.example:1']);
    expect(otherPorts(urls, 'a.example:2')).toEqual(['a.example', 'a.example:1']);
    expect(otherPorts(urls, '%')).toEqual([]);
  });
});

describe('receivers', () => {
  it('have their live queues, how they answered, and when', async () => {
    const [good, bad, gone] = [
      await create('good', 'https://one.example/a'),
      await create('bad', 'https://one.example/b'),
      await create('gone', 'https://one.example/c'),
    ];
    await create('other', 'https://one.example:8443/');
    await op.queues.delete(account, gone.id);
    await op.queues.pause(account, bad.id);
    await op.db.query(
      `insert into queue_stats (queue_id, bucket, success, failed, answered_2xx, answered_5xx)
       values ($1, jobferry_bucket(jobferry_now() - interval '10 min'), 5, 0, 5, 0),
              ($2, jobferry_bucket(jobferry_now() - interval '20 min'), 0, 12, 0, 12),
              ($2, jobferry_bucket(jobferry_now() - interval '3 h'), 7, 0, 7, 0)`,
      [good.id, bad.id],
    );
    const receivers = await op.receivers.list(account);
    expect(receivers.map(({ host, queues }) => [host, queues.map(({ name }) => name)])).toEqual([
      ['one.example', ['good', 'bad']],
      ['one.example:8443', ['other']],
    ]);
    const healths = await op.receivers.healths(account, receivers);
    const one = healths.get('one.example');
    expect(one).toMatchObject({ attempts: 17, failed: 12, answered2xx: 5, answered5xx: 12, failing: 1 });
    const minutesAgo = (at: Date | null | undefined) => (Date.now() - (at?.getTime() ?? 0)) / 60_000;
    expect(minutesAgo(one?.acceptedAt)).toBeLessThan(16);
    expect(minutesAgo(one?.refusedAt)).toBeGreaterThan(19);
    expect(healths.get('one.example:8443')).toMatchObject({
      attempts: 0,
      failing: 0,
      acceptedAt: null,
      refusedAt: null,
    });
  });

  it('fail while all their answers are failed probes of an open breaker', async () => {
    const broken = await create('broken', 'https://broken.example/');
    await op.db.query(
      `insert into queue_stats (queue_id, bucket, failed, deferred, unanswered)
       values ($1, jobferry_bucket(jobferry_now() - interval '10 min'), 3, 8, 11)`,
      [broken.id],
    );
    const own = (await op.receivers.list(account)).filter(({ host }) => host === 'broken.example');
    const health = (await op.receivers.healths(account, own)).get('broken.example');
    expect(health).toMatchObject({ attempts: 11, failed: 11, deferred: 0, refused: 11, failing: 1 });
  });

  it('do not fail by reports of workers that never came', async () => {
    const acked = await create('acked', 'https://acked.example/');
    await op.db.query(
      `insert into queue_stats (queue_id, bucket, failed, answered_2xx)
       values ($1, jobferry_bucket(jobferry_now() - interval '10 min'), 12, 12)`,
      [acked.id],
    );
    const own = (await op.receivers.list(account)).filter(({ host }) => host === 'acked.example');
    const health = (await op.receivers.healths(account, own)).get('acked.example');
    expect(health).toMatchObject({ attempts: 12, failed: 12, refused: 0, failing: 0, lastFailure: null });
  });

  it('have no last 2xx answer of queues in ack mode, whose answers are counted when the worker reports', async () => {
    await op.queues.create(account, { name: 'late', webhookUrl: 'https://late.example/', mode: 'ack' });
    await op.db.query(
      `insert into queue_stats (queue_id, bucket, success, answered_2xx, answered_5xx)
       select id, jobferry_bucket(jobferry_now()), 1, 1, 1 from queue where name = 'late'`,
    );
    const own = (await op.receivers.list(account)).filter(({ host }) => host === 'late.example');
    const health = (await op.receivers.healths(account, own)).get('late.example');
    expect(health).toMatchObject({ answered2xx: 1, acceptedAt: null, refusedAt: expect.any(Date) });
  });

  it('are a condition on jobs and dead letters', async () => {
    await create('mails', 'https://mail.example/');
    await create('books', new URL('https://bücher.example/').href);
    await op.jobs.publish(account, 'books', { payload: '{}', delay: 60 });
    await op.jobs.publish(account, 'mails', { payload: '{}', delay: 60 });
    await op.jobs.publish(account, 'other', { payload: '{}', delay: 60 });
    const count = async (...receivers: string[]) => (await op.jobs.count(account, { receivers }, 100)).count;
    expect([
      await count('mail.example'),
      await count('nowhere'),
      await count('bücher.example'),
      await count('Mail.example', 'one.example:8443'),
    ]).toEqual([1, 0, 1, 2]);
    expect((await op.deadLetters.count(account, { receivers: ['mail.example'] }, 100)).count).toBe(0);
  });
});
