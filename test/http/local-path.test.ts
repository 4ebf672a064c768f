import fc from 'fast-check';
import { expect, it } from 'vitest';
import { localPath } from '../../src/http/sign-in/oidc.ts';

it.each([
  ['/', '/'],
  ['/jobs', '/jobs'],
  ['/jobs?q=state%3Adead&order=x', '/jobs?q=state%3Adead&order=x'],
  ['/jobs/0123#attempts', '/jobs/0123#attempts'],
  ['/queues/a/../b', '/queues/b'],
])('%s leads to %s', (to, path) => {
  expect(localPath(to)).toBe(path);
});

it.each([
  null,
  '',
  'jobs',
  'https://evil.example',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/..//evil.example',
  '/./\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '\u0000//evil.example',
  'javascript:alert(1)',
  '/v1/queues',
  '/session/oidc',
  '/graphql',
  '/jobs/../session/oidc',
  `/${'x'.repeat(2000)}`,
])('%j leads to the start', (to) => {
  expect(localPath(to)).toBe('/');
});

it('no text leads to another server', () => {
  const pieces = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    ':',
    '@',
    '%2f',
    '%5c',
    '?',
    '#',
    'a',
    'evil.example',
    'http:',
    '\t',
    ' ',
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces).map((parts) => `/${parts.join('')}`),
  );
  fc.assert(
    fc.property(texts, (to) => {
      const url = new URL(`https://jobs.example.com/base${localPath(to)}`);
      expect([url.origin, url.pathname.startsWith('/base/')]).toEqual(['https://jobs.example.com', true]);
    }),
    { numRuns: 5000 },
  );
});
