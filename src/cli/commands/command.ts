import type { Config } from '../../process/config.ts';
import type { Logger } from '../../telemetry/log.ts';

/** A command that cannot be done. Its message is for people. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** A mistake in the command line, which no repetition fixes: the process ends with 2. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError';
}

export interface Option {
  /** Name of the value in the usage, such as `ID`. An option without one is a flag. */
  readonly value?: string;
  readonly required?: boolean;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, Option>>;

type ValueOf<O extends Option> = O extends { value: string }
  ? O extends { required: true }
    ? string
    : string | undefined
  : boolean;

/** Options and arguments that the operator gave to a command. */
export interface Given<T extends OptionTable> {
  readonly options: { readonly [Name in keyof T]: ValueOf<T[Name]> };
  /** The command's one argument; empty if the command has none. */
  readonly argument: string;
}

/** The output of a command on stdout. */
export interface Result {
  /** For programs, with `--json`. */
  readonly json: unknown;
  /** For people. */
  readonly text: string;
  /** The whole output, for people and programs, in the place of the other two. Its end may be an error. */
  readonly stream?: AsyncIterable<string>;
  /** Lines on stderr, after the output. A stream may add some until its end. */
  readonly notes?: readonly string[];
  /** Whether the process ends with 1, although the command did its work: it found something wrong. */
  readonly isFailure?: boolean;
  /** The exit code of such a process, if programs must be able to tell this from other failures. */
  readonly exitCode?: 3;
}

export interface Settings {
  config: Config;
  log: Logger;
}

export interface Environment {
  readonly variables: NodeJS.ProcessEnv;
  /** Reads the settings, and logs what is doubtful in them. @throws ConfigError */
  settings(): Settings;
  /**
   * Reads the settings of a service that runs in the shell of an application:
   * only variables with JOBFERRY_ are its own.
   */
  settingsOfDev(): Settings;
}

interface Definition<T extends OptionTable> {
  /** One or two words, such as `account list`. */
  readonly name: string;
  readonly summary: string;
  readonly options: T;
  /**
   * `api`: the command needs no database, but the API of a Jobferry. `either`: it takes the API if JOBFERRY_URL is set.
   */
  readonly reach?: 'api' | 'either';
  readonly argument?: {
    readonly name: string;
    readonly what: string;
    /** Whether the command also does without it. It is empty then. */
    readonly optional?: boolean;
  };
  /** Whether the command prints while it runs, and has no result. Such a command has no `--json`. */
  readonly isService?: boolean;
  /** Whether such a command goes on when nothing reads its output any more; the others end then. */
  readonly outlivesReader?: boolean;
  run(given: Given<T>, environment: Environment): Promise<Result | null>;
}

export type Command = Definition<OptionTable>;

/** Lets the compiler derive the types of the values from the table of options. */
export function command<const T extends OptionTable>(definition: Definition<T>): Command {
  // The cast is safe: `readArguments` reads the values by the same table.
  return definition as unknown as Command;
}
