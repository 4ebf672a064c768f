import { describe, expect, it } from 'vitest';
import { mailOf } from '../../src/domain/alert-mail.ts';
import type { AlertContent, NotifiedAlert } from '../../src/domain/alert-message.ts';
import { isMailAddress } from '../../src/domain/alert-target.ts';

const notified = (id: string, queue: string | null, state: NotifiedAlert['state'] = 'firing'): NotifiedAlert => ({
  id,
  state,
  queue,
  since: 's',
  firedAt: '2026-11-12T12:00:00.000Z',
  resolvedAt: null,
  value: 1,
  cause: `cause ${id}`,
});
const content = (alerts: NotifiedAlert[], more: Partial<AlertContent> = {}): AlertContent => ({
  type: 'alert',
  createdAt: 'c',
  alerts,
  others: 0,
  rule: { id: 'r', kind: 'dead_letters', queue: null, threshold: 1, windowSeconds: 900 },
  ...more,
});
const subject = (...args: Parameters<typeof content>) => mailOf('n', content(...args), null, 'example.com').subject;

describe('the mail about alerts', () => {
  it.each<[string, NotifiedAlert[], Partial<AlertContent>]>([
    ['[Jobferry] Firing: jobs die in orders', [notified('a', 'orders')], {}],
    ['[Jobferry] Resolved: jobs die in orders', [notified('a', 'orders', 'resolved')], {}],
    ['[Jobferry] 1 firing, 1 resolved: jobs die in x, y', [notified('a', 'x'), notified('b', 'y', 'resolved')], {}],
    ['[Jobferry] 3 firing: jobs die in x, y and 1 more', ['x', 'y', 'z'].map((name) => notified(name, name)), {}],
    ['[Jobferry] 1 firing, 80 more: jobs die in x and others', [notified('a', 'x')], { others: 80 }],
    [
      '[Jobferry] Firing: no worker is running',
      [notified('a', null)],
      { rule: { ...content([]).rule, kind: 'no_worker' } },
    ],
    ['[Jobferry] Test: jobs die in orders', [], { type: 'test', rule: { ...content([]).rule, queue: 'orders' } }],
  ])('has the subject %s', (expected, alerts, more) => {
    expect(subject(alerts, more)).toBe(expected);
  });

  it('has no control character of a name in its subject or text, and a bounded subject', () => {
    const hostile = `x\r\nBcc: a@b.c\u0000\u2028${'y'.repeat(500)}`;
    const mail = mailOf(
      'n',
      content([{ ...notified('a', hostile), cause: hostile }]),
      'http://host/alerts',
      'example.com',
    );
    expect(mail.subject).toMatch(/^\[Jobferry\] Firing: jobs die in x Bcc: a@b\.c y+$/);
    expect(mail.subject.length).toBe(150);
    expect(mail.text).not.toMatch(/[\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/u);
  });

  it('refers to the ids of its alerts, and not to that of another mail', () => {
    const mail = mailOf('n', content([notified('a', 'x'), notified('b', 'y')]), null, 'example.com');
    expect(mail).toMatchObject({
      messageId: '<n@example.com>',
      references: ['<alert-a@example.com>', '<alert-b@example.com>'],
    });
  });
});

it.each([
  ['ops@example.com', true],
  ["o'ps+tag@sub.example.com", true],
  ['ops@localhost', true],
  ['ops', false],
  ['ops@', false],
  ['@example.com', false],
  ['a@b@c', false],
  ['a@b..c', false],
  ['a@-b.c', false],
  ['a@b.c\n', false],
  ['"a b"@c.d', false],
  ['a@[127.0.0.1]', false],
  [`${'a'.repeat(65)}@b.c`, false],
  [`a@${'b'.repeat(64)}.c`, false],
  [`a@${`${'b'.repeat(60)}.`.repeat(5)}c`, false],
])('%j is a mail address: %s', (text, expected) => {
  expect(isMailAddress(text)).toBe(expected);
});
