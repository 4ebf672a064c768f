import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { DatabaseAway } from '../domain/errors.ts';
import { pretty } from './log-pretty.ts';
import { Repeats } from './log-repeats.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/** Members of a logged object that may contain secrets, at the top and one level down. */
const SECRET_FIELDS = ['apiKey', 'signingSecret', 'password', 'authorization', 'cookie', 'databaseUrl', 'payload'];

/** Matches the password of a connection string in an error's text. */
const PASSWORD_IN_URL = /(:\/\/[^\s:/@]*):[^\s@]+@/g;

/** Most equal lines about an error in one period. */
const MAX_REPEATS = 5;
const REPEATS_MS = 10_000;

/** Unlike the codes of Node, such as `EPIPE`, each has a digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** Said instead of the lines of all background work while the database is away. */
const AWAY = 'the database is not available: background work fails, and is retried';

/** How long a raised level lasts: what an operator turns on at night is not forgotten. */
const RAISED_MS = 600_000;

/**
 * Makes a logger that writes JSON lines to stderr, or lines for people;
 * stdout is for the results of the admin commands.
 * @param destination must be synchronous, so that the last line before an exit is written
 */
export function createLog(
  options: { level: LogLevel; pretty?: boolean },
  destination: DestinationStream = stderr(options.pretty === true),
): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    // Level names instead of pino's numbers, for people and for log collectors.
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [...SECRET_FIELDS, ...SECRET_FIELDS.map((field) => `*.${field}`), '*.headers.authorization'],
      censor: '[secret]',
    },
    serializers: { err: describeError, error: describeError },
    hooks: { logMethod: withoutRepeats() },
  };
  return pino(settings, destination);
}

function stderr(forPeople: boolean): DestinationStream {
  const written = pino.destination({ dest: 2, sync: true });
  if (!forPeople) return written;
  // https://no-color.org
  const colours = (process.env.NO_COLOR ?? '') === '';
  return { write: (line) => void written.write(pretty(line, { colours })) };
}

/**
 * Returns a function that raises the level to `debug` for ten minutes, or ends that. The level is raised in all parts
 * of the process, because they share the logger.
 */
export function createLevelSwitch(log: Logger): () => void {
  const usual = log.level;
  let timer: NodeJS.Timeout | null = null;
  const end = (reason: string) => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    log.warn({ logLevel: usual }, `${reason}: the log level is as before`);
    log.level = usual;
  };
  return () => {
    if (timer !== null) {
      end('a second signal');
      return;
    }
    if (log.isLevelEnabled('debug')) {
      log.warn({ logLevel: usual }, 'the log level is not raised: it is debug or trace already');
      return;
    }
    log.level = 'debug';
    timer = setTimeout(() => end('ten minutes have passed'), RAISED_MS).unref();
    log.warn({ logLevel: 'debug' }, 'the log level is raised to debug for ten minutes');
  };
}

/**
 * Logs the warnings of Node and of libraries, which Node would print as lines of text between those of the log. With
 * `--no-warnings` it prints none, and none is logged.
 */
export function logProcessWarnings(log: Logger): void {
  if (process.listenerCount('warning') === 0) return;
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'a warning of the process'));
}

/** Leaves out repeated lines about errors, because an outage causes very many of them. */
function withoutRepeats(): LogMethod {
  // Not for `fatal`: such a line is the last one.
  const { warn, error } = pino.levels.values as { warn: number; error: number };
  let logger: Logger | null = null;
  const onLeftOut = (of: string, leftOut: number) => logger?.warn({ of, leftOut }, 'equal lines were left out');
  const repeats = new Repeats({ periodMs: REPEATS_MS, most: MAX_REPEATS, onLeftOut });
  // Every loop of the process fails several times a second then. Lines that matter, such as the server that is found
  // next, must not be between hundreds of others.
  const outages = new Repeats({ periodMs: REPEATS_MS, most: 1, onLeftOut });
  return function (args, method, level) {
    const [fields, message] = args as unknown as [unknown, unknown];
    const cause = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : null;
    if ((level !== warn && level !== error) || !(cause instanceof Error) || typeof message !== 'string') {
      method.apply(this, args);
      return;
    }
    logger = this;
    if (level === warn && cause instanceof DatabaseAway) {
      this.debug(fields as object, message);
      if (outages.show(AWAY, '') === 'nothing') return;
      method.apply(this, [{ reason: rootOf(cause), first: message }, AWAY] as unknown as typeof args);
      return;
    }
    const shown = repeats.show(message, causesOf(cause));
    if (shown === 'nothing') return;
    const printed = shown === 'line' ? { ...(fields as object), err: withoutStack(describeError(cause)) } : fields;
    method.apply(this, [printed, message] as unknown as typeof args);
  };
}

function causesOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return `${error.message.slice(0, 200)} ${error.cause === undefined ? '' : causesOf(error.cause)}`;
}

/** The message of the innermost error. */
function rootOf(error: Error): string {
  if (error.cause instanceof Error) return rootOf(error.cause);
  const { code } = error as NodeJS.ErrnoException;
  const state = code !== undefined && SQLSTATE.test(code) ? ` (SQLSTATE ${code})` : '';
  return withoutPasswords((error.message || (code ?? error.name)) + state);
}

function withoutStack(described: unknown): unknown {
  if (typeof described !== 'object' || described === null) return described;
  const { stack: _, cause, ...rest } = described as { stack?: string; cause?: unknown };
  return cause === undefined ? rest : { ...rest, cause: withoutStack(cause) };
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
