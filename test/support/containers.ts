import { spawnSync } from 'node:child_process';

/** Options of `unshare` for namespaces that stand for another container: its processes have other pids. */
export const CONTAINER = ['--pid', '--ipc', '--mount', '--fork', '--mount-proc', '--kill-child'];
/** And other ports. */
export const OWN_NETWORK = '--net';

export const mayUnshare = spawnSync('unshare', [...CONTAINER, OWN_NETWORK, 'true']).status === 0;
