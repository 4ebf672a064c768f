import { expect, it } from 'vitest';
import {
  isEarlier,
  isNews,
  olderThan,
  oldestBeside,
  processesInWords,
  type SchemaFacts,
  type Standing,
  standingOf,
} from '../../src/domain/release.ts';

const release = (version: string, oldest = version) => ({ version, oldestBeside: oldest });

it('compares versions as numbers, and takes a text that is none for the earliest', () => {
  const versions = ['dev', '0.9.10', '0.10.2', '0.10.10', '1.0.0', '1.0.1', '10.0.0'];
  for (const [index, version] of versions.entries()) {
    expect(versions.filter((other) => isEarlier(other, version))).toEqual(versions.slice(0, index));
  }
});

it.each<[standing: Standing, version: string, facts: SchemaFacts]>([
  ['own', '1.0.0', { release: null, later: [] }],
  ['own', '1.0.0', { release: release('1.0.0'), later: [] }],
  ['own', '1.0.0', { release: release('1.0.1', '1.0.0'), later: [] }],
  ['beside', '1.0.0', { release: release('1.1.0', '1.0.0'), later: ['x'] }],
  ['beside', '1.0.1', { release: release('1.1.0', '1.0.0'), later: ['x'] }],
  ['too_old', '0.9.9', { release: release('1.1.0', '1.0.0'), later: ['x'] }],
  ['too_old', '0.9.9', { release: release('1.1.0', '1.0.0'), later: [] }],
  ['unknown', '1.1.0', { release: release('1.1.0', '1.0.0'), later: ['x'] }],
  ['unknown', '1.2.0', { release: release('1.1.0', '1.0.0'), later: ['x'] }],
  ['unknown', '1.0.0', { release: null, later: ['x'] }],
])('is %s for %s', (standing, version, facts) => {
  expect(standingOf(version, facts)).toBe(standing);
});

it('tells the database of a later release, and of another mark of the same', () => {
  const stored = release('1.1.0', '1.0.0');
  expect(isNews(stored, null)).toBe(true);
  expect(isNews(stored, stored)).toBe(false);
  expect(isNews(release('1.1.0'), stored)).toBe(true);
  expect(isNews(release('1.1.1', '1.0.0'), stored)).toBe(true);
  expect(isNews(release('1.0.9', '0.9.0'), stored)).toBe(false);
});

it('expects processes that may run both beside this program and on the database', () => {
  expect(oldestBeside(release('1.1.0', '1.0.0'), null)).toBe('1.0.0');
  expect(oldestBeside(release('1.2.0', '1.1.0'), release('1.1.0', '1.0.0'))).toBe('1.1.0');
  expect(oldestBeside(release('1.1.0', '1.0.0'), release('1.2.0', '1.1.0'))).toBe('1.1.0');
});

it('counts processes by release and role', () => {
  const processes = ['1.0.0 api', '0.9.0 worker', '1.0.0 api', '1.0.0 all', '1.1.0 api'].map((text) => {
    const [version = '', role = ''] = text.split(' ');
    return { version, role };
  });
  const older = olderThan(processes, '1.1.0');
  expect(processesInWords(older)).toBe('release 0.9.0 (1 worker) and release 1.0.0 (2 API, 1 API and worker)');
});
