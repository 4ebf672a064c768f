import { fileURLToPath } from 'node:url';
import { type Dashboard, readDashboard } from '../../http/index.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Config } from '../config.ts';
import { ROOT } from '../root.ts';

/** Where the build puts the dashboard. */
const DASHBOARD = fileURLToPath(new URL('dist/dashboard-page', ROOT));

/** Reads the dashboard if it is switched on. It is absent from a checkout that was not built. */
export function openDashboard({ dashboard, publicUrl }: Config, log: Logger): Dashboard | null {
  if (!dashboard) return null;
  const files = readDashboard(DASHBOARD, publicUrl?.pathname ?? '/');
  if (files === null) log.warn({ folder: DASHBOARD }, 'the dashboard is not served: it has not been built');
  return files;
}
