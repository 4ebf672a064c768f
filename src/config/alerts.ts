import { z } from 'zod';

export const ALERT_VARIABLES = {
  ALERT_INTERVAL_SECONDS: z.coerce
    .number({ invalid_type_error: 'must be a number of seconds' })
    .max(3600)
    .refine((seconds) => seconds === 0 || seconds >= 0.1, 'must be 0, or at least 0.1')
    .default(15)
    .transform((seconds) => Math.round(seconds * 1000)),
};
