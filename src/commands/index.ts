import { ACCOUNT_COMMANDS } from './accounts.ts';
import { BACKUP_COMMANDS } from './backup.ts';
import type { Command } from './command.ts';
import { CONFIG_COMMANDS } from './config.ts';
import { DOCTOR_COMMANDS } from './doctor.ts';
import { JOB_COMMANDS } from './job.ts';
import { KEY_COMMANDS } from './keys.ts';
import { QUEUE_COMMANDS } from './queues.ts';
import { SERVICE_COMMANDS } from './service.ts';

/** All commands, in the order in which the help lists them. */
export const COMMANDS: readonly Command[] = [
  ...SERVICE_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...QUEUE_COMMANDS,
  ...JOB_COMMANDS,
  ...CONFIG_COMMANDS,
  ...BACKUP_COMMANDS,
  ...DOCTOR_COMMANDS,
];
