import { beforeAll, describe, expect, it } from 'vitest';
import { runJobferry } from '../../support/command.ts';
import { createGraphQLClient } from '../../support/graphql.ts';
import { openCommands } from '../../support/operator.ts';
import { openReceiver, type Service, startService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

/** `job list` with a filter, and as a file. The form of files is in test/query/export.test.ts. */

const PAYLOAD = '{\n "big": 900719925474099312345, "customer": {"id": 42}, "text": "=cmd|x \\u0000"}';

let service: Service;
let cli: ReturnType<typeof openCommands>;

beforeAll(async () => {
  service = await startService();
  cli = commandsOf(service.apiKey);
  const receiver = await openReceiver((request) => ({ status: request.path === '/bad' ? 500 : 200 }));
  for (const [name, path] of [
    ['good', '/'],
    ['bad', '/bad'],
  ] as const) {
    await cli.run('queue', 'create', name, '--url', `${receiver.url}${path}`, '--max-attempts', '1');
    await cli.run('publish', name, '--payload', PAYLOAD);
    await cli.run(
      'publish',
      name,
      '--payload',
      '{"customer":{"id":7,"name":"Ada Lovelace"},"ref":"urn:order:7"}',
      '--key',
      '=1+1',
    );
  }
  await waitFor(async () => (await lines('--format', 'ndjson', '--filter', 'failed')).length === 4);
});

const variablesOf = (key: string) => ({ JOBFERRY_URL: service.jobferry.baseUrl, JOBFERRY_API_KEY: key });
const commandsOf = (key: string) => openCommands(service.databaseUrl, variablesOf(key));

async function fileAndNotes(...argv: string[]) {
  const { stream, notes } = await cli.run('job', 'list', ...argv);
  let text = '';
  for await (const piece of stream ?? []) text += piece;
  return { text, notes };
}
const file = async (...argv: string[]) => (await fileAndNotes(...argv)).text;
const lines = async (...argv: string[]) => (await file(...argv)).trimEnd().split('\n');
const rows = async (...argv: string[]) =>
  (await lines('--format', 'ndjson', ...argv)).slice(1, -1).map((line) => JSON.parse(line) as Record<string, unknown>);

describe('job list --format', () => {
  it('has the jobs of the filter, with the filter in its head', async () => {
    const filter = ['--filter', 'payload.customer.id:42', '--queue', 'bad', '--status', 'dead'];
    const [head = '', row = '', end] = await lines('--format', 'ndjson', '--payload', ...filter);
    expect(JSON.parse(head)).toMatchObject({
      export: 'jobs',
      filter: 'payload.customer.id:42 queue:bad state:dead',
      query: { filter: { queueNames: ['bad'], states: ['DEAD'], payload: { path: 'customer.id', value: 42 } } },
      payloads: true,
      matching: 1,
      matchingIsExact: true,
    });
    expect(JSON.parse(row)).toMatchObject({ queue: 'bad', state: 'DEAD', lastError: 'HTTP 500', attempts: 1 });
    // The digits of the payload are those that were published.
    expect(row.endsWith(`"payload":${PAYLOAD.replace('\n', ' ')}}`)).toBe(true);
    expect(end).toBe('{"end":"jobs","rows":1,"complete":true}');
  });

  it('has CSV, in which no cell is a formula', async () => {
    const text = await file('--format', 'csv', '--queue', 'good', '--payload');
    expect(text).toContain(",'=1+1,");
    expect(text).toContain(`"${PAYLOAD.replaceAll('"', '""')}"\r\n`);
    expect(text.endsWith('# end: jobs; rows: 2; complete: true\r\n')).toBe(true);
  });

  it('has dead letters, and words of people', async () => {
    expect(await rows('--dead')).toMatchObject([{ queue: 'bad' }, { queue: 'bad' }]);
    expect(await rows('--dead', '--queue', 'good')).toEqual([]);
    expect(await rows('--filter', 'today stuck')).toEqual([]);
    expect(await rows('--filter', 'failures last 2 hours')).toMatchObject([{ queue: 'bad' }, { queue: 'bad' }]);
    expect(await rows('--filter', 'created:>yesterday done')).toMatchObject([{ queue: 'good' }, { queue: 'good' }]);
    expect(await rows('--limit', '1')).toHaveLength(1);
  });

  it('refuses what it cannot do before it prints anything', async () => {
    const refused = (...argv: string[]) => expect(cli.run('job', 'list', ...argv)).rejects;
    await refused('--format', 'xml').toThrow('--format must be csv or ndjson');
    await refused('--format', 'csv', '--filter', 'stat:dead').toThrow(
      'There is no filter “stat”. Did you mean state:?',
    );
    await refused('--format', 'csv', '--queue', 'god').toThrow('did you mean good?');
    await refused('--format', 'csv', '--limit', '100001').toThrow('from 1 to 100000');
    await refused('--payload', '--queue', 'good').toThrow('need --format');
    await refused().toThrow('--queue or --filter is missing');
    const database = openCommands(service.databaseUrl);
    await expect(database.run('job', 'list', '--format', 'csv')).rejects.toThrow('need the API');
  });

  it('needs the right to read', async () => {
    const graphql = createGraphQLClient(service.jobferry.baseUrl, service.apiKey);
    const { createApiKey } = await graphql.query(
      'mutation { createApiKey(scopes: [PUBLISH]) { ... on CreateApiKeyPayload { key } } }',
    );
    await expect(commandsOf(createApiKey.key).run('job', 'list', '--format', 'csv')).rejects.toThrow('read');
  });
});

describe('job list --filter', () => {
  it('is a table with the queues', async () => {
    const { text, json } = await cli.run('job', 'list', '--filter', 'state:dead');
    expect(text).toMatch(/^ID +QUEUE +STATUS/);
    expect(json).toMatchObject([
      { status: 'dead', queue: { name: 'bad' } },
      { status: 'dead', queue: { name: 'bad' } },
    ]);
    expect(await cli.text('job', 'list', '--filter', 'state:held')).toBe('No job matches.');
  });

  it('says beside the output why nothing matches, as a table and as a file', async () => {
    const notesOf = async (...argv: string[]) => {
      const { text, notes } = await cli.run('job', 'list', ...argv);
      expect(text).toBe('No job matches.');
      return notes;
    };
    const nowhere = 'there is no queue god: did you mean good?';
    expect(await notesOf('--filter', 'queue:god')).toEqual([nowhere]);
    expect(await notesOf('--filter', 'queue:god', '--json')).toEqual([nowhere]);
    expect(await notesOf('--filter', 'tag:mail')).toEqual(['no queue has the tag mail']);
    expect(await notesOf('--filter', 'payload.costumer.id:42')).toEqual([
      'no recent payload has the path costumer.id: did you mean customer.id?',
    ]);
    expect(await notesOf('--filter', 'state:held')).toEqual([]);
    const printed = await runJobferry(['job', 'list', '--filter', 'queue:god', '--json'], variablesOf(service.apiKey));
    expect(printed).toMatchObject({ code: 0, stdout: '[]\n', stderr: `jobferry: ${nowhere}\n` });
    const exported = await fileAndNotes('--format', 'ndjson', '--filter', 'queue:god');
    expect(exported.notes).toEqual([nowhere]);
    expect(exported.text).not.toContain('did you mean');
    expect(exported.text.endsWith('{"end":"jobs","rows":0,"complete":true}\n')).toBe(true);
    expect((await fileAndNotes('--format', 'csv', '--filter', 'state:dead')).notes).toEqual([]);
    const dead = await fileAndNotes('--format', 'csv', '--dead', '--filter', 'receiver:nowhere.example');
    expect(dead.notes).toEqual(['no queue delivers to nowhere.example']);
  });

  it('looks up queues and paths for words of people, as the box does, and says what it understood', async () => {
    const of42 = 'payload.customer.id:42,"42"';
    const listed = async (filter: string, ...more: string[]) => {
      const { json, notes } = await cli.run('job', 'list', '--filter', filter, ...more);
      return { queues: (json as { queue: { name: string } }[]).map(({ queue }) => queue.name).sort(), notes };
    };
    expect(await listed('customer 42')).toEqual({ queues: ['bad', 'good'], notes: [`understood as ${of42}`] });
    expect(await listed('failed customer 42')).toEqual({
      queues: ['bad'],
      notes: [`understood as state:dead,retrying ${of42}`],
    });
    expect(await listed('done good')).toEqual({
      queues: ['good', 'good'],
      notes: ['understood as state:completed queue:good'],
    });
    expect(await listed('customer 42 state:completed', '--queue', 'good')).toEqual({
      queues: ['good'],
      notes: [`understood as ${of42} state:completed queue:good`],
    });
    // A value of several words, or with a colon, is taken for one where some job has it.
    const named = await listed('failed Ada Lovelace');
    expect(named.notes).toEqual(['understood as state:dead,retrying payload.customer.name:"Ada Lovelace"']);
    expect(named.queues).toEqual(['bad']);
    expect((await listed('urn:order:7')).notes).toEqual(['understood as payload.ref:urn:order:7']);
    // The word before a value need not be a path, and a label such as `id` is left out.
    const { notes, ...byId } = await listed('customer id 42 state:completed', '--queue', 'good');
    expect([byId.queues, notes]).toEqual([['good'], [`understood as ${of42} state:completed queue:good`]]);
    expect((await listed('failed orders of user 42')).notes).toEqual([`understood as state:dead,retrying ${of42}`]);
    await expect(listed('Ada Byron')).rejects.toThrow(/“Ada” is not a condition/);
    expect(await listed('state:dead')).toEqual({ queues: ['bad', 'bad'], notes: [] });
    const exported = await fileAndNotes('--format', 'ndjson', '--dead', '--filter', 'bad customer 42');
    const [head = '', ...others] = exported.text.trimEnd().split('\n');
    expect([JSON.parse(head).filter, others.length, exported.notes]).toEqual([`queue:bad ${of42}`, 2, []]);
  });

  it('refuses words that are not understood, with the way to say them', async () => {
    const advice = ' A queue is queue:NAME, a value of a payload is payload.PATH:VALUE.';
    for (const filter of ['failed lamp', 'stuck god', 'colour red', 'customer'])
      await expect(cli.run('job', 'list', '--filter', filter)).rejects.toThrow(advice);
    await expect(cli.run('job', 'list', '--filter', 'stuck god')).rejects.toThrow(
      `--filter: god: “god” is not a condition. Write one such as error:timeout.${advice}`,
    );
    await expect(cli.run('job', 'list', '--filter=-state:dead')).rejects.toThrow(/cannot be negated\.$/);
  });

  it('refuses a word that --queue or --status stands for', async () => {
    const refused = (...argv: string[]) => expect(cli.run('job', 'list', ...argv)).rejects;
    await refused('--queue', 'good', '--filter', 'queue:bad').toThrow(
      '--queue and --filter both have queue: give one of them',
    );
    await refused('--status', 'completed', '--filter', 'failed').toThrow('--status and --filter both have state');
    await refused('--queue', 'good', '--filter', 'queue:bad', '--format', 'csv', '--dead').toThrow('both have queue');
    expect(await cli.json('job', 'list', '--queue', 'good', '--filter', 'state:dead')).toEqual([]);
  });

  it('joins the two ends of a range, and refuses any other word that is given twice', async () => {
    const head = async (filter: string) => JSON.parse((await lines('--format', 'ndjson', '--filter', filter))[0] ?? '');
    expect(await head('created:<-10m created:>-1h')).toMatchObject({ filter: 'created:-1h..-10m' });
    expect(await head('attempts:>1 attempts:<4')).toMatchObject({
      filter: 'attempts:2..3',
      query: { filter: { attempts: { min: 2, max: 3 } } },
    });
    expect(await head('queue:good queue:bad key:a key:~a')).toMatchObject({ filter: 'queue:good,bad key:~a' });
    const refused = (filter: string) => expect(cli.run('job', 'list', '--filter', filter)).rejects;
    await refused('attempts:>3 attempts:<2').toThrow('attempts:4..1: A range is such as 2..4.');
    await refused('created:>-1h created:<-2h').toThrow('The second time is before the first one.');
    await refused('created:>-1h created:>-2h').toThrow('created is given twice: a range is created:A..B');
    await refused('created:yesterday created:>-30h').toThrow('created is given twice');
    await refused('error:~reset error:~zzz').toThrow('error is given twice, and can be given once');
    await refused('key:=a key:=b').toThrow('key is given twice');
    await refused('attempts:>1 state:dead attempts:>2').toThrow('attempts is given twice: a range is attempts:A..B');
  });
});
