#!/usr/bin/env node
import { rmSync, writeFileSync } from 'node:fs';
import { UsageError } from './cli/commands/command.ts';
import { printableLines } from './cli/commands/output.ts';
import { runCommand } from './cli/commands/run.ts';
import { ROOT } from './process/root.ts';

leaveMark();
runCommand(process.argv.slice(2), process.env).then(
  (code) => {
    if (code !== null) process.exitCode = code;
  },
  (error: unknown) => {
    // The message is written for operators. The stack is printed only at the log levels for debugging.
    const message = error instanceof Error ? error.message : String(error);
    console.error(`jobferry: ${printableLines(message)}`);
    if (['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '')) console.error(error);
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);

/**
 * In a clone, a build has a folder for the ids of its processes, and stays while one of them runs: scripts/builds.mjs.
 */
function leaveMark(): void {
  const mark = new URL(`running/${process.pid}`, ROOT);
  try {
    writeFileSync(mark, '');
  } catch {
    return; // an installed package has no such folder
  }
  process.on('exit', () => rmSync(mark, { force: true }));
}
