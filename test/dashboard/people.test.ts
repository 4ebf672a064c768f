import { describe, expect, it } from 'vitest';
import {
  endAllLead,
  endAllTitle,
  endLead,
  headOfMembers,
  headOfSessions,
  holderOf,
  namesOf,
} from '../../packages/dashboard/features/settings/model/people.ts';
import { browserOf } from '../../packages/dashboard/words/browser.ts';

const total = (totalCount: number, totalCountExact = true) => ({ totalCount, totalCountExact });
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

describe('members', () => {
  it.each([
    [0, [], 'No member has signed in yet.'],
    [1, [1], '1 person has signed in. 1 is signed in now.'],
    [3, [0, 0, 0], '3 people have signed in. None are signed in now.'],
    [3, [2, 1, 0], '3 people have signed in. 2 are signed in now.'],
    // The rest is on other pages.
    [1200, [2, 1, 0], '1 200 people have signed in.'],
  ])('%i with %j sessions', (count, sessions, text) => {
    const members = sessions.map((sessionCount) => ({ sessionCount }));
    expect(plain(headOfMembers(total(count), members))).toBe(text);
  });

  it('are called by what is known of them', () => {
    const ada = { name: 'Ada', email: 'ada@example.com', subject: 'u1' };
    expect(namesOf(ada)).toEqual({ first: 'Ada', second: 'ada@example.com' });
    expect(namesOf({ ...ada, name: null })).toEqual({ first: 'ada@example.com', second: null });
    expect(namesOf({ ...ada, name: null, email: null })).toEqual({ first: 'u1', second: null });
  });

  it('lose all sessions at once', () => {
    expect(plain(endAllTitle('Ada', 3))).toBe('End 3 sessions of Ada?');
    expect(endAllLead(true)).toMatch(/you will be signed out/);
    expect(endAllLead(false)).toMatch(/at the provider/);
  });
});

describe('sessions', () => {
  it.each([
    [0, true, 'No session is open.'],
    [1, true, '1 session is open.'],
    [1, false, 'You have 1 open session.'],
    [5, true, '5 sessions are open.'],
    [2, false, 'You have 2 open sessions.'],
  ])('%i, all of the account: %s', (count, isAll, text) => {
    expect(headOfSessions(total(count), isAll)).toBe(text);
  });

  it('are of a person, a key or a link', () => {
    const session = { label: 'jf_4kQ…x7Pd', isCurrent: false, member: null, apiKey: { name: 'shop' } };
    expect(holderOf(session)).toBe('shop');
    expect(holderOf({ ...session, apiKey: { name: null } })).toBe('jf_4kQ…x7Pd');
    expect(holderOf({ ...session, label: 'ada@example.com', member: { name: null } })).toBe('ada@example.com');
    expect(holderOf({ ...session, label: 'operator', apiKey: null })).toBe('sign-in link');
    expect(endLead({ ...session, isCurrent: true })).toMatch(/you will be signed out/);
    expect(endLead(session)).toMatch(/revoke the key/);
    expect(endLead({ ...session, member: { name: 'Ada' }, apiKey: null })).toMatch(/at the provider/);
  });
});

describe('a browser', () => {
  const KHTML = 'AppleWebKit/537.36 (KHTML, like Gecko)';
  it.each([
    ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Linux'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/131.0.0.0 Safari/537.36`, 'Chrome on Windows'],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`,
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
      'Safari on iOS',
    ],
    [`Mozilla/5.0 (Linux; Android 10; K) ${KHTML} Chrome/131.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
    ['curl/8.5.0', 'curl/8.5.0'],
    ['x'.repeat(256), 'x'.repeat(40)],
    [null, 'unknown'],
  ])('%s is %s', (userAgent, name) => {
    expect(browserOf(userAgent)).toBe(name);
  });
});
