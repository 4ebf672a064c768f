import { afterAll } from 'vitest';
import { endFile } from './end-of-file.ts';

/** Set-up of each test file in a process that files share: helpers are loaded once, and with them their own hooks. */

afterAll(endFile);
