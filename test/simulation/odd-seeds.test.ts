import { it } from 'vitest';
import { expectSound } from './sequences.ts';

it('keeps every promise in 6000 sequences of events', { timeout: 900_000 }, () => expectSound(1));
