import { readArguments } from '../../src/cli/commands/arguments.ts';
import type { Result } from '../../src/cli/commands/command.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { run as runNamed } from '../../src/cli/commands/refusals.ts';
import { parseConfig } from '../../src/process/config.ts';
import { createLog } from '../../src/telemetry/log.ts';

/** Runs commands in the test's own process, on a database. A process for each would take half a second. */
export function openCommands(databaseUrl: string, variables: Record<string, string> = {}) {
  const given = { DATABASE_URL: databaseUrl, ...variables };
  const settings = { config: parseConfig(given), log: createLog({ level: 'silent' }) };
  const run = async (...argv: string[]): Promise<Result> => {
    const command = COMMANDS.find(({ name }) => [argv.slice(0, 2).join(' '), argv[0]].includes(name));
    if (command === undefined) throw new Error(`no command ${argv.join(' ')}`);
    const read = readArguments(command, argv.slice(command.name.split(' ').length));
    const result = await runNamed(command, read, {
      variables: given,
      settings: () => settings,
      settingsOfDev: () => settings,
    });
    if (result === null) throw new Error(`${command.name} has no result`);
    return result;
  };
  return {
    run,
    /** The output of the command for programs. */
    json: async <T>(...argv: string[]): Promise<T> => JSON.parse(JSON.stringify((await run(...argv)).json)) as T,
    /** The output of the command for people. */
    text: async (...argv: string[]): Promise<string> => (await run(...argv)).text,
  };
}
