#!/usr/bin/env node
import { runCommand } from './commands/run.ts';

runCommand(process.argv.slice(2), process.env).then(
  (code) => {
    if (code !== null) process.exitCode = code;
  },
  (error: unknown) => {
    // The message is written for operators. The stack is printed only at the log levels for debugging.
    const message = error instanceof Error ? error.message : String(error);
    console.error(`jobferry: ${message}`);
    if (['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '')) console.error(error);
    process.exit(1);
  },
);
