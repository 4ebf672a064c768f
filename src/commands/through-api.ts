import type { JobferryClient } from '../client/index.ts';
import { withApi } from './api.ts';
import { type Command, type Given, type OptionTable, type Result, UsageError } from './command.ts';

/**
 * Lets a command of operators, which reads the database, also do its work through the API: for people who have a key and no
 * database. They set JOBFERRY_URL.
 */
export function throughApi(
  command: Command,
  run: (client: JobferryClient, given: Given<OptionTable>) => Promise<Result>,
): Command {
  return {
    ...command,
    reach: 'either',
    run: (given, environment) => {
      if (environment.variables.JOBFERRY_URL === undefined) return command.run(given, environment);
      if (given.options.account !== undefined)
        throw new UsageError('--account is not for JOBFERRY_URL: the key has one');
      return withApi(environment, (client) => run(client, given));
    },
  };
}
