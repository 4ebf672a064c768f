import { type ComponentType, lazy } from 'preact/compat';

/**
 * The screens that the shell shows. Features do not import each other, so a screen gets the components of another
 * feature here.
 */

/** A screen, loaded when it is first shown. */
export interface Route {
  /** Pattern of wouter, below the base path. */
  path: string;
  Screen: AnyScreen;
  /** Loads the script of the screen before it is shown. */
  load: () => Promise<unknown>;
  /** Properties of the screen besides its parameters. */
  given: object;
  /** Whether the screen itself goes from one parameter to another, and keeps its fields and the focus. */
  isOne: boolean;
}

type AnyScreen = ComponentType<{ params: Record<string, string> }>;
type Module<Given> = { default: ComponentType<Given & { params: never }> };

function route<Given extends object = object>(
  path: string,
  load: () => Promise<Module<Given>>,
  given: Given = {} as Given,
  isOne = false,
): Route {
  return { path, load, given, isOne, Screen: lazy(load as () => Promise<{ default: AnyScreen }>) };
}

/** Says how the bulk actions that this tab started have ended. */
export const MyActions = lazy(() => import('./features/actions/my-actions.tsx'));
const FirstRun = lazy(() => import('./features/first-run/first-run.tsx'));

/** The first that matches is shown. */
export const ROUTES: readonly Route[] = [
  route('/', () => import('./features/queues/overview/overview.tsx'), { FirstRun }),
  route('/queues', () => import('./features/queues/list/queues.tsx'), { FirstRun }),
  route('/queues/:name', () => import('./features/queues/queue/queue.tsx')),
  route('/queues/:name/send', () => import('./features/jobs/send/send.tsx'), {}, true),
  route('/queues/:name/edit', () => import('./features/queues/settings/queue-settings.tsx')),
  route('/queues/:name/changes', () => import('./features/queues/changes/queue-changes.tsx')),
  route('/receivers', () => import('./features/queues/receivers/receivers.tsx')),
  route('/receivers/:host', () => import('./features/queues/receivers/receiver.tsx')),
  route('/jobs', () => import('./features/jobs/list/jobs.tsx')),
  route('/jobs/attempts', () => import('./features/jobs/attempts/attempts.tsx')),
  route('/jobs/:id', () => import('./features/jobs/job/job.tsx')),
  route('/jobs/:id/compare', () => import('./features/jobs/compare/compare.tsx')),
  route('/dead', () => import('./features/dead-letters/dead-letters.tsx')),
  route('/actions', () => import('./features/actions/list/actions.tsx')),
  route('/actions/:id', () => import('./features/actions/action/action.tsx')),
  route('/alerts', () => import('./features/alerts/alerts.tsx')),
  route('/activity', () => import('./features/activity/activity.tsx')),
  route('/system', () => import('./features/system/system.tsx')),
  route('/settings', () => import('./features/settings/settings.tsx')),
  route('/settings/:part', () => import('./features/settings/settings.tsx')),
];

/** Loads the screen of a path ahead of time, such as when the pointer is on its link. */
export function preload(path: string): void {
  void ROUTES.find((route) => route.path === path)?.load();
}
