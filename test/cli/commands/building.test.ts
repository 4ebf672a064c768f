import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wordsAfter } from '../../../src/cli/commands/completion.ts';
import { COMMANDS } from '../../../src/cli/commands/index.ts';
import { stepsOf } from '../../../src/cli/commands/receiver.ts';
import { createGraphQLClient } from '../../support/graphql.ts';
import { openCommands } from '../../support/operator.ts';
import type { Receiver } from '../../support/receiver.ts';
import { openReceiver, type Service, startService } from '../../support/service.ts';
import { openServices } from '../../support/services.ts';
import { ID, UNKNOWN_ID } from '../../support/shapes.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The commands of people who build with Jobferry, through the API of a service. */

let service: Service;
let receiver: Receiver;
let folder: string;
let cli: ReturnType<typeof openCommands>;
let graphql: ReturnType<typeof createGraphQLClient>;

beforeAll(async () => {
  service = await startService();
  graphql = createGraphQLClient(service.jobferry.baseUrl, service.apiKey);
  receiver = await openReceiver((request) => ({ status: request.path === '/dead' ? 500 : 200 }));
  folder = await mkdtemp(join(tmpdir(), 'jobferry-commands-'));
  const variables = { JOBFERRY_URL: service.jobferry.baseUrl, JOBFERRY_API_KEY: service.apiKey };
  cli = openCommands(service.databaseUrl, { ...variables, SIGNING_SECRET: 'secret-of-the-laptop' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const newQueue = (name: string, path = '/', ...options: string[]) =>
  cli.json<{ id: string; signingSecret: string }>(
    ...['queue', 'create', name, '--url', `${receiver.url}${path}`, ...options],
  );
const publish = async (queue: string, ...options: string[]) =>
  (await cli.json<{ id: string }>('publish', queue, '--payload', '{"n":1}', ...options)).id;

describe('queue create, update and rotate', () => {
  it('take each setting of the contract', async () => {
    const created = await newQueue('mails', '/', '--mode', 'ack', '--ack-timeout', '2m', '--rate-limit-max', '10');
    expect(created).toMatchObject({
      id: ID,
      signingSecret: expect.stringMatching(/^whsec_/),
      mode: 'ack',
      ackTimeout: 120,
      rateLimitMax: 10,
    });
    const changed = [
      '--rate-limit-max',
      'none',
      '--dlq-enabled',
      'no',
      '--backoff-type',
      'fixed',
      '--max-attempts',
      '1',
    ];
    expect(await cli.json('queue', 'update', 'mails', ...changed)).toMatchObject({
      id: created.id,
      rateLimitMax: null,
      dlqEnabled: false,
      backoffType: 'fixed',
      maxAttempts: 1,
    });
    expect(await cli.text('queue', 'update', created.id, '--concurrency', '2')).toBe('Queue mails is changed.');
    await cli.run('queue', 'update', 'mails', '--standard-webhooks', 'yes', '--production', 'yes', '--tag', 'mail,eu');
    const copied = ['--copy-of', 'mails', '--concurrency', '1', '--tag', 'us'];
    expect(await cli.json('queue', 'create', 'copy', ...copied)).toMatchObject({
      name: 'copy',
      maxAttempts: 1,
      concurrency: 1,
      signingSecret: expect.stringMatching(/^whsec_/),
    });
    const tagged = ['queue', 'create', 'tagged', '--url', 'http://10.0.0.1/', '--mode', 'ack', '--tag', 'mail'];
    expect(await cli.json(...tagged)).toMatchObject({
      id: ID,
      name: 'tagged',
      mode: 'ack',
      signingSecret: expect.stringMatching(/^whsec_/),
      warning: expect.stringMatching(/^10\.0\.0\.1 is not a public address/),
    });
    expect(await cli.text('queue', 'show', 'tagged')).toMatch(/^tags +mail$/m);
    const shown = [await cli.text('queue', 'show', 'mails'), await cli.text('queue', 'show', 'copy')];
    expect(shown).toEqual([expect.stringMatching(/^tags +eu, mail$/m), expect.stringMatching(/^tags +us$/m)]);
    const switches = 'query Q($id: ID!) { queue(id: $id) { standardWebhooks production } }';
    expect((await graphql.query(switches, { id: created.id })).queue).toEqual({
      standardWebhooks: true,
      production: true,
    });
    await expect(cli.run('queue', 'update', 'mails', '--encrypt-payloads', 'yes')).rejects.toThrow(/ENCRYPTION_KEY/);
    expect(await cli.json('queue', 'rotate', 'mails', '--overlap', '12h')).toMatchObject({
      signingSecret: expect.stringMatching(/^whsec_/),
    });
    expect(await cli.text('queue', 'show', 'mails')).toMatch(
      /^Standard Webhooks +yes\nnext signing secret +takes over at 20/m,
    );
    expect(await cli.text('queue', 'rotate', 'mails', '--finish')).toMatch(/latest secret/);
  });

  it.each<[string[], RegExp]>([
    [['queue', 'update', 'mails'], /at least one setting/],
    ...['nonsense', '0', '2m,5m', '10,'].map((breaker): [string[], RegExp] => [
      ['queue', 'update', 'mails', '--breaker', breaker],
      /^--breaker must be a number of answers, a time, or both, such as 10, 2m or 10,2m; or no$/,
    ]),
    [['queue', 'update', 'mails', '--tag', 'eu,Mail'], /--tag must be 1 to 32 of .*“Mail” is not$/],
    [['queue', 'create', 'next'], /--url is missing, or --copy-of$/],
    [['queue', 'create', 'next', '--copy-of', 'mails', '--template', 'openai'], /--template or --copy-of, not both$/],
    [['queue', 'update', 'mial', '--concurrency', '2'], /queue mial does not exist$/],
    [['queue', 'update', 'mail', '--concurrency', '2'], /queue mail does not exist: did you mean mails\?/],
    [['queue', 'update', 'mails', '--concurrency', 'two'], /--concurrency must be a whole number$/],
    [['queue', 'update', 'mails', '--rate-limit-max', 'x'], /must be a whole number, or none$/],
    [['queue', 'update', 'mails', '--mode', 'fast'], /--mode must be standard or ack/],
    [['queue', 'update', 'mails', '--dlq-enabled', 'true'], /--dlq-enabled must be yes or no/],
    [['queue', 'update', 'mails', '--ack-timeout', 'soon'], /--ack-timeout must be a time such as/],
    [['queue', 'update', 'mails', '--max-attempts', '99'], /^--max-attempts must be 1 to 25$/],
    [['queue', 'update', 'mails', '--breaker', '5000'], /^--breaker: failures must be a whole number from 2 to 1000$/],
    [['queue', 'update', 'mails', '--breaker', '3601s'], /^--breaker: seconds must be a whole number from 1 to 3600$/],
    ...['500ms', '10, 1ms', '1.5s', '30000d'].map((breaker): [string[], RegExp] => [
      ['queue', 'update', 'mails', '--breaker', breaker],
      /^--breaker: seconds must be a whole number from 1 to 3600$/,
    ]),
    [['queue', 'update', 'mails', '--breaker', '99999999999'], /^--breaker: failures must be .* from 2 to 1000$/],
    [
      ['queue', 'limit', 'mails', '--concurrency', '9999999999'],
      /^--concurrency must be a whole number from 1 to 2147483647$/,
    ],
    [['queue', 'create', 'mails', '--url', 'http://127.0.0.1:9/'], /^NAME: .*already/],
    [['queue', 'create', 'Big', '--url', 'x', '--tag', 'a'], /^NAME must be 1 to 64 .*; --url must be an absolute/],
    [['queue', 'create', 'c', '--copy-of', 'mails', '--concurrency', '0'], /^--concurrency must be 1 to 500$/],
    [['queue', 'rotate', 'mails', '--overlap', '99d'], /^--overlap must be from 0 to 604800 seconds$/],
    [['queue', 'replay', 'mails', '--rate', '999999'], /^--rate must be a whole number from 1 to 100000$/],
    [['publish', 'mails', '--payload', '{}', '--key', 'k'.repeat(300)], /^--key must have 1 to 255 characters$/],
    [['queue', 'rotate', 'mails', '--finish', '--overlap', '1h'], /not both/],
  ])('%j is refused', async (argv, said) => {
    await expect(cli.run(...argv)).rejects.toThrow(said);
  });
});

describe('publish', () => {
  it('sends the payload byte for byte, and waits for the outcome', async () => {
    await newQueue('bytes');
    const text = '{"n":9007199254740993, "n":1e400}';
    const { json, text: said } = await cli.run('publish', 'bytes', '--payload', text, '--key', 'k', '--wait');
    const { id } = json as { id: string };
    expect(said).toBe(`${id} is completed`);
    expect(receiver.requests.map(({ raw }) => String(raw)).find((raw) => raw.includes(id))).toContain(text);
    const other = await cli.run('publish', 'bytes', '--payload', '{"n":1}', '--key', 'k');
    expect([other.json, other.isFailure]).toEqual([{ id, created: false, payloadDiffers: true }, true]);
    const again = await cli.run('publish', 'bytes', '--payload', text, '--key', 'k');
    expect([again.json, again.isFailure]).toEqual([{ id, created: false, payloadDiffers: false }, false]);
  });

  it('ends with 1 for a job that died', async () => {
    await newQueue('dying', '/dead', '--max-attempts', '1');
    const { text, isFailure } = await cli.run('publish', 'dying', '--payload', '{}', '--wait');
    expect([text, isFailure]).toEqual([expect.stringMatching(/ is dead: HTTP 500$/), true]);
  });

  it('says what to do about an address that is not allowed, as job show does', async () => {
    await cli.run('queue', 'create', 'inside', '--url', 'http://10.0.0.1/', '--max-attempts', '1');
    const { text, json } = await cli.run('publish', 'inside', '--payload', '{}', '--wait');
    expect(text).toMatch(/ is dead: address_not_allowed\. The address .* WEBHOOK_ALLOW_CIDRS\.$/);
    const shown = await cli.text('job', 'show', (json as { id: string }).id);
    expect(shown).toMatch(/^what to do +The address .* WEBHOOK_ALLOW_CIDRS\.$/m);
  });

  it.each<[string[], RegExp]>([
    [['publish', 'bytes', '--payload', '{'], /the payload is not JSON: it ends too early/],
    [['publish', 'bytes', '--payload', '[]'], /must be a JSON object/],
    [['publish', 'bytes', '--payload', '{}', '--delay', 'x'], /--delay must be a time/],
    [['publish', 'none', '--payload', '{}'], /^queue none does not exist$/],
    [['publish', 'byts', '--payload', '{}'], /^queue byts does not exist: did you mean bytes\?$/],
    [['publish', 'bytes', '--payload', '@file'], /< FILE$/],
    [['publish', 'bytes', '--payload', '{}', '--key', ''], /^--key must have 1 to 255 characters$/],
    [['publish', 'bytes', '--lines', '--payload', '{}'], /--lines takes no --payload/],
    [['publish', 'bytes', '--key-path', 'id'], /--key-path needs --lines/],
    [['publish', 'bytes', '--lines', '--key-path', 'items.*.id'], /--key-path must lead to one value/],
    [
      ['publish', 'bytes', '--lines', '--key-path', 'items..id'],
      /^--key-path: the payload path items\.\.id has an empty/,
    ],
  ])('%j is refused', async (argv, said) => {
    await expect(cli.run(...argv)).rejects.toThrow(said);
  });
});

describe('job replay, cancel and run', () => {
  it('do what the dashboard does', async () => {
    await newQueue('verbs', '/dead', '--max-attempts', '1');
    const late = await publish('verbs', '--delay', '1h');
    expect(await cli.text('job', 'run', late)).toBe(`Job ${late} is due now.`);
    await waitFor(async () => ((await cli.text('job', 'show', late)).includes('dead') ? true : null));
    const { id, replayOf } = await cli.json<{ id: string; replayOf: string }>('job', 'replay', late);
    expect([id, replayOf]).toEqual([ID, late]);
    await expect(cli.run('job', 'replay', late)).rejects.toThrow(/already/);
    // The receiver refuses the replay, too.
    const outcome = new RegExp(`replayed +\\S+Z, as job ${id}: dead at \\S+Z`);
    await waitFor(async () => (outcome.test(await cli.text('job', 'show', late)) ? true : null));

    const other = await publish('verbs', '--delay', '1h');
    expect(await cli.text('job', 'cancel', other)).toBe(`Job ${other} is cancelled.`);
    await expect(cli.run('job', 'cancel', other)).rejects.toThrow(/dead/);
    await expect(cli.run('job', 'replay', other)).rejects.toThrow(/has no dead letter/);
    await expect(cli.run('job', 'replay', UNKNOWN_ID)).rejects.toThrow(/does not exist/);
    await expect(cli.run('job', 'cancel', 'x')).rejects.toThrow(/24 hexadecimal digits/);
  });
});

describe('reports of a worker that is a script', () => {
  it('ack, nack, defer and extend', async () => {
    await newQueue('scripts', '/', '--mode', 'ack', '--max-attempts', '1', '--concurrency', '10');
    const awaiting = async () => {
      const id = await publish('scripts');
      await waitFor(async () => ((await cli.text('job', 'show', id)).includes('awaiting_ack') ? true : null));
      return id;
    };
    const [one, two, three] = [await awaiting(), await awaiting(), await awaiting()];
    expect(await cli.json('job', 'extend', one, '--by', '10m', '--progress', 'half')).toMatchObject({ id: one });
    expect(await cli.text('job', 'show', one)).toMatch(/^progress +half$/m);
    expect(await cli.text('job', 'ack', one, '--attempt', '1')).toBe(`Job ${one} is completed.`);
    expect(await cli.text('job', 'nack', two, '--final', '--reason', 'no such picture')).toBe(`Job ${two} is dead.`);
    expect(await cli.text('job', 'show', two)).toMatch(/nacked \(.*no such picture\)/);
    expect(await cli.text('job', 'defer', three, '--for', '1h', '--job-only')).toBe(`Job ${three} is pending.`);
    await expect(cli.run('job', 'ack', one)).rejects.toThrow(/awaiting/);
    const long = cli.run('job', 'nack', one, '--reason', 'x'.repeat(2000));
    await expect(long).rejects.toThrow(/^--reason must have at most 1000 characters$/);
    await expect(cli.run('job', 'ack', three, '--attempt', 'x')).rejects.toThrow(/--attempt must be/);
    await cli.run('job', 'cancel', three);
  });
});

describe('what operators do with the database, people with a key do through the API', () => {
  it('list, show, check, pause, resume, end a hold, purge, replay and delete', async () => {
    const { id } = await newQueue('through', '/dead', '--max-attempts', '1');
    expect(await cli.json('queue', 'list', '--name', 'throu')).toMatchObject([{ id, name: 'through' }]);
    const all = await cli.json<{ id: string }[]>('queue', 'list');
    const [first] = all;
    const rest = await cli.json<{ id: string }[]>('queue', 'list', '--after', first?.id ?? '', '--limit', '2');
    expect(rest.map((queue) => queue.id)).toEqual(all.slice(1, 3).map((queue) => queue.id));

    expect(await cli.text('queue', 'pause', 'through')).toBe('Queue through is paused. Running deliveries continue.');
    expect(await cli.text('queue', 'show', 'through')).toMatch(/^state +paused$/m);
    const purged = await publish('through', '--key', 'k');
    expect(await cli.text('queue', 'purge', 'through', '--dry-run')).toBe('1 job would be cancelled.');
    expect(await cli.text('queue', 'purge', 'through')).toBe('1 job cancelled.');
    expect(await cli.text('job', 'show', '--queue', 'through', '--key', 'k')).toMatch(
      new RegExp(`^id +${purged}$`, 'm'),
    );
    await expect(cli.run('job', 'show', '--queue', 'through', '--key', 'x')).rejects.toThrow(
      /has no job with the key x/,
    );

    expect(await cli.text('queue', 'release-hold', id)).toBe(
      'Queue through is not held, or its next probe was already due.',
    );
    expect(await cli.json('queue', 'resume', id)).toEqual({ id, changed: true });
    await newQueue('beside');
    expect(await cli.text('queue', 'pause', ' through, beside ,')).toBe(
      'Queue through is paused. Running deliveries continue.\nQueue beside is paused. Running deliveries continue.',
    );
    expect(await cli.text('queue', 'resume', 'through , beside')).toMatch(
      /^Queue through is resumed\.\nQueue beside is/,
    );
    await expect(cli.run('queue', 'pause', ' , ')).rejects.toThrow(/^the id or the name of the queue is missing/);
    expect(await cli.text('queue', 'resume', id)).toBe('Queue through is not paused.');
    await expect(cli.run('queue', 'list', '--after', UNKNOWN_ID)).rejects.toThrow(/this queue does not exist/);
    const { host } = new URL(receiver.url);
    const { queues } = await cli.json<{ queues: { id: string }[] }>('queue', 'release-hold', '--receiver', host);
    expect(queues.map((queue) => queue.id)).toContain(id);
    await expect(cli.run('queue', 'pause', '--receiver', 'nowhere')).rejects.toThrow(/^no queue delivers to nowhere/);
    const limit = ['queue', 'limit', 'through', '--concurrency', '3', '--rate-limit-max', '9'];
    expect(await cli.text(...limit, '--dry-run')).toBe('Queue through would be limited.');
    expect(await cli.json(...limit)).toEqual({ id, changed: true });
    expect(await cli.text('queue', 'limit', `through,${first?.id}`, '--rate-limit-max', 'none')).toMatch(
      /^Queue through is limited.\nQueue \S+ already has these limits.$/,
    );
    await expect(cli.run('queue', 'limit', 'through')).rejects.toThrow('give at least one limit');
    const { json } = await cli.run('publish', 'through', '--payload', '{}', '--wait');
    const dead = (json as { id: string }).id;
    expect(await cli.json('job', 'list', '--queue', 'through', '--status', 'dead')).toMatchObject([
      ...[{ id: dead, status: 'dead', attempts: 1 }, { id: purged }],
    ]);
    expect(await cli.text('job', 'list', '--queue', 'through', '--status', 'processing')).toMatch(
      /has no jobs that are/,
    );
    const check = await cli.run('queue', 'check', 'through');
    expect([check.isFailure, check.text]).toEqual([true, expect.stringMatching(/^Receiver of through: http/)]);

    expect(await cli.text('queue', 'replay', 'through', '--dry-run')).toBe('1 job would be replayed.');
    expect(await cli.text('queue', 'replay', 'through', '--rate', '10')).toBe('1 job replayed.');
    await expect(cli.run('queue', 'delete', 'through', '--confirm', 'x')).rejects.toThrow(/--confirm must be the name/);
    expect(await cli.text('queue', 'delete', 'through', '--confirm', 'through')).toBe('Queue through is deleted.');
    await expect(cli.run('queue', 'list', '--account', UNKNOWN_ID)).rejects.toThrow(/--account cannot be used with/);
  });
});

it('the state of a queue is the same with the database and through the API', async () => {
  const { id } = await newQueue('states');
  const database = openCommands(service.databaseUrl);
  const { db } = openServices(service.databaseUrl);
  const states = async (changes: string) => {
    await db.query(`update queue set ${changes} where id = $1`, [id]);
    const listed = await Promise.all([cli, database].map((one) => one.text('queue', 'list', '--name', 'states')));
    const shown = await Promise.all([cli, database].map((one) => one.text('queue', 'show', id)));
    const found = shown.map((text) => /^state +(.*)$/m.exec(text)?.[1] ?? '');
    expect(new Set(found).size, found.join('; ')).toBe(1);
    const [state = ''] = found;
    for (const text of listed) expect(text).toContain(state);
    return state;
  };
  expect(await states('hold_until = null')).toBe('running');
  expect(await states(`hold_until = '2100-01-01T00:00:00Z'`)).toBe('held until 2100-01-01 00:00:00.000Z');
  expect(await states('breaker_opened_at = now()')).toBe('breaker open');
  expect(await states(`hold_until = now() - interval '1 s'`)).toBe('breaker open');
  expect(await states(`breaker_opened_at = null, probe_job_id = 'gone'`)).toMatch(/^held until a job has probed/);
  expect(await states(`paused_at = now(), paused_by = 'ann'`)).toBe('paused');
});

describe('send and pull', () => {
  it('send a delivery of a text, or of a job, with the secret of this machine', async () => {
    const { json } = await cli.run('send', receiver.url, '--payload', '{"to":"ada"}', '--attempt', '2');
    expect(json).toMatchObject({ status: 200 });
    const sent = receiver.requests.at(-1);
    expect(JSON.parse(String(sent?.raw))).toMatchObject({ queue: 'test', payload: { to: 'ada' }, attempt: 2 });
    expect(sent?.headers['x-service-signature']).toMatch(/^sha256=/);

    await newQueue('pulled');
    const id = await publish('pulled', '--delay', '1h');
    const pulled = await cli.run('pull', id, '--forward', `${receiver.url}/dead`);
    expect([pulled.text, pulled.isFailure]).toEqual([expect.stringMatching(/^500 in \d+ ms/), true]);
    const raw = String(receiver.requests.at(-1)?.raw);
    expect(JSON.parse(raw)).toMatchObject({ id, queue: 'pulled', payload: { n: 1 }, attempt: 1 });
  });

  it.each<[string[], RegExp]>([
    [['send', 'nowhere', '--payload', '{}'], /URL must be a URL such as/],
    [['send', 'http://127.0.0.1:9/', '--payload', '{}'], /no answer from http:\/\/127\.0\.0\.1:9\/: /],
    [['send', 'http://127.0.0.1:9/', '--payload', '{}', '--attempt', '0'], /--attempt must be/],
    [['send', 'http://127.0.0.1:9/', '--payload', '{}', '--id', 'x'], /--id must have/],
    [['pull', UNKNOWN_ID, '--forward', 'http://127.0.0.1:9/'], /does not exist/],
    [['pull', 'x', '--forward', 'http://127.0.0.1:9/'], /JOB must be the id/],
    [['listen', 'mails', '--tap'], /^--forward is missing\n/],
  ])('%j is refused', async (argv, said) => {
    await expect(cli.run(...argv)).rejects.toThrow(said);
  });
});

describe('apply', () => {
  const fileOf = async (text: string) => {
    const path = join(folder, 'queues.json');
    await writeFile(path, text);
    return path;
  };
  const queueOf = (name: string, settings: object = {}) => ({ name, webhookUrl: `${receiver.url}/`, ...settings });

  it('creates and changes queues, and the second time nothing', async () => {
    const path = await fileOf(
      JSON.stringify({
        queues: [
          queueOf('one', { concurrency: 3, mode: 'ack', tags: ['mail', 'eu'] }),
          queueOf('two', { backoffType: 'fixed', signingSecret: 'a-secret-of-thirty-two-characters' }),
        ],
      }),
    );
    expect(await cli.text('apply', path, '--dry-run')).toBe('one: to be created\ntwo: to be created');
    expect(await cli.json('queue', 'list', '--name', 'one')).toEqual([]);
    const { json } = await cli.run('apply', path);
    const { secrets } = json as { secrets: Record<string, string> };
    // A secret of the environment is not printed.
    expect(secrets).toEqual({ one: expect.stringMatching(/^whsec_/) });
    expect(await cli.text('apply', path)).toBe('one: no change\ntwo: no change');

    const settings = { concurrency: 4, mode: 'ack', tags: ['us'] };
    const changed = await fileOf(JSON.stringify({ queues: [queueOf('one', settings)] }));
    const said = 'concurrency 3 → 4, tags ["eu","mail"] → ["us"]';
    expect(await cli.text('apply', changed, '--dry-run')).toBe(`one: to be changed: ${said}`);
    expect(await cli.text('apply', changed)).toBe(`one: changed: ${said}`);
    expect(await cli.text('apply', changed)).toBe('one: no change');
    expect(await cli.json('queue', 'show', 'two')).toMatchObject({ queue: { backoffType: 'FIXED' } });
  });

  it('warns of an address that deliveries may not reach', async () => {
    const inside = { name: 'private', webhookUrl: 'http://10.0.0.1/' };
    const path = await fileOf(JSON.stringify({ queues: [inside, queueOf('reachable')] }));
    const { text, json } = await cli.run('apply', path);
    expect(text).toMatch(
      /^private: created\n.*\n {2}warning: 10\.0\.0\.1 is not a public address.*\nreachable: created\n.*$/,
    );
    expect(json).toMatchObject({ warnings: { private: expect.stringMatching(/WEBHOOK_ALLOW_CIDRS$/) } });
    const changed = await fileOf(JSON.stringify({ queues: [{ ...inside, concurrency: 2 }] }));
    expect(await cli.text('apply', changed)).toMatch(
      /^private: changed: concurrency 5 → 2\n {2}warning: 10\.0\.0\.1 is/,
    );
    expect(await cli.text('queue', 'update', 'private', '--concurrency', '3')).toMatch(/^warning: 10\.0\.0\.1 is/m);
  });

  it('says of each queue once that it was created, when two processes apply a file', async () => {
    const names = Array.from({ length: 8 }, (_, n) => `raced-${n}`);
    const path = await fileOf(JSON.stringify({ queues: names.map((name) => queueOf(name)) }));
    const runs = await Promise.all([cli.run('apply', path), cli.run('apply', path)]);
    const texts = runs.map(({ text }) => text).join('\n');
    expect(texts.match(/: created\n {2}signing secret, shown once: whsec_/g)).toHaveLength(names.length);
    expect(texts.match(/: (?:was created meanwhile, by another process|no change)$/gm)).toHaveLength(names.length);
    const secrets = runs.flatMap(({ json }) => Object.keys((json as { secrets: object }).secrets));
    expect(secrets.sort()).toEqual(names);
  });

  it('shows the names of variables, not their values, and refuses without the name of a function', async () => {
    await newQueue('varied');
    const other = openCommands(service.databaseUrl, {
      JOBFERRY_URL: service.jobferry.baseUrl,
      JOBFERRY_API_KEY: service.apiKey,
      CI_TOKEN: 'token-of-ci',
    });
    const path = await fileOf(`{"queues":[{"name":"varied","webhookUrl":"http://127.0.0.1:1/\${CI_TOKEN}"}]}`);
    for (const args of [['--dry-run'], []]) {
      const { text, json } = await other.run('apply', path, ...args);
      expect(text).toContain(`→ http://127.0.0.1:1/\${CI_TOKEN}`);
      expect(JSON.stringify([text, json])).not.toContain('token-of-ci');
    }
    const key = await fileOf(`{"queues":[{"name":"varied","webhookUrl":"http://127.0.0.1:1/\${JOBFERRY_API_KEY}"}]}`);
    await expect(other.run('apply', key)).rejects.toThrow('JOBFERRY_API_KEY is a secret of Jobferry itself');
    const huge = await fileOf(JSON.stringify({ queues: [queueOf('huge', { template: 'none' })] }));
    await expect(cli.run('apply', huge)).rejects.toThrow(/^queue huge: template: must be one of/);
  });

  it('says what is done when it is interrupted, and goes on the next time', async () => {
    const broken = await fileOf(
      JSON.stringify({ queues: [queueOf('first'), queueOf('second', { template: 'none' })] }),
    );
    await expect(cli.run('apply', broken)).rejects.toThrow(
      /^queue second: .*template: must be one of[\s\S]*first: created/,
    );
    const corrected = await fileOf(JSON.stringify({ queues: [queueOf('first'), queueOf('second')] }));
    expect(await cli.text('apply', corrected)).toMatch(/^first: no change\nsecond: created/);
  });

  it('takes no file with a mistake, and none that is not there', async () => {
    const path = await fileOf(`{"queues":[\n${JSON.stringify(queueOf('fine'))},\n{"name":"bad","webhookUrl":"x"}]}`);
    await expect(cli.run('apply', path)).rejects.toThrow(`${path}:3: webhookUrl: must be`);
    const weak = await fileOf(
      JSON.stringify({ queues: [queueOf('fine'), queueOf('weak', { signingSecret: 'short' })] }),
    );
    await expect(cli.run('apply', weak)).rejects.toThrow(`${weak}:1: signingSecret: must be 24 to 128 printable`);
    expect(await cli.json('queue', 'list', '--name', 'fine')).toEqual([]);
    await expect(cli.run('apply', '/nowhere')).rejects.toThrow('/nowhere cannot be read: there is no such file');
  });
});

describe('the API of a command', () => {
  it.each<[Record<string, string>, RegExp]>([
    [
      { JOBFERRY_URL: 'http://127.0.0.1:9', JOBFERRY_API_KEY: 'k' },
      /^no Jobferry answers at http:\/\/127\.0\.0\.1:9: fetch failed \(/,
    ],
    [{ JOBFERRY_URL: 'http://127.0.0.1:9' }, /set both JOBFERRY_URL and JOBFERRY_API_KEY/],
    [{ JOBFERRY_URL: 'jobs', JOBFERRY_API_KEY: 'k' }, /JOBFERRY_URL must be a URL/],
    [{ JOBFERRY_URL: 'http://127.0.0.1:9/v1/', JOBFERRY_API_KEY: 'k' }, /JOBFERRY_URL must be given without \/v1/],
    [{ DATA_DIR: '/nowhere' }, /no Jobferry runs in this folder/],
  ])('a command says why it has no API with %j', async (variables, said) => {
    const other = openCommands(service.databaseUrl, variables);
    await expect(other.run('job', 'cancel', UNKNOWN_ID)).rejects.toThrow(said);
  });

  it('a command says of an address without TLS what to write', async () => {
    const url = service.jobferry.baseUrl.replace('http:', 'https:');
    const other = openCommands(service.databaseUrl, { JOBFERRY_URL: url, JOBFERRY_API_KEY: 'k' });
    await expect(other.run('job', 'cancel', UNKNOWN_ID)).rejects.toThrow(/: it does not speak TLS: try http:\/\//);
  });
});

describe('the script of a receiver', () => {
  it('is a list of steps', () => {
    expect(stepsOf('500,429:5, slow:20s,200')).toEqual([
      { status: 500, waitMs: 0, retryAfter: null },
      { status: 429, waitMs: 0, retryAfter: 5 },
      { status: 200, waitMs: 20_000, retryAfter: null },
      { status: 200, waitMs: 0, retryAfter: null },
    ]);
    for (const wrong of ['', '199', 'slow', 'slow:x', '200,,']) expect(() => stepsOf(wrong)).toThrow(/--script/);
  });
});

describe('tab completion', () => {
  it('has the words of each command', () => {
    const words = wordsAfter(COMMANDS);
    expect(words.get('')).toEqual(expect.arrayContaining(['dev', 'queue', 'publish', 'completion']));
    expect(words.get('queue')).toEqual(expect.arrayContaining(['create', 'list', 'rotate']));
    expect(words.get('queue create')).toEqual(expect.arrayContaining(['--url', '--max-attempts', '--json', '--help']));
  });
});
