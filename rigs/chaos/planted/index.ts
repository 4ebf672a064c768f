import { ACCOUNTING } from './accounting.ts';
import type { Bug } from './bug.ts';
import { DELIVERING } from './delivering.ts';
import { KNOWING } from './knowing.ts';
import { LOSING } from './losing.ts';
import { RECOVERING } from './recovering.ts';

export const BUGS: Bug[] = [...LOSING, ...DELIVERING, ...ACCOUNTING, ...RECOVERING, ...KNOWING];
