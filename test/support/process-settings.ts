import type { ProcessSettings } from '../../src/domain/release.ts';

/** Settings of a process in its heartbeats, for tests in which any will do. */
export const SETTINGS: ProcessSettings = {
  host: 'app1',
  pid: 7,
  commit: 'a'.repeat(40),
  keys: ['0000000a'],
  shared: { PLANS: 'p1', JOB_RETENTION_SECONDS: '259200' },
};
