import { it } from 'vitest';
import { expectSound } from '../../test/simulation/sequences.ts';

/** The seeds of `npm test` and 188 000 others. */
const SEQUENCES = 200_000;

it.each([1, 2] as const)(
  `keeps every promise in ${SEQUENCES / 2} sequences of events, every other from seed %i on`,
  { timeout: 1_800_000 },
  (first) => expectSound(first, SEQUENCES / 2),
);
