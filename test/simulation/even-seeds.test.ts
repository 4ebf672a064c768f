import { it } from 'vitest';
import { expectSound } from './sequences.ts';

it('keeps every promise in 6000 other sequences of events', { timeout: 900_000 }, () => expectSound(2));
