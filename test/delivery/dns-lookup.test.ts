import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDnsLookup } from '../../src/delivery/dns-lookup.ts';
import type { Lookup, NameLookupError } from '../../src/delivery/resolver.ts';
import { openSystemNames } from '../../src/delivery/system-names.ts';
import { type DnsAnswer, type DnsQuery, type DnsServer, startDnsServer } from '../support/dns-server.ts';

const opened: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

async function system(hosts = '', resolvConf = '') {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-names-'));
  opened.push(() => rm(folder, { recursive: true }));
  const paths = { hosts: join(folder, 'hosts'), resolvConf: join(folder, 'resolv.conf') };
  await writeFile(paths.hosts, hosts);
  await writeFile(paths.resolvConf, resolvConf);
  return openSystemNames(paths);
}

async function setup(
  answer: (query: DnsQuery) => DnsAnswer,
  files: {
    hosts?: string;
    resolvConf?: string;
    onAnswer?: (works: boolean) => void;
    provenMs?: number;
    limitMs?: number;
  } = {},
): Promise<{ server: DnsServer; lookup: Lookup }> {
  const server = await startDnsServer(answer);
  opened.push(() => server.close());
  const names = await system(files.hosts, files.resolvConf);
  // Repeated sooner than in the service. What is answered has much time, as the machine may be busy.
  const times = { repeatMs: 250, limitMs: files.limitMs ?? 30_000, provenMs: files.provenMs ?? 0 };
  return {
    server,
    lookup: createDnsLookup({ servers: [server.address], system: names, times, onAnswer: files.onAnswer }),
  };
}

/** Addresses, or the code of the failure. */
function ask(lookup: Lookup, hostname: string): Promise<string[] | string> {
  return new Promise((resolve) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      resolve(error === null ? addresses.map(({ address }) => address) : (error as NameLookupError).code);
    });
  });
}

/** Time limit of look-ups that are not answered. */
const SHORT_MS = 1200;

const asked = ({ queries }: DnsServer) => [...new Set(queries.map(({ name }) => name))];

describe('a look-up', () => {
  it('gives the addresses of both families', async () => {
    const { lookup } = await setup(() => ['127.0.0.1', '127.0.0.2', '::1']);
    expect((await ask(lookup, 'both.test')).toString().split(',').toSorted()).toEqual([
      '127.0.0.1',
      '127.0.0.2',
      '::1',
    ]);
  });

  it('gives all addresses of an answer that no datagram holds', async () => {
    const many = Array.from({ length: 60 }, (_, n) => `127.0.1.${n}`);
    const { lookup, server } = await setup(() => many);
    expect((await ask(lookup, 'many.test')).toString().split(',').toSorted()).toEqual(many.toSorted());
    // By UDP and then by TCP.
    expect(server.queries.filter(({ family }) => family === 4).length).toBeGreaterThanOrEqual(2);
  });

  it('I-49: does not reach its limit before the answers that have come are read', async () => {
    const { lookup } = await setup(() => ['127.0.0.1'], { limitMs: SHORT_MS });
    const asking = ask(lookup, 'one.test');
    const blockedUntil = performance.now() + 1700;
    while (performance.now() < blockedUntil);
    expect(await asking).toEqual(['127.0.0.1']);
  });

  it.each([
    ['there is none of the other', () => ['127.0.0.1'] as DnsAnswer],
    ['the other is never answered', ({ family }: DnsQuery): DnsAnswer => (family === 4 ? ['127.0.0.1'] : 'drop')],
    ['the other fails', ({ family }: DnsQuery): DnsAnswer => (family === 4 ? ['127.0.0.1'] : 'broken')],
  ])('gives the addresses of one family when %s', async (_case, answer) => {
    const { lookup } = await setup(answer, { limitMs: SHORT_MS });
    expect(await ask(lookup, 'one.test')).toEqual(['127.0.0.1']);
  });

  // The root has an empty name. A name server that answers for it works, so the failure is that of the other name.
  it.each<[what: string, root: DnsAnswer, code: string, works: boolean]>([
    ['fails for one name only', [], 'EAI_AGAIN', true],
    ['has no answer for the root', 'broken', 'ENONAMESERVER', false],
    ['is silent', 'drop', 'ENONAMESERVER', false],
  ])(
    'reports that there is no such name, and what is wrong with a name server that %s',
    async (_what, root, code, works) => {
      const noted: boolean[] = [];
      const answer = ({ name }: DnsQuery): DnsAnswer =>
        name === '' ? root : name === 'none.test' ? [] : name === 'bad.test' ? 'broken' : 'drop';
      const { lookup } = await setup(answer, { onAnswer: (each) => noted.push(each), limitMs: SHORT_MS });
      expect(await ask(lookup, 'none.test')).toBe('ENOTFOUND');
      expect(await ask(lookup, `${'x'.repeat(64)}.test`)).toBe('ENOTFOUND');
      const answers = ['bad.test', 'silent.test'].map((name) => ask(lookup, name));
      expect(await Promise.all(answers)).toEqual([code, code]);
      expect(noted).toEqual([true, true, works, works]);
    },
  );

  it('reports the failure of one name where a name server has just answered for another, but never for the root', async () => {
    const noted: boolean[] = [];
    const answer = ({ name }: DnsQuery): DnsAnswer => (name === 'inside.test' ? ['127.0.0.1'] : 'broken');
    const { lookup } = await setup(answer, { onAnswer: (each) => noted.push(each), provenMs: 60_000 });
    expect(await ask(lookup, 'outside.test')).toBe('ENONAMESERVER');
    expect(await ask(lookup, 'inside.test')).toEqual(['127.0.0.1']);
    expect(await ask(lookup, 'outside.test')).toBe('EAI_AGAIN');
    expect(noted).toEqual([false, true, true]);
  });

  it('survives that each query is lost once (F-37)', async () => {
    const { lookup, server } = await setup(({ count }) => (count === 1 ? 'drop' : ['127.0.0.1']));
    expect(await ask(lookup, 'lossy.test')).toEqual(['127.0.0.1']);
    expect(server.queries.length).toBeGreaterThanOrEqual(3);
  });

  it('survives that every second query of a name is lost, which may be two of one family in a row (F-37)', async () => {
    let queries = 0;
    const { lookup } = await setup(() => {
      queries += 1;
      return queries % 2 === 1 ? 'drop' : ['127.0.0.1'];
    });
    for (let n = 0; n < 4; n += 1) expect(await ask(lookup, 'half.test')).toEqual(['127.0.0.1']);
  });

  it('is not delayed by look-ups that no name server answers', async () => {
    const limitMs = 2500;
    const { lookup } = await setup(({ name }) => (name.startsWith('slow') ? 'drop' : ['127.0.0.1']), { limitMs });
    let silent = 50;
    const others = Array.from({ length: silent }, (_, n) => ask(lookup, `slow${n}.test`).then(() => silent--));
    for (let n = 0; n < 5; n += 1) expect(await ask(lookup, `fast${n}.test`)).toEqual(['127.0.0.1']);
    expect(silent).toBe(50);
    await Promise.all(others);
  });

  it('queries again each time', async () => {
    const { lookup, server } = await setup(({ count }) => [`127.0.0.${count}`]);
    expect([await ask(lookup, 'moving.test'), await ask(lookup, 'moving.test')]).toEqual([
      ['127.0.0.1'],
      ['127.0.0.2'],
    ]);
    expect(asked(server)).toEqual(['moving.test']);
  });
});

describe('search domains', () => {
  const resolvConf =
    'nameserver 192.0.2.1\nsearch ours.test cluster.test. # of the cluster\noptions timeout:1 ndots:2\n';
  const known = (names: string[]) => (query: DnsQuery) => (names.includes(query.name) ? ['127.0.0.1'] : []);

  it.each([
    ['hooks', ['hooks.cluster.test'], ['hooks.ours.test', 'hooks.cluster.test']],
    ['hooks.team', ['hooks.team.ours.test'], ['hooks.team.ours.test']],
    ['hooks.example.test', ['hooks.example.test'], ['hooks.example.test']],
    ['a.b.c', ['a.b.c.ours.test'], ['a.b.c', 'a.b.c.ours.test']],
    ['hooks.', ['hooks'], ['hooks']],
  ])('are tried for %s', async (hostname, names, queried) => {
    const { lookup, server } = await setup(known(names), { resolvConf });
    expect(await ask(lookup, hostname)).toEqual(['127.0.0.1']);
    expect(asked(server)).toEqual(queried);
  });

  it('continue after a domain whose name server fails, and end when no name server answers', async () => {
    const { lookup, server } = await setup(
      ({ name }) =>
        name === '' ? [] : name === 'hooks.ours.test' ? 'broken' : name.startsWith('silent') ? 'drop' : ['127.0.0.1'],
      { resolvConf, limitMs: SHORT_MS },
    );
    expect(await ask(lookup, 'hooks')).toEqual(['127.0.0.1']);
    expect(await ask(lookup, 'silent')).toBe('EAI_AGAIN');
    expect(asked(server)).toEqual(['hooks.ours.test', 'hooks.cluster.test', 'silent.ours.test', '']);
  });
});

describe('the hosts file', () => {
  it.each([
    ['hooks', ['127.0.0.7', '::1']],
    ['HOOKS.', ['127.0.0.7', '::1']],
    ['alias', ['127.0.0.7']],
    ['localhost', ['127.0.0.1']],
    ['foo.localhost', ['127.0.0.1', '::1']],
  ])('resolves %s without a name server', async (hostname, addresses) => {
    const hosts =
      '127.0.0.1\tlocalhost # loopback\n127.0.0.7 Hooks alias\n::1 hooks\nnonsense hooks\n#127.0.0.9 hooks\n';
    const { lookup, server } = await setup(() => ['127.0.0.9'], { hosts });
    expect(await ask(lookup, hostname)).toEqual(addresses);
    expect(server.queries).toEqual([]);
  });

  it('may be missing', async () => {
    const names = openSystemNames({ hosts: '/nowhere/hosts', resolvConf: '/nowhere/resolv.conf' });
    expect(names.addresses('hooks')).toEqual([]);
    expect(names.addresses('localhost')).toHaveLength(2);
    expect(names.candidates('hooks')).toEqual(['hooks']);
  });
});

/** Found by F-46: an attempt was lost to a name that was asked for just before the name servers were back. */
it('asks again for a name that got no answer while no name server worked, once they work', async () => {
  let isSilent = true;
  const { lookup } = await setup(
    ({ name, count }) => {
      if (name !== 'late.test') return isSilent ? 'drop' : ['127.0.0.1'];
      if (count === 2) isSilent = false;
      return count <= 3 ? 'drop' : ['127.0.0.1'];
    },
    { limitMs: SHORT_MS },
  );
  expect(await ask(lookup, 'first.test')).toBe('ENONAMESERVER');
  expect(await ask(lookup, 'late.test')).toEqual(['127.0.0.1']);
  // Without such a time before, a name that is not answered is the receiver's failure.
  isSilent = false;
  const { lookup: fresh } = await setup(({ name }) => (name === 'dead.test' ? 'drop' : ['127.0.0.1']), {
    limitMs: SHORT_MS,
  });
  expect(await ask(fresh, 'dead.test')).toBe('EAI_AGAIN');
});
