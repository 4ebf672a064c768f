import { beforeAll, expect, it } from 'vitest';
import { type Fixture, openFixture } from '../support/database-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});

it.each([
  '2026-11-21T16:06:50.123Z',
  '2026-11-21T16:06:50.100Z',
  '2026-11-21T16:06:50.000Z',
  '2000-02-29T23:59:59.999Z',
  '0001-01-01T00:00:00.000Z',
])('%s is read as it is, whatever the time zone of the session', async (iso) => {
  for (const zone of ['UTC', 'Asia/Kolkata', 'America/St_Johns']) {
    const row = await fixture.db.one<{ at: Date }>(
      `select set_config('timezone', $2, true), $1::timestamptz(3) as at`,
      [iso, zone],
    );
    expect(row?.at.toISOString(), zone).toBe(iso);
  }
});

it.each(['infinity', '-infinity'])('%s is no date', async (text) => {
  const row = await fixture.db.one<{ at: unknown }>('select $1::timestamptz as at', [text]);
  expect(row?.at).toBe(text === 'infinity' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
});
