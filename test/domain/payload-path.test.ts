import { describe, expect, it } from 'vitest';
import { JobferryError } from '../../src/domain/errors.ts';
import { ANY, formatPath, type PathStep, parsePath, pathsOf, valuesAt } from '../../src/domain/payload-path.ts';

describe('a payload path', () => {
  it.each<[path: string, names: PathStep[]]>([
    ['customer', ['customer']],
    ['customer.id', ['customer', 'id']],
    ['items.0.sku', ['items', '0', 'sku']],
    [String.raw`host\.name.port`, ['host.name', 'port']],
    [String.raw`back\\slash`, ['back\\slash']],
    [String.raw`a\\.b`, ['a\\', 'b']],
    ['Größe.😀', ['Größe', '😀']],
    ['a b', ['a b']],
    ['-1', ['-1']],
    ['__proto__.x', ['__proto__', 'x']],
    ['items.*.sku', ['items', ANY, 'sku']],
    ['*', [ANY]],
    [String.raw`items.\*`, ['items', '*']],
    ['a*b.**', ['a*b', '**']],
  ])('%s names %j', (path, names) => {
    expect(parsePath(path)).toEqual(names);
    expect(formatPath(names)).toBe(path);
  });

  it.each([
    ['', 'needs a path'],
    ['.', 'empty name'],
    ['a.', 'empty name'],
    ['.a', 'empty name'],
    ['a..b', 'empty name'],
    ['a\\', 'backslash'],
    [String.raw`a\b`, 'backslash'],
    ['a\0', 'NUL'],
    ['a\ud800', 'surrogates'],
    ['a'.repeat(257), 'at most 256'],
  ])('%j is refused: %s', (path, message) => {
    expect(() => parsePath(path)).toThrow(JobferryError);
    expect(() => parsePath(path)).toThrow(message);
  });
});

describe('the values at a path', () => {
  const payload = { items: [{ sku: 'A', tags: [1, 2] }, { sku: 'B', tags: [2] }, 3], other: { sku: 'C' } };
  it.each([
    ['items.*.sku', ['A', 'B']],
    ['items.*.tags', [1, 2]],
    ['items.*.tags.*', [1, 2]],
    ['items.*', [3]],
    ['items.1.sku', ['B']],
    ['other.*', []],
    ['*', []],
  ])('%s are %j', (path, values) => {
    expect(valuesAt(payload, parsePath(path))).toEqual(values);
  });
});

describe('suggestions from a payload', () => {
  it('are the paths of its values, with the first element for all of an array', () => {
    const payload = {
      a: 1,
      b: { c: null, 'd.e': 'x' },
      items: [{ sku: 's' }, { other: 1 }],
      tags: ['x', 'y'],
      none: [],
      '': 1,
    };
    expect(pathsOf(payload)).toEqual(['a', 'b.c', String.raw`b.d\.e`, 'items.0.sku', 'tags', 'tags.0']);
  });

  it('end at a depth and a number', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 50; level += 1) deep = { level: deep };
    expect(pathsOf(deep)).toEqual([]);
    expect(pathsOf(Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n])))).toHaveLength(100);
  });

  it('do not go below a path that is too long', () => {
    const isLong = new Proxy({ a: 1 }, { ownKeys: () => expect.fail('the members were listed') });
    expect(pathsOf({ a: 1, ['x'.repeat(300)]: isLong })).toEqual(['a']);
  });

  it.each([
    ['a', [1]],
    ['b.c', [null]],
    ['tags', ['x', 'y']],
    ['tags.1', ['y']],
    ['items', []],
    ['missing', []],
    ['a.b', []],
    ['tags.length', []],
    ['toString', []],
  ])('the values at the path %s are %j', (path, values) => {
    const payload = { a: 1, b: { c: null }, tags: ['x', 'y', 'x'], items: [{}] };
    expect(valuesAt(payload, parsePath(path))).toEqual(values);
  });
});
