import { it } from 'vitest';
import { expectSound } from './sequences.ts';

it('keeps every promise in the sequences of events of the even seeds', { timeout: 900_000 }, () => expectSound(2));
