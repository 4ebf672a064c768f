// Loaded into a process of the service by `--import`: writes the bytes in use on its heap into a file at each SIGWINCH.
import { renameSync, writeFileSync } from 'node:fs';
import { memoryUsage } from 'node:process';

const file = process.env.HEAP_PROBE_FILE;
let readings = 0;

process.on('SIGWINCH', () => {
  const { heapUsed } = memoryUsage();
  readings += 1;
  writeFileSync(`${file}.new`, JSON.stringify({ readings, heapUsed }));
  renameSync(`${file}.new`, file);
});
