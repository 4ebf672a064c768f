import { it } from 'vitest';
import { expectSound } from './sequences.ts';

it('keeps every promise in the sequences of events of the odd seeds', { timeout: 900_000 }, () => expectSound(1));
