import { ACCOUNT_COMMANDS } from './accounts.ts';
import { APPLY } from './apply.ts';
import { BACKUP_COMMANDS } from './backup.ts';
import type { Command } from './command.ts';
import { completionCommand } from './completion.ts';
import { CONFIG_COMMANDS } from './config.ts';
import { DEV } from './dev.ts';
import { DOCTOR_COMMANDS } from './doctor.ts';
import { JOB_LIST, JOB_SHOW } from './job.ts';
import { listThroughApi, showThroughApi } from './job-api.ts';
import { ACK, DEFER, EXTEND, NACK } from './job-reports.ts';
import { CANCEL, REPLAY, RUN, TAIL } from './job-verbs.ts';
import { KEY_COMMANDS } from './keys.ts';
import { LISTEN } from './listen.ts';
import { PUBLISH } from './publish.ts';
import { LIMIT } from './queue-limit.ts';
import { CREATE, ROTATE, UPDATE } from './queue-settings.ts';
import { DELETE, PURGE, REPLAY_ALL } from './queue-verbs.ts';
import { QUEUE_COMMANDS } from './queues.ts';
import { RECEIVER } from './receiver.ts';
import { PULL, SEND } from './send.ts';
import { SERVICE_COMMANDS } from './service.ts';
import { throughApi } from './through-api.ts';
import { TIME } from './time.ts';

/** Commands for people who build with Jobferry. They come first in the help. */
export const BUILDING: readonly Command[] = [
  ...[DEV, PUBLISH, SEND, RECEIVER, LISTEN, PULL, TIME],
  ...[CREATE, UPDATE, ROTATE, ...QUEUE_COMMANDS, LIMIT, PURGE, REPLAY_ALL, DELETE, APPLY],
  ...[
    throughApi(JOB_LIST, listThroughApi),
    throughApi(JOB_SHOW, showThroughApi),
    TAIL,
    REPLAY,
    CANCEL,
    RUN,
    ACK,
    NACK,
    DEFER,
    EXTEND,
  ],
  completionCommand(() => COMMANDS),
];

/** Commands for people who run a Jobferry. */
export const OPERATING: readonly Command[] = [
  ...SERVICE_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...CONFIG_COMMANDS,
  ...BACKUP_COMMANDS,
  ...DOCTOR_COMMANDS,
];

/** All commands, in the order in which the help lists them. */
export const COMMANDS: readonly Command[] = [...BUILDING, ...OPERATING];
