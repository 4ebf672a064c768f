import type { JobferryClient } from '../../../packages/client/src/index.ts';
import { DATA_DIR as DEV_FOLDER } from '../dev/run.ts';
import { addressIn, namedFolder, withApi } from './api.ts';
import { type Command, type Environment, type Given, type OptionTable, type Result, UsageError } from './command.ts';

/**
 * Lets a command of operators, which reads the database, also do its work through the API: for people who have a key
 * and no database, and for the `dev` of this folder.
 */
export function throughApi(
  command: Command,
  run: (client: JobferryClient, given: Given<OptionTable>) => Promise<Result>,
): Command {
  return {
    ...command,
    reach: 'either',
    run: async (given, environment) => {
      if (!(await hasApi(environment))) return command.run(given, environment);
      if (given.options.account !== undefined)
        throw new UsageError('--account cannot be used with an API: the key belongs to one account');
      return withApi(environment, (client) => run(client, given));
    },
  };
}

/**
 * A running service that brought its database along is meant even beside DATABASE_URL,
 * which is that of the application then.
 */
async function hasApi(environment: Environment): Promise<boolean> {
  const { JOBFERRY_URL, DATABASE_URL } = environment.variables;
  if (JOBFERRY_URL !== undefined) return true;
  const named = namedFolder(environment);
  if (named === null) return (await addressIn(DEV_FOLDER)) !== null;
  return Boolean(DATABASE_URL) && (await addressIn(named)) !== null;
}
