import type { TimelineInput } from '../domain/statistics.ts';

const DAY_MS = 86_400_000;

export interface TimelineArgs {
  from?: Date | null | undefined;
  to?: Date | null | undefined;
  bucketSeconds: number;
}

/** The last day by default. The end is rounded up to the minute, so that fields of one request share a statement. */
export function toTimeline({ from, to, bucketSeconds }: TimelineArgs, now: Date): TimelineInput {
  const end = to ?? new Date(Math.ceil(now.getTime() / 60_000) * 60_000);
  return { from: from ?? new Date(end.getTime() - DAY_MS), to: end, bucketSeconds };
}
