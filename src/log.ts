import { type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Names under which secrets may come along in a logged object, at the top and one level down. */
const SECRET_FIELDS = ['apiKey', 'signingSecret', 'password', 'authorization', 'cookie', 'databaseUrl', 'payload'];

/** Of a connection string in an error's text. */
const PASSWORD_IN_URL = /(:\/\/[^\s:/@]*):[^\s@]+@/g;

/** JSON lines on stderr: stdout is for the results of the admin commands. */
export function createLog(options: { level: LogLevel }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    // Words rather than pino's numbers, for people and for log collectors.
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [...SECRET_FIELDS, ...SECRET_FIELDS.map((field) => `*.${field}`), '*.headers.authorization'],
      censor: '[secret]',
    },
    serializers: { err: describeError, error: describeError },
  };
  // Synchronous, so that the last line before an exit is written.
  return pino(settings, pino.destination({ dest: 2, sync: true }));
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  return {
    type: name,
    message: withoutPasswords(message),
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack: withoutPasswords(stack) }),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

function withoutPasswords(text: string): string {
  return text.replace(PASSWORD_IN_URL, '$1:[secret]@');
}
