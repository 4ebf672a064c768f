import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { availableParallelism, cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Assistant } from '../load/assistant.mjs';
import { flushMs } from './disk.mjs';
import { startPostgres } from './postgres.mjs';

/** `statfs` types of file systems in memory, where a flush costs nothing. */
const IN_MEMORY = new Set([0x01021994, 0x858458f6]);

/** The parts that all systems share: the database server, the receiver, the load. */
export async function openStage(options) {
  const dataDir = await mkdtemp(join(options.dataDir ?? tmpdir(), 'jobferry-bench-'));
  if (IN_MEMORY.has((await statfs(dataDir)).type)) console.warn(`${dataDir} is in memory: flushing costs nothing there`);
  const flush = await flushMs(dataDir);
  const postgresDir = await mkdtemp(join(options.dataDir ?? tmpdir(), 'jobferry-bench-pg-'));
  const postgres = await startPostgres(postgresDir, { statements: options.profile });
  const receiver = new Assistant('receiver.mjs');
  const publisher = new Assistant('publisher.mjs');
  return {
    options,
    dataDir,
    postgres,
    receiver,
    publisher,
    /** Further helping processes, with `cpu()` and `stop()`: what they use belongs to the benchmark, not to others. */
    helpers: [],
    machine: {
      node: process.version,
      platform: `${process.platform} ${release()} ${process.arch}`,
      cpu: cpus()[0]?.model ?? 'unknown',
      cpus: availableParallelism(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
      flushMs: flush,
      postgres: postgres.settings,
    },
    async close() {
      receiver.stop();
      publisher.stop();
      for (const helper of this.helpers) helper.stop();
      await postgres.stop();
      await rm(postgresDir, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
