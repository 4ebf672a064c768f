import { expect, it } from 'vitest';
import { Rests } from '../../src/alerts/rests.ts';

it('lets an account rest twenty times as long as its evaluation took, and others not at all', async () => {
  let now = 0;
  const rests = new Rests(() => now);
  const evaluation = (ms: number) => async () => {
    now += ms;
    return ms;
  };
  expect(await rests.after('quick', evaluation(250))).toBe(250);
  expect(rests.isResting('quick')).toBe(false);
  await rests.after('slow', evaluation(1000));
  now += 19_999;
  expect([rests.isResting('slow'), rests.isResting('quick')]).toEqual([true, false]);
  now += 1;
  expect(rests.isResting('slow')).toBe(false);
  const failing = async () => {
    now += 4000;
    throw new Error('too long');
  };
  await expect(rests.after('failing', failing)).rejects.toThrow('too long');
  expect(rests.isResting('failing')).toBe(true);
  // Most of it was a wait for a connection.
  await rests.after('slow', evaluation(20_000));
  now += 100_000;
  expect(rests.isResting('slow')).toBe(false);
});
