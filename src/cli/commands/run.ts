import { meantBy } from '../../domain/spelling.ts';
import { type Config, ConfigError, parseConfig } from '../../process/config.ts';
import { doubtsAbout, PREFIX, prefixed, withSecretFiles } from '../../process/variables.ts';
import { BUILD } from '../../process/version.ts';
import { createLevelSwitch, createLog, logProcessWarnings } from '../../telemetry/log.ts';
import { helpOf, readArguments, usageOf } from './arguments.ts';
import { type Command, CommandError, type Environment, type Settings, UsageError } from './command.ts';
import { BUILDING, COMMANDS, OPERATING } from './index.ts';
import { jsonOf, printable, printableLines } from './output.ts';
import { run } from './refusals.ts';

/**
 * Runs the command that the arguments name.
 * @returns the exit code; null for a command that goes on running
 */
export async function runCommand(given: readonly string[], variables: NodeJS.ProcessEnv): Promise<0 | 1 | 3 | null> {
  // An error of stdout is that of a write, too, which `print` waits for. A service goes on without readers.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const argv = commandFirst(given);
  if (argv[0] === '--version' || argv[0] === '-v') return printText(`jobferry ${BUILD}`);
  const named = commandOf(argv);
  if (argv.length === 0 || argv[0] === 'help' || argv.includes('--help') || argv.includes('-h')) {
    return printText(helpAbout(argv[0] === 'help' ? argv.slice(1) : argv));
  }
  if (named === undefined) throw new UsageError(unknown(argv));
  const { json, ...read } = readArguments(named, argv.slice(named.name.split(' ').length));
  if (named.isService === true && named.outlivesReader !== true) endWithReader();
  const result = await run(named, read, environmentOf(variables));
  if (result === null) return null;
  if (result.stream === undefined) await printText(json ? jsonOf(result.json) : result.text);
  else await print(result.stream);
  for (const note of result.notes ?? []) console.error(`jobferry: ${printable(note)}`);
  return result.isFailure === true ? (result.exitCode ?? 1) : 0;
}

/** Returns the arguments with the name of the command first, which the flags `--json` and `--help` may precede. */
function commandFirst(argv: readonly string[]): readonly string[] {
  const from = argv.findIndex((word) => !['--json', '--help', '-h'].includes(word));
  if (from < 0) return argv;
  const [word = ''] = argv.slice(from);
  if (word.startsWith('-') && !['--version', '-v'].includes(word))
    throw new UsageError(`options follow the command, as in: jobferry COMMAND ${word} …`);
  return [...argv.slice(from), ...argv.slice(0, from)];
}

async function printText(text: string): Promise<0> {
  await print([`${text}\n`]);
  return 0;
}

/**
 * Waits for the reader of the output. One that has gone, as `head` does, needs no more.
 * @throws CommandError when the output cannot be written, as on a full disk
 */
async function print(texts: Iterable<string> | AsyncIterable<string>): Promise<void> {
  const { stdout } = process;
  for await (const text of texts) {
    // A file keeps every character. A terminal would obey some.
    const shown = stdout.isTTY ? printableLines(text) : text;
    const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
      stdout.write(shown, (failure) => resolve(failure ?? null));
    });
    if (error?.code === 'EPIPE') process.exit(0);
    if (error !== null) throw new CommandError(`the output could not be written: ${error.message}`);
  }
}

/** A command that follows has no more to do when nothing reads its output any more, as behind `| head`. */
function endWithReader(): void {
  process.stdout.once('error', () => {
    // As Ctrl-C does, so that the command ends what it has begun.
    if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(0);
  });
}

/** The help of the command, of the commands that begin with the word, or a list of all. */
function helpAbout(argv: readonly string[]): string {
  const named = commandOf(argv);
  if (named !== undefined) return helpOf(named);
  const group = groupOf(argv);
  return group === null ? overview() : linesOf(group).join('\n');
}

function commandOf(argv: readonly string[]): Command | undefined {
  const words = [argv.slice(0, 2).join(' '), argv[0] ?? ''];
  return COMMANDS.find(({ name }) => words.includes(name));
}

/** The error is of the words that the command would have, and not of what may be a secret behind them. */
function unknown(argv: readonly string[]): string {
  const words = argv.slice(0, 2).filter((word) => !word.startsWith('-'));
  const names = COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] ?? name]);
  const meant = meantBy(words.join(' '), names) ?? meantBy(words[0] ?? '', names);
  const isNew = meant !== null && meant !== words.join(' ') && meant !== words[0];
  const group = groupOf(argv) === null ? '' : ` ${words[0]}`;
  return [
    `unknown command "${printable(words.join(' '))}"${isNew ? `: did you mean "${meant}"?` : ''}`,
    `\`jobferry${group} --help\` lists the commands`,
  ].join('\n');
}

/** The commands that begin with the same word; null if none does. */
function groupOf([word]: readonly string[]): readonly Command[] | null {
  const group = COMMANDS.filter(({ name }) => name.split(' ')[0] === word);
  return group.length > 0 ? group : null;
}

const BUILDERS = [
  'To build with Jobferry. Most of these use the API at JOBFERRY_URL with JOBFERRY_API_KEY, or else the `jobferry dev` or `serve`',
  'of this folder:',
];

function overview(): string {
  return [
    'jobferry <command>',
    '',
    ...BUILDERS,
    '',
    ...rowsOf(BUILDING),
    '',
    'To run it:',
    '',
    ...rowsOf(OPERATING),
    '',
    'Commands print text; with --json they print JSON for programs. Exit codes: 1 for failure, 2 for wrong usage.',
    '`jobferry COMMAND --help` explains one command, `jobferry --version` prints the version. All other settings are',
    'environment variables, see docs/configuration.md.',
  ].join('\n');
}

/** A line for each command, with the first sentence of its summary. */
function rowsOf(commands: readonly Command[]): string[] {
  const rows = commands.map(({ name, summary }) => ({ name, words: summary.split(/(?<=[.:]) /)[0] ?? '' }));
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map(({ name, words }) => `  ${name.padEnd(width)}  ${words.replace(/:$/, '.')}`);
}

function linesOf(commands: readonly Command[]): string[] {
  return commands.map((one) => `  ${usageOf(one)}\n      ${one.summary}`);
}

function environmentOf(variables: NodeJS.ProcessEnv): Environment {
  const read = (config: Config, doubts: readonly string[]): Settings => {
    // A log in production is for programs, also when someone starts a command by hand.
    const isForPeople = process.stderr.isTTY === true && config.environment !== 'production';
    const log = createLog({ level: config.logLevel, pretty: isForPeople });
    logProcessWarnings(log);
    for (const doubt of doubts) log.warn(doubt);
    // Node would open its debugger, on a port that every user of the machine can reach.
    process.on('SIGUSR1', () => log.warn('SIGUSR1 is ignored: start with --inspect to debug'));
    process.on('SIGUSR2', createLevelSwitch(log));
    return { config, log };
  };
  return {
    variables,
    settings: once(() => read(parseConfig(withSecretFiles(variables)), doubtsAbout(variables))),
    settingsOfDev: once(() => {
      const own = prefixed(variables);
      return read(ownConfig(own), doubtsAbout(own, PREFIX));
    }),
  };
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** @throws ConfigError that names the variables as they are set */
function ownConfig(own: NodeJS.ProcessEnv): Config {
  try {
    return parseConfig(withSecretFiles(own));
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(error.message.replace(/^/gm, PREFIX)) : error;
  }
}
