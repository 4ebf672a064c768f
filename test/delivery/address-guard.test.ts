import type { LookupAddress } from 'node:dns';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AddressNotAllowedError,
  createAddressGuard,
  createGuardedConnector,
  isPublicAddress,
} from '../../src/delivery/address-guard.ts';
import { type Lookup, shareLookups } from '../../src/delivery/resolver.ts';
import { createSender, type Sender } from '../../src/delivery/send.ts';
import { startRawServer } from '../support/raw-server.ts';

/** Case numbers are those of docs/invariants.md. Nothing but loopback is ever dialled. */

const NAMES: Record<string, string[]> = {
  'metadata.google.internal': ['169.254.169.254'],
  localhost: ['127.0.0.1', '::1'],
  'foo.localhost': ['127.0.0.1'],
  '127.0.0.1.nip.io': ['127.0.0.1'],
  'mixed.test': ['8.8.8.8', '127.0.0.1'],
  'mapped.test': ['::ffff:10.0.0.1'],
  'empty.test': [],
  'hundred.test': [...Array.from({ length: 99 }, (_, n) => `8.8.8.${n}`), '10.1.2.3'],
  'public.test': ['8.8.8.8', '2606:4700::1111'],
  'nonsense.test': ['not an address'],
};

function answerWith(names: Record<string, string[]>): Lookup {
  return (hostname, _options, callback) => {
    const addresses = names[hostname];
    const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
    process.nextTick(() => (addresses === undefined ? callback(error, []) : callback(null, addresses.map(toEntry))));
  };
}

function toEntry(address: string): LookupAddress {
  return { address, family: isIPv6(address) ? 6 : 4 };
}

/**
 * Calls the connector for this URL with a dry dialler, which resolves as `net.connect` does and then only
 * notes where it would have gone: a broken guard fails a test here, and must not reach a real network.
 */
async function tryConnect(url: string): Promise<{ error: Error | null; dialled: string[] }> {
  const dialled: string[] = [];
  const connect = createGuardedConnector(createAddressGuard({ allowCidrs: [] }), {
    timeoutMs: 30_000,
    lookup: answerWith(NAMES),
    dial: (lookup) => (target, callback) => {
      if (isIP(target.hostname.replace(/^\[|\]$/g, '')) !== 0) {
        dialled.push(target.hostname);
        callback(new Error('dry'), null);
        return;
      }
      lookup(target.hostname, { all: true }, (error, addresses) => {
        if (error === null) dialled.push(...(addresses as LookupAddress[]).map(({ address }) => address));
        callback(error ?? new Error('dry'), null);
      });
    },
  });
  const { hostname, host, protocol, port } = new URL(url);
  const error = await new Promise<Error | null>((resolve) => {
    connect({ hostname, host, protocol, port }, (...[failure]) => resolve(failure));
  });
  return { error, dialled };
}

const REFUSED = { answer: { kind: 'no_answer', error: 'address_not_allowed' }, responseBody: null };

describe('literal hosts are refused in every spelling', () => {
  it.each([
    ['S1', '127.0.0.1'],
    ['S2', '2130706433'],
    ['S3', '0x7f000001'],
    ['S4', '0x7f.1'],
    ['S6', '0177.0.0.1'],
    ['S7', '127.1'],
    ['S8', '127.0.1'],
    ['S9', '0x7f.0x0.0x0.0x1'],
    ['S13', '127.0.0.1.'],
    ['S14', '0'],
    ['S15', '00000000000'],
    ['S16', '[::]'],
    ['S17', '[::1]'],
    ['S18', '[::ffff:127.0.0.1]'],
    ['S19', '[0:0:0:0:0:ffff:7f00:1]'],
    ['S21', '169.254.169.254'],
    ['S22', '2852039166'],
    ['S23', '[fd00:ec2::254]'],
    ['S24', '100.100.100.200'],
    ['S25', '168.63.129.16'],
    ['S27', '0300.0250.1.1'],
    ['S28', '10.0.0.1'],
    ['S29', '172.31.255.255'],
    ['S30', '100.64.0.1'],
    ['S31', '198.18.0.1'],
    ['S32', '192.0.2.1'],
    ['S33', '224.0.0.1'],
    ['S34', '255.255.255.255'],
    ['S35', '240.0.0.1'],
    ['S36', '[64:ff9b::7f00:1]'],
    ['S37', '[64:ff9b::808:808]'],
    ['S38', '[64:ff9b:1::1]'],
    ['S40', '[2001::1]'],
    ['S41', '[fe80::1]'],
    ['S42', '[febf::1]'],
    ['S43', '[fec0::1]'],
    ['S44', '[ff02::1]'],
    ['S47', '[100::1]'],
    ['IPv4-compatible', '[::127.0.0.1]'],
    ['unassigned', '[4000::1]'],
    ['discard prefix', '[100:0:0:1::1]'],
    ['translated', '[::fffe:1:1]'],
    ['6to4 of loopback', '[2002:7f00:1::]'],
    ['documentation', '[2001:db8::1]'],
    ['documentation', '[3fff::1]'],
    ['AS112', '[2620:4f:8000::1]'],
    ['AS112', '192.175.48.1'],
    ['benchmarking', '[2001:2::1]'],
    ['segment routing', '[5f00::1]'],
  ])('%s %s', async (_name, host) => {
    for (const url of [`http://${host}/`, `https://${host}:8443/`]) {
      expect(await tryConnect(url)).toEqual({ error: expect.any(AddressNotAllowedError), dialled: [] });
    }
    expect(isPublicAddress(new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, ''))).toBe(false);
  });
});

describe('names are refused by what they resolve to', () => {
  it.each([
    ['S26', 'metadata.google.internal'],
    ['S48', 'localhost'],
    ['S49', 'LOCALHOST'],
    ['S52', 'foo.localhost'],
    ['S53', '127.0.0.1.nip.io'],
    ['S54 one of two', 'mixed.test'],
    ['S55', 'mapped.test'],
    ['F-18 no address at all', 'empty.test'],
    ['F-18 the last of a hundred', 'hundred.test'],
    ['an answer that is no address', 'nonsense.test'],
  ])('%s %s', async (_name, host) => {
    expect(await tryConnect(`http://${host}/`)).toEqual({ error: expect.any(AddressNotAllowedError), dialled: [] });
  });

  it('the error of a refused name contains no address', async () => {
    expect((await tryConnect('http://metadata.google.internal/')).error?.message).toBe('address not allowed');
  });

  it('a name is allowed if all of its addresses are public', async () => {
    expect(await tryConnect('http://public.test/')).toMatchObject({ dialled: ['8.8.8.8', '2606:4700::1111'] });
  });
});

/** Only loopback addresses, for these sockets are real. */
describe('a sender', () => {
  const open: { close(): Promise<void> }[] = [];

  function setup(allowCidrs: string[], lookup: Lookup): Sender {
    const sender = createSender({ timeoutMs: 30_000, signatureHeader: 'x-service-signature', allowCidrs, lookup });
    open.push(sender);
    return sender;
  }

  function post(sender: Sender, url: string) {
    return sender.send({ url, secret: 's', body: Buffer.from('{}') });
  }

  async function listener() {
    const server = await startRawServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'));
    });
    open.push(server);
    return server;
  }

  afterEach(async () => {
    for (const part of open.splice(0).reverse()) await part.close();
  });

  it.each(['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'foo.localhost'])('never reaches %s', async (host) => {
    const server = await listener();
    const sender = setup([], answerWith(NAMES));
    expect(await post(sender, `http://${host}:${server.port}/`)).toMatchObject(REFUSED);
    expect(server.connections).toBe(0);
  });

  it('checks addresses again at every connect (S56)', async () => {
    const server = await listener();
    let asked = 0;
    const sender = setup(['127.0.0.1/32'], (_hostname, _options, callback) => {
      asked += 1;
      process.nextTick(() => callback(null, [toEntry(asked === 1 ? '127.0.0.1' : '127.0.0.2')]));
    });
    const url = `http://rebinding.test:${server.port}/`;
    expect(await post(sender, url)).toMatchObject({ answer: { kind: 'answered', statusCode: 200 } });
    expect(await post(sender, url)).toMatchObject(REFUSED);
    expect(asked).toBe(2);
    expect(server.connections).toBe(1);
  });

  it("passes on the resolver's error", async () => {
    const sender = setup([], answerWith(NAMES));
    expect(await post(sender, 'http://unknown.test/')).toMatchObject({
      answer: { kind: 'no_answer', error: 'dns_error' },
      responseBody: null,
    });
  });
});

describe('the connected socket is checked once more', () => {
  it('the connected socket is checked once more before anything is written', async () => {
    const server = await startRawServer(() => {});
    let checks = 0;
    const guard = { allows: () => checks++ === 0 };
    const connect = createGuardedConnector(guard, { timeoutMs: 30_000, lookup: answerWith({}) });
    const error = await new Promise((resolve) => {
      const target = { hostname: '127.0.0.1', host: `127.0.0.1:${server.port}`, protocol: 'http:' };
      connect({ ...target, port: String(server.port) }, (...[failure]) => resolve(failure));
    });
    expect(error).toBeInstanceOf(AddressNotAllowedError);
    expect(checks).toBe(2);
    await server.waitForClosed(1);
    expect(server.received).toEqual(['']);
    await server.close();
  });
});

describe('public addresses', () => {
  it.each([
    ['S81', '8.8.8.8'],
    ['S82', '2606:4700::1111'],
    ['S83', '172.32.0.1'],
    ['S84', '::ffff:8.8.8.8'],
    ['just below a private range', '172.15.255.255'],
    ['just below carrier-grade NAT', '100.63.255.255'],
    ['just above link-local', '169.255.0.0'],
    ['the start of the global range', '2400:cb00::1'],
  ])('%s %s is allowed', (_name, ip) => {
    expect(isPublicAddress(ip)).toBe(true);
    expect(createAddressGuard({ allowCidrs: [] }).allows(ip)).toBe(true);
  });

  it.each(['', 'example.com', '0x7f.1', '134744072', '8.8.8', '8.8.8.8/32', ' 8.8.8.8', '[2606:4700::1111]'])(
    '"%s" is no address in plain form',
    (text) => {
      expect(isPublicAddress(text)).toBe(false);
    },
  );

  /** A second opinion by another implementation: Node's own lists. */
  it('never overlap with the private ranges as node:net knows them', () => {
    const blocked = new BlockList();
    for (const [network, bits] of [
      ['10.0.0.0', 8],
      ['127.0.0.0', 8],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      ['169.254.0.0', 16],
      ['100.64.0.0', 10],
      ['224.0.0.0', 3],
      ['0.0.0.0', 8],
    ] as const) {
      blocked.addSubnet(network, bits, 'ipv4');
    }
    let publicOnes = 0;
    for (let first = 0; first < 256; first += 1) {
      for (let second = 0; second < 256; second += 1) {
        const ip = `${first}.${second}.77.1`;
        if (!isPublicAddress(ip)) continue;
        publicOnes += 1;
        if (blocked.check(ip, 'ipv4') || blocked.check(`::ffff:${ip}`, 'ipv6')) expect.fail(`${ip} is private`);
      }
    }
    expect(publicOnes).toBeGreaterThan(50_000);
  });
});

describe('allow-list', () => {
  const guard = createAddressGuard({ allowCidrs: ['127.0.0.0/8', '::1/128', '10.1.0.0/16', 'fd00::/8'] });

  it.each(['127.0.0.1', '127.255.255.255', '::1', '::ffff:127.0.0.1', '10.1.2.3', 'fd12::1', '8.8.8.8'])(
    'allows %s',
    (ip) => expect(guard.allows(ip)).toBe(true),
  );

  it.each(['10.2.0.1', '::2', 'fe80::1', '169.254.169.254', 'fe80::1%eth0', 'localhost'])('still refuses %s', (ip) =>
    expect(guard.allows(ip)).toBe(false),
  );

  it.each(['127.0.0.1', '127.0.0.0/33', '::1/129', 'localhost/8', '', '127.1/8'])('does not take "%s"', (cidr) => {
    expect(() => createAddressGuard({ allowCidrs: [cidr] })).toThrow(`"${cidr}"`);
  });
});

describe('shared look-ups', () => {
  it('query a name once for concurrent requests, and again afterwards', () => {
    const pending: (() => void)[] = [];
    const lookup = shareLookups((_hostname, _options, callback) => {
      pending.push(() => callback(null, [toEntry('127.0.0.1')]));
    });
    const answers: string[] = [];
    const ask = (hostname: string) =>
      lookup(hostname, { all: true }, (_error, [first]) => answers.push(`${hostname} ${first?.address}`));
    ask('a.test');
    ask('a.test');
    ask('b.test');
    expect(pending).toHaveLength(2);
    for (const answer of pending.splice(0)) answer();
    expect(answers).toEqual(['a.test 127.0.0.1', 'a.test 127.0.0.1', 'b.test 127.0.0.1']);
    ask('a.test');
    expect(pending).toHaveLength(1);
  });
});
