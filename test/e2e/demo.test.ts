import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { runJobferry } from '../support/command.ts';

/** Data folders that demos left behind. */
async function leftovers(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith('jobferry-demo-'));
}

it('shows a service at work, and ends with its figures', { timeout: 90_000 }, async () => {
  const before = await leftovers();
  const { code, stdout, stderr } = await runJobferry(['demo'], {}, 80_000);
  expect(stderr).toBe('');
  const figures = Object.fromEntries(
    [...stdout.matchAll(/^ {2}\| (.+?) +\| +(.+?) \|$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(figures).toMatchObject({
    // 100 one by one, 329 payloads at once, 55 to webhooks that misbehave, 10 replays.
    published: '494',
    delivered: '484',
    // 20 flaky once, 10 broken twice of which the second is the last, 1 nack.
    retried: '31',
    // 10 busy, 1 defer call.
    held: '11',
    dead: '10',
    replayed: '10',
    'wrong signatures': '0',
    'every payload arrived byte for byte': 'yes',
  });
  expect(code).toBe(0);
  expect(await leftovers()).toEqual(before);
});
