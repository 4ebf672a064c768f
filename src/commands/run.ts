import { parseConfig } from '../config.ts';
import { createLevelSwitch, createLog, logProcessWarnings } from '../log.ts';
import { doubtsAbout, withSecretFiles } from '../variables.ts';
import { BUILD } from '../version.ts';
import { helpOf, readArguments, usageOf } from './arguments.ts';
import { type Command, type Environment, UsageError } from './command.ts';
import { COMMANDS } from './index.ts';

/**
 * Runs the command that the arguments name.
 * @returns the exit code; null for a command that goes on running
 */
export async function runCommand(given: readonly string[], variables: NodeJS.ProcessEnv): Promise<0 | 1 | 2 | null> {
  const argv = commandFirst(given);
  if (argv[0] === '--version' || argv[0] === '-v') return print(`jobferry ${BUILD}`);
  const named = commandOf(argv);
  if (argv.length === 0 || argv[0] === 'help' || argv.includes('--help') || argv.includes('-h')) {
    return print(named === undefined ? overview(groupOf(argv)) : helpOf(named));
  }
  if (named === undefined) throw new UsageError(`unknown command "${argv.join(' ')}"\n\n${overview(groupOf(argv))}`);
  const { json, ...read } = readArguments(named, argv.slice(named.name.split(' ').length));
  const result = await named.run(read, environmentOf(variables));
  if (result === null) return null;
  print(json ? JSON.stringify(result.json) : result.text);
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

function print(text: string): 0 {
  console.log(text);
  return 0;
}

function commandOf(argv: readonly string[]): Command | undefined {
  const words = [argv.slice(0, 2).join(' '), argv[0] ?? ''];
  return COMMANDS.find(({ name }) => words.includes(name));
}

/** The commands that begin with the same word; all commands if none does. */
function groupOf([word]: readonly string[]): readonly Command[] {
  const group = COMMANDS.filter(({ name }) => name.split(' ')[0] === word);
  return group.length > 0 ? group : COMMANDS;
}

function overview(commands: readonly Command[]): string {
  const rows = commands.map((one) => [usageOf(one), one.summary] as const);
  const lines = rows.map(([usage, summary]) => `  ${usage}\n      ${summary}`);
  return [
    'jobferry <command>',
    '',
    ...lines,
    '',
    'Commands print for people, and with --json for programs. `jobferry COMMAND --help` explains one command,',
    '`jobferry --version` prints the version. All other settings are environment variables, see docs/configuration.md.',
  ].join('\n');
}

function environmentOf(variables: NodeJS.ProcessEnv): Environment {
  let settings: ReturnType<Environment['settings']> | undefined;
  return {
    variables,
    settings: () => {
      if (settings !== undefined) return settings;
      const config = parseConfig(withSecretFiles(variables));
      // A log in production is for programs, also when someone starts a command by hand.
      const isForPeople = process.stderr.isTTY === true && config.environment !== 'production';
      const log = createLog({ level: config.logLevel, pretty: isForPeople });
      logProcessWarnings(log);
      for (const doubt of doubtsAbout(variables)) log.warn(doubt);
      // Node would open its debugger, on a port that every user of the machine can reach.
      process.on('SIGUSR1', () => log.warn('SIGUSR1 is ignored: start with --inspect to debug'));
      process.on('SIGUSR2', createLevelSwitch(log));
      settings = { config, log };
      return settings;
    },
  };
}
