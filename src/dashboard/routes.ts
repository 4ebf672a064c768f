import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

/**
 * What the shell shows of the features. They do not import each other: what a screen shows of another feature is given to
 * it here.
 */

/** A screen, loaded when it is first shown. */
export interface Route {
  /** Pattern of wouter, below the base path. */
  path: string;
  Screen: LazyExoticComponent<AnyScreen>;
  /** Loads the script of the screen before it is shown. */
  load: () => Promise<unknown>;
  /** Properties of the screen besides its parameters. */
  given: object;
}

type AnyScreen = ComponentType<{ params: Record<string, string> }>;
type Module<Given> = { default: ComponentType<Given & { params: never }> };

function route<Given extends object = object>(
  path: string,
  load: () => Promise<Module<Given>>,
  given: Given = {} as Given,
): Route {
  return { path, load, given, Screen: lazy(load as () => Promise<{ default: AnyScreen }>) };
}

/** Says how the bulk actions that this tab started have ended. */
export const MyActions = lazy(() => import('./shell/my-actions.tsx'));
const FirstRun = lazy(() => import('./screens/first-run/first-run.tsx'));

/** The first that matches is shown. */
export const ROUTES: readonly Route[] = [
  route('/', () => import('./screens/overview/overview.tsx'), { FirstRun }),
  route('/queues', () => import('./screens/queues/queues.tsx'), { FirstRun }),
  route('/queues/:name', () => import('./screens/queue/queue.tsx')),
  route('/queues/:name/send', () => import('./screens/send/send.tsx')),
  route('/queues/:name/edit', () => import('./screens/queue-settings/queue-settings.tsx')),
  route('/jobs', () => import('./screens/jobs/jobs.tsx')),
  route('/jobs/attempts', () => import('./screens/attempts/attempts.tsx')),
  route('/jobs/:id', () => import('./screens/job/job.tsx')),
  route('/dead', () => import('./screens/dead-letters/dead-letters.tsx')),
  route('/actions', () => import('./screens/actions/actions.tsx')),
  route('/actions/:id', () => import('./screens/action/action.tsx')),
  route('/alerts', () => import('./screens/alerts/alerts.tsx')),
  route('/activity', () => import('./screens/activity/activity.tsx')),
  route('/system', () => import('./screens/system/system.tsx')),
  route('/settings', () => import('./screens/settings/settings.tsx')),
  route('/settings/:part', () => import('./screens/settings/settings.tsx')),
];

/** Loads the screen of a path ahead of time, such as when the pointer is on its link. */
export function preload(path: string): void {
  void ROUTES.find((route) => route.path === path)?.load();
}
