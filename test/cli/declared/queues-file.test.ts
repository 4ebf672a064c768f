import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { changesTo, QueuesFileError } from '../../../src/cli/declared/apply.ts';
import { readQueuesFile } from '../../../src/cli/declared/queues-file.ts';
import { readDeclaredQueues } from '../../../src/process/start/queues-file.ts';

const read = (text: string, variables = {}) =>
  readQueuesFile({ name: 'queues.json', text, variables, secrets: ['ENCRYPTION_KEY'] }).queues;

/** The mistakes in a file, a line each. */
function mistakesIn(text: string): string[] {
  try {
    read(text);
  } catch (error) {
    if (error instanceof QueuesFileError) return error.message.split('\n');
  }
  return [];
}

describe('a file of queues', () => {
  it('is read from JSON, from JSON with comments, and from YAML', () => {
    const queue = { name: 'emails', webhookUrl: 'https://shop.example/jobs', concurrency: 5, rateLimitMax: null };
    expect(read(JSON.stringify({ queues: [queue] }))).toEqual([queue]);
    const yaml = `
queues:
  - name: emails # transactional ones
    webhookUrl: https://shop.example/jobs
    concurrency: 5
    rateLimitMax: null`;
    expect(read(yaml)).toEqual([queue]);
    expect(read('{"queues": []}')).toEqual([]);
  });

  it('has variables in its texts', () => {
    const text = `{"queues":[{"name":"a","webhookUrl":"https://\${HOST}/\${TOKEN}","signingSecret":"\${SECRET}"}]}`;
    const variables = { HOST: 'shop.example', TOKEN: 't', SECRET: 's'.repeat(24) };
    expect(read(text, variables)).toEqual([
      { name: 'a', webhookUrl: 'https://shop.example/t', signingSecret: 's'.repeat(24) },
    ]);
    expect(() => read(text, { ...variables, TOKEN: '' })).toThrow('webhookUrl: the variable TOKEN is not set');
    expect(mistakesIn(text)).toEqual([
      'queues.json:1: webhookUrl: the variable HOST is not set',
      'queues.json:1: signingSecret: the variable SECRET is not set',
    ]);
  });

  it('takes no secret of Jobferry itself, which a receiver would get', () => {
    const text = `{"queues":[{"name":"a","webhookUrl":"https://shop.example/?k=\${ENCRYPTION_KEY}"}]}`;
    const variables = { ENCRYPTION_KEY: 'k'.repeat(44) };
    expect(() => read(text, variables)).toThrow(
      'webhookUrl: the variable ENCRYPTION_KEY is a secret of Jobferry itself',
    );
  });

  it.each(['PGPASSWORD', 'JOBFERRY_API_KEY'])('takes no %s at a start of the service either', async (name) => {
    vi.stubEnv(name, 'secret');
    onTestFinished(() => void vi.unstubAllEnvs());
    const folder = await mkdtemp(join(tmpdir(), 'jobferry-queues-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'queues.json');
    await writeFile(file, `{"queues":[{"name":"a","webhookUrl":"https://shop.example/\${${name}}"}]}`);
    await expect(readDeclaredQueues(file)).rejects.toThrow(`the variable ${name} is a secret of Jobferry itself`);
  });

  it('is refused whole, with the line of each mistake', () => {
    const text = `{
  "queues": [
    { "name": "good", "webhookUrl": "https://shop.example/" },
    {
      "name": "emails",
      "webhookUrl": "https://shop.example/",
      "concurency": 5, "tags": "mail",
      "maxAttempts": 99
    },
    { "name": "No Name", "webhookUrl": "shop" },
    { "name": "good", "webhookUrl": "https://shop.example/" },
    "emails"
  ]
}`;
    expect(mistakesIn(text)).toEqual([
      'queues.json:7: concurency (did you mean concurrency?) is not a setting of a queue',
      'queues.json:7: tags: must be a list',
      'queues.json:8: maxAttempts: must be 1 to 25',
      expect.stringMatching(/^queues\.json:10: name: must be 1 to 64 of/),
      expect.stringMatching(/^queues\.json:10: webhookUrl: /),
      'queues.json:11: queue good is declared twice',
      'queues.json:12: a queue must be an object',
    ]);
  });

  it.each<[string, RegExp]>([
    ['[]', /^queues\.json:1: must be an object with a list "queues"$/],
    ['', /must be an object/],
    ['{"queue": []}', /^queues\.json:1: queue is unknown/],
    ['"\\e[2J": 1', /^queues\.json:1: \\u001b\[2J is unknown/],
    ['{"queues": [{"name": "a", "name": "b"}]}', /^queues\.json:1: .*unique/],
    ['{"queues": [\n{"name": "a",,}]}', /^queues\.json:2: /],
    ['{"queues": [{"webhookUrl": "https://shop.example/"}]}', /^queues\.json:1: name: must be given$/],
  ])('%j is refused', (text, said) => {
    expect(mistakesIn(text)[0]).toMatch(said);
  });
});

describe('the changes to a queue', () => {
  it('hide the query of a URL, which may be a secret', () => {
    const present = { id: '1', name: 'a', webhookUrl: 'https://shop.example/?token=old' };
    const [change] = changesTo([present], [{ name: 'a', webhookUrl: 'https://shop.example/?token=new' }]);
    expect(change?.settings).toEqual([
      { name: 'webhookUrl', from: 'https://shop.example/?…', to: 'https://shop.example/?…' },
    ]);
  });

  it.each([
    [`https://shop.example/hooks/\${TOKEN}`, 'https://shop.example/hooks/old-token', 'https://shop.example/hooks/…'],
    [`https://shop.example/v2/\${TOKEN}`, 'https://shop.example/old-token', 'https://shop.example/…'],
    [`https://\${HOST}/hooks`, 'https://old.example/hooks', 'https://…'],
  ])('hide the present value of %s, which may be that of a variable', (webhookUrl, present, from) => {
    const declared = [{ name: 'a', webhookUrl: 'https://shop.example/new-token' }];
    const queue = { id: '1', name: 'a', webhookUrl: present };
    const [change] = changesTo([queue], declared, [{ name: 'a', webhookUrl }]);
    expect(change?.settings).toEqual([{ name: 'webhookUrl', from, to: webhookUrl }]);
  });

  it('are the settings that differ', () => {
    const present = { id: '1', name: 'a', webhookUrl: 'https://shop.example/', concurrency: 5, maxAttempts: 3 };
    const declared = [
      { name: 'a', webhookUrl: 'https://shop.example', concurrency: 6, template: 'x', signingSecret: 'y' },
      { name: 'b', webhookUrl: 'https://shop.example/' },
    ];
    expect(changesTo([present], declared)).toEqual([
      { queue: 'a', kind: 'update', settings: [{ name: 'concurrency', from: 5, to: 6 }] },
      { queue: 'b', kind: 'create', settings: [] },
    ]);
  });
});
