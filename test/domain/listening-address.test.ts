import { expect, it } from 'vitest';
import { boundUrl, localUrl } from '../../src/domain/listening-address.ts';

it.each([
  ['127.0.0.1', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/'],
  ['0.0.0.0', 'http://0.0.0.0:8080', 'http://127.0.0.1:8080/'],
  ['::', 'http://[::]:8080', 'http://[::1]:8080/'],
  ['fd00::7', 'http://[fd00::7]:8080', 'http://[fd00::7]:8080/'],
  ['jobs.example.com', 'http://jobs.example.com:8080', 'http://jobs.example.com:8080/'],
  ['/run/jobferry/api.sock', 'unix:/run/jobferry/api.sock', null],
])('a server on %s is %s, and for people %s', (host, bound, local) => {
  expect(boundUrl(host, 8080)).toBe(bound);
  expect(localUrl(bound)).toBe(local);
});
