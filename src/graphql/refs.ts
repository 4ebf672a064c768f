import type { DeadLetter as DeadLetterRow } from '../db/generated/client.ts';
import { builder } from './builder.ts';
import type { JobRow, QueueRow } from './loaders.ts';

/** Types that refer to each other. Each is implemented in its own file. */
export const Queue = builder.objectRef<QueueRow>('Queue');
export const Job = builder.objectRef<JobRow>('Job');
export const DeadLetter = builder.objectRef<DeadLetterRow>('DeadLetter');
