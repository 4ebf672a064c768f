import { parseArgs } from 'node:util';

export const USAGE = `npm run bench -- [options]

  --scenario NAME     what to measure, throughput by default; see README.md
  --rounds N          how often, 3 by default; systems take turns
  --seconds S         how long jobs are published in a round, 6 by default
  --minutes M         how long the memory scenario takes, 10 by default
  --rates A,B         jobs per second of the rates scenario, 1,20,200,1000 by default
  --systems A,B       only these, in this order
  --quiet S           before each turn, wait up to S seconds for a moment in which nothing else runs; 0 by default
  --data-dir DIR      where databases live for the time of the run; the folder for temporary files by default
  --profile           profiles of the service's processes in results/profiles, and its statements`;

export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      scenario: { type: 'string', default: 'throughput' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '6' },
      minutes: { type: 'string', default: '10' },
      rates: { type: 'string', default: '1,20,200,1000' },
      quiet: { type: 'string', default: '0' },
      systems: { type: 'string' },
      'data-dir': { type: 'string' },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    scenario: values.scenario,
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    minutes: positive('minutes', values.minutes),
    rates: values.rates.split(',').map((rate) => positive('rates', rate)),
    quietSeconds: Number(values.quiet),
    systems: values.systems?.split(',') ?? null,
    dataDir: values['data-dir'],
    profile: values.profile,
    help: values.help,
  };
}

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
  return value;
}
