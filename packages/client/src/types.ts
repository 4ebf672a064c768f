import type { RouteCalls } from './calls.ts';
import type { Verbs } from './verbs/index.ts';

/** The client: the routes of REST, and verbs beyond them. */
export type JobferryClient = RouteCalls & Verbs;
