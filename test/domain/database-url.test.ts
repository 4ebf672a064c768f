import { describe, expect, it } from 'vitest';
import { parseDatabaseUrl, withExplicitTls } from '../../src/domain/database-url.ts';

describe('a database URL', () => {
  it.each([
    ['postgres://u@db/x', [['db', 5432]]],
    ['postgresql://u:p@db.example:6432/x?sslmode=require', [['db.example', 6432]]],
    [
      'postgres://u:p,q@a:1,b,10.0.0.1:3/x?target_session_attrs=read-write',
      [
        ['a', 1],
        ['b', 5432],
        ['10.0.0.1', 3],
      ],
    ],
    [
      'postgres://u:p@q@a,b/x',
      [
        ['a', 5432],
        ['b', 5432],
      ],
    ],
    [
      'postgres://u@[::1]:5433,[fd00::2]/x',
      [
        ['::1', 5433],
        ['fd00::2', 5432],
      ],
    ],
    ['postgres://u@%2Fvar%2Frun:5432/x', [['/var/run', 5432]]],
    ['postgresql:///x?host=/var/run', [['', 5432]]],
    ['postgres://a?target_session_attrs=primary', [['a', 5432]]],
  ])('%s has its servers', (url, servers) => {
    const parsed = parseDatabaseUrl(url);
    if (typeof parsed === 'string') throw new Error(parsed);
    expect(parsed.servers.map(({ host, port }) => [host, port])).toEqual(servers);
  });

  it('is a URL of its own for each server', () => {
    const parsed = parseDatabaseUrl('postgres://u:p@a:1,[::1]:2/x?sslmode=require');
    expect(parsed).toMatchObject({
      servers: [{ url: 'postgres://u:p@a:1/x?sslmode=require' }, { url: 'postgres://u:p@[::1]:2/x?sslmode=require' }],
    });
  });

  it.each([
    ['mysql://a/x', 'must start with postgres:// or postgresql://'],
    ['postgres://u:secret@a,/x', 'has a comma without a host beside it'],
    ['postgres://u:secret@a:0,b/x', /^has a host that is not name/],
    ['postgres://u:secret@a:70000/x', /^has a host that is not name/],
    ['postgres://u:secret@a:b:c/x', /^has a host that is not name/],
    ['postgres://u:secret@fd00::1/x', /^has a host that is not name/],
    ['postgres://u:secret@%zz/x', /^has a host that is not name/],
    ['postgres://u:secret@a/x?host=b,c', 'several hosts must be written before the name of the database'],
    ['postgres://u:secret@a,b/x?target_session_attrs=any', /^target_session_attrs must be read-write or primary/],
    [`postgres://${Array(17).fill('a').join(',')}/x`, 'must have at most 16 hosts'],
  ])('%s is refused, without a word of it', (url, problem) => {
    expect(parseDatabaseUrl(url)).toMatch(problem);
    expect(parseDatabaseUrl(url)).not.toContain('secret');
  });
});

describe('the mode of TLS', () => {
  it.each([
    ['postgres://u@db/x?sslmode=require', 'postgres://u@db/x?sslmode=verify-full'],
    ['postgres://u@db/x?a=b&sslmode=verify-ca#c', 'postgres://u@db/x?a=b&sslmode=verify-full#c'],
    ['postgres://u@db/x?sslmode=prefer&a=b', 'postgres://u@db/x?sslmode=verify-full&a=b'],
  ])('%s is that which the driver uses', (url, explicit) => expect(withExplicitTls(url)).toBe(explicit));

  it.each([
    'postgres://u@db/x',
    'postgres://u@db/x?sslmode=disable',
    'postgres://u@db/x?sslmode=no-verify',
    'postgres://u@db/x?sslmode=requires',
    'postgres://sslmode=require@db/x',
    'postgres://u@db/x?uselibpqcompat=true&sslmode=require',
  ])('%s stays as it is', (url) => expect(withExplicitTls(url)).toBe(url));
});
