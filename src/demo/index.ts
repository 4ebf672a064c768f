import type { Config } from '../config.ts';

export async function runDemo(_config: Config): Promise<void> {}
