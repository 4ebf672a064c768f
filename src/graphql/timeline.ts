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
