import type { JobferryClient } from '../client/index.ts';
import { DATA_DIR as DEV_FOLDER } from '../dev/run.ts';
import { addressIn, withApi } from './api.ts';
import { type Command, type Environment, type Given, type OptionTable, type Result, UsageError } from './command.ts';

/**
 * Lets a command of operators, which reads the database, also do its work through the API: for people who have a key and no
 * database, and for the `dev` of this folder.
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
      if (given.options.account !== undefined) throw new UsageError('--account is not for an API: the key has one');
      return withApi(environment, (client) => run(client, given));
    },
  };
}

/** A running `dev` of the folder is meant even beside DATABASE_URL, which is that of the application then. DATA_DIR names another. */
async function hasApi({ variables: { JOBFERRY_URL, DATA_DIR } }: Environment): Promise<boolean> {
  if (JOBFERRY_URL !== undefined) return true;
  return DATA_DIR === undefined && (await addressIn(DEV_FOLDER)) !== null;
}
