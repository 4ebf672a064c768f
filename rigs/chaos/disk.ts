import { execFile } from 'node:child_process';
import { mkdtemp, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A small file system that a test can fill. */
export interface SmallDisk {
  folder: string;
  unmount(): Promise<void>;
}

/** Mounting needs root; what cannot be mounted cannot be filled. */
export const CAN_MOUNT = process.platform === 'linux' && process.getuid?.() === 0;

export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const execute = promisify(execFile);
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-disk-'));
  await execute('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  return {
    folder,
    async unmount() {
      await execute('umount', [folder]);
      await rmdir(folder);
    },
  };
}

/** Writes to the file until its file system has no room left. */
export async function fillWith(path: string): Promise<void> {
  const block = Buffer.alloc(1 << 20);
  for (let size = block.length; size >= 4096; ) {
    const isFull = await writeFile(path, block.subarray(0, size), { flag: 'a' }).then(
      () => false,
      () => true,
    );
    if (isFull) size /= 2;
  }
}
