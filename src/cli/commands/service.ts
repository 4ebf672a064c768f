import { localUrl } from '../../domain/listening-address.ts';
import type { Config, Role } from '../../process/config.ts';
import type { Service } from '../../process/start.ts';
import type { Logger } from '../../telemetry/log.ts';
import { forgetAddress, rememberAddress } from '../dev/address-file.ts';
import { command, UsageError } from './command.ts';
import { migrate } from './migrate.ts';
import { stopOnSignal } from './stop-on-signal.ts';

const LABELS: Readonly<Record<string, string>> = {
  dashboard: 'dashboard',
  documentation: 'REST API',
  graphql: 'GraphQL',
  guide: 'guide',
};

/** Addresses that people can open, one line each; nothing for a worker. */
export function listOfPlaces({ address, places }: Pick<Service, 'address' | 'places'>): string {
  if (address === null) return '';
  const shown = Object.entries(places).filter(([name]) => LABELS[name] !== undefined);
  const lines = shown.map(([name, path]) => ({ url: new URL(path, address).href, label: LABELS[name] }));
  const width = Math.max(34, ...lines.map(({ url }) => url.length));
  return lines.map(({ url, label }) => `\n  ${url.padEnd(width)}  ${label}`).join('');
}

const serve = command({
  name: 'serve',
  summary: 'Start the service: API and worker in one process, or one of them.',
  options: { role: { value: 'ROLE', help: 'all, api or worker; the variable ROLE if it is left out' } },
  isService: true,
  outlivesReader: true,
  run: async ({ options }, environment) => {
    const { config, log } = environment.settings();
    const role = options.role ?? config.role;
    if (!['all', 'api', 'worker'].includes(role)) throw new UsageError('--role must be all, api or worker');
    // Loaded only for the commands that serve: the others need neither HTTP nor GraphQL.
    const { startService } = await import('../../process/start.ts');
    const starting = startService({ ...config, role: role as Role }, log, {
      onNewApiKey: (key, url) => showKey(key, url, config),
    }).then((service) => withAddress(service, config, log));
    stopOnSignal(starting, log);
    const service = await starting;
    // stdout is for people; the log is on stderr.
    console.log(`Jobferry is listening on ${service.url}\n${listOfPlaces(service)}`);
    if (mayShowSecrets(config) && config.oidc?.only !== true) await showLink(service, log);
    return null;
  },
});

/** Commands of this folder find the API by it, as they find that of `dev`. */
async function withAddress(service: Service, { databaseUrl, dataDir }: Config, log: Logger): Promise<Service> {
  const url = service.address === null ? null : localUrl(service.url);
  if (databaseUrl !== undefined || url === null) return service;
  await rememberAddress(dataDir, url).catch((err: unknown) => log.warn({ err }, 'the address could not be stored'));
  const stop = async () => {
    await forgetAddress(dataDir).catch(() => undefined);
    await service.stop();
  };
  return { ...service, stop };
}

/**
 * In production the output usually goes to a log that many people can read:
 * `sign-in-link` and `key create` print there on request.
 */
function mayShowSecrets({ environment }: Config): boolean {
  return environment !== 'production';
}

async function showLink(service: Service, log: Logger): Promise<void> {
  // Signing in is also possible with an API key, so the service runs without the link.
  const link = await service.signInLink().catch((error: unknown) => {
    log.warn({ err: error }, 'creating a sign-in link failed');
    return null;
  });
  if (link !== null) console.log(`\nSign in to the dashboard (works once, for ten minutes):\n\n  ${link}\n`);
}

function showKey(key: string, url: string, config: Config): void {
  if (!mayShowSecrets(config)) {
    const how =
      config.databaseUrl === undefined
        ? `is in ${config.dataDir}/api-key`
        : 'is not stored: `account list` shows the id of the account, and `key create --account ID` creates a key';
    console.log(`\nThe first account was created. In production its API key is not printed; it ${how}.\n`);
    return;
  }
  const curl = url.startsWith('unix:')
    ? `curl -s --unix-socket ${url.slice('unix:'.length)} http://localhost`
    : `curl -s ${(localUrl(url) ?? '').replace(/\/$/, '')}`;
  const where = config.databaseUrl === undefined ? `, and stored in ${config.dataDir}/api-key` : '';
  console.log(`
Your API key (shown once${where}):

  ${key}

Try it:

  ${curl}/v1/queues -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
    -d '{"name":"first","webhookUrl":"http://127.0.0.1:9000/"}'
  ${curl}/v1/queues/first/jobs -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
    -d '{"payload":{"hello":"world"}}'
`);
}

export const SERVICE_COMMANDS = [serve, migrate];
