import type { TimelineInput } from '../domain/statistics.ts';
import { builder } from './builder.ts';

/** Arguments of every field that returns a timeline. */
export const timelineArgs = builder.args((t) => ({
  from: t.field({ type: 'DateTime', description: 'Start of the range; a day before `to` by default.' }),
  to: t.field({ type: 'DateTime', description: 'End of the range; now by default.' }),
  bucketSeconds: t.int({
    defaultValue: 300,
    required: true,
    description: 'Length of a time span in seconds; a multiple of 300.',
  }),
}));

const DAY_MS = 86_400_000;

interface TimelineArgs {
  from?: Date | null | undefined;
  to?: Date | null | undefined;
  bucketSeconds: number;
}

/** The last day by default. The end is rounded up to the minute, so that fields of one request share a statement. */
export function toTimeline({ from, to, bucketSeconds }: TimelineArgs, now: Date): TimelineInput {
  const end = to ?? new Date(Math.ceil(now.getTime() / 60_000) * 60_000);
  return { from: from ?? new Date(end.getTime() - DAY_MS), to: end, bucketSeconds };
}
