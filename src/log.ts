import pino, { type Logger } from 'pino';

export type { Logger } from 'pino';

/** JSON lines on stderr; stdout belongs to the results of the admin commands. */
export function createLog(level: string): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      // Nothing of this is logged on purpose; the list is for the day somebody logs a whole object.
      redact: ['*.authorization', '*.signingSecret', '*.payload', '*.secret', '*.connectionString', 'err.cause.config'],
    },
    pino.destination({ fd: 2, sync: true }),
  );
}
