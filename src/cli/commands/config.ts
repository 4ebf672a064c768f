import { ConfigError, parseConfig, VARIABLES } from '../../process/config.ts';
import { isRetentionShort, SHORT_RETENTION } from '../../process/start/warnings.ts';
import { doubtsAbout, SECRETS, withSecretFiles } from '../../process/variables.ts';
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
  try {
    const read = withSecretFiles(variables);
    const { jobRetentionMs: retentionMs, jobLifetimeMs: lifetimeMs } = parseConfig(read);
    if (isRetentionShort({ retentionMs, lifetimeMs })) warnings.push(SHORT_RETENTION);
    const set = VARIABLES.filter((name) => isSet(name, read[name])).map(
      (name) => [name, shownValue(name, read[name])] as const,
    );
    const text = set.length === 0 ? 'No variable is set: everything has its default.' : facts(set);
    return {
      json: { ok: true, warnings, set: Object.fromEntries(set) },
      text: [text, ...warnings.map(asWarning), 'ok'].join('\n'),
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.message.split('\n');
    const lines = [...problems.map((problem) => `wrong: ${problem}`), ...warnings.map(asWarning)];
    return { json: { ok: false, warnings, problems }, text: lines.join('\n'), isFailure: true };
  }
}

function asWarning(warning: string): string {
  return `warning: ${warning}`;
}

/** An empty value is no value, except here: no block is allowed then, in place of the default. */
function isSet(name: string, value: string | undefined): boolean {
  return value !== undefined && (value !== '' || name === 'WEBHOOK_ALLOW_CIDRS');
}

function shownValue(name: string, value: string | undefined): string {
  if (value === '') return '(none)';
  return SECRETS.includes(name) ? '(secret)' : (value ?? '');
}

export const CONFIG_COMMANDS = [check];
