import { ConfigError, parseConfig, VARIABLES } from '../config.ts';
import { doubtsAbout, SECRETS, withSecretFiles } from '../variables.ts';
import { command, type Result } from './command.ts';
import { facts } from './output.ts';

const check = command({
  name: 'config check',
  summary: 'Check the variables, and show those that are set. Needs no database.',
  options: {},
  run: async (_given, { variables }) => checked(variables),
});

function checked(variables: NodeJS.ProcessEnv): Result {
  const warnings = doubtsAbout(variables);
  const said = warnings.map((warning) => `warning: ${warning}`);
  try {
    const read = withSecretFiles(variables);
    parseConfig(read);
    const set = VARIABLES.filter((name) => read[name]).map((name) => [name, shownValue(name, read[name])] as const);
    const text = set.length === 0 ? 'No variable is set: everything has its default.' : facts(set);
    return { json: { ok: true, warnings, set: Object.fromEntries(set) }, text: [text, ...said, 'ok'].join('\n') };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.message.split('\n');
    const lines = [...problems.map((problem) => `wrong: ${problem}`), ...said];
    return { json: { ok: false, warnings, problems }, text: lines.join('\n'), isFailure: true };
  }
}

function shownValue(name: string, value: string | undefined): string {
  return SECRETS.includes(name) ? '(secret)' : (value ?? '');
}

export const CONFIG_COMMANDS = [check];
