import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

/** A screen, loaded when it is first shown. */
export interface Route {
  /** Pattern of wouter, below the base path. */
  path: string;
  Screen: LazyExoticComponent<ComponentType<{ params: Record<string, string> }>>;
  /** Loads the script of the screen before it is shown. */
  load: () => Promise<unknown>;
}

type Module = { default: ComponentType<never> };

function route(path: string, load: () => Promise<Module>): Route {
  return {
    path,
    load,
    Screen: lazy(load as () => Promise<{ default: ComponentType<{ params: Record<string, string> }> }>),
  };
}

/** The first that matches is shown. */
export const ROUTES: readonly Route[] = [
  route('/', () => import('./screens/overview/overview.tsx')),
  route('/queues', () => import('./screens/queues/queues.tsx')),
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
