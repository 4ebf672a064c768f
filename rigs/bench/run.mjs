// Jobferry beside its peers; see README.md.
import { parseOptions, USAGE } from './options.mjs';
import { writeCombined, writeReport } from './report/write.mjs';
import { ALL, SCENARIOS } from './scenarios/index.mjs';
import { openStage } from './stage/stage.mjs';

const options = parseOptions(process.argv.slice(2));
const isAll = options.scenario === ALL;
if (options.help || (!isAll && SCENARIOS[options.scenario] === undefined)) {
  const abouts = {
    ...Object.fromEntries(Object.entries(SCENARIOS).map(([name, { about }]) => [name, about])),
    [ALL]: 'all of these',
  };
  const lines = Object.entries(abouts).map(([name, about]) => `  ${name.padEnd(18)} ${about}`);
  console.log(`${USAGE}\n\nScenarios:\n\n${lines.join('\n')}`);
  process.exit(options.help ? 0 : 1);
}

let stage = null;
// The database server is no child of ours and would stay.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    Promise.resolve(stage?.close()).finally(() => process.exit(1));
  });
}

/** Each on a server of its own, so that none pays for what another has written. */
async function measured(name) {
  const startedAt = new Date();
  stage = await openStage(options);
  let outcome;
  try {
    outcome = await SCENARIOS[name].run(stage, options);
  } finally {
    await stage.close();
  }
  const report = { scenario: name, startedAt, options, machine: stage.machine, ...outcome };
  const { file, text } = await writeReport(report);
  console.log(`\n${text}\nWritten to ${file}.`);
  return { name, text, faults: outcome.faults };
}

async function everything() {
  const startedAt = new Date();
  const done = [];
  for (const name of Object.keys(SCENARIOS)) {
    console.log(`\n== ${name}`);
    // The others are still worth having.
    const problem = (error) => ({ name, text: `# ${name}\n\nDid not end: ${error.message}`, faults: [error.stack] });
    done.push(await measured(name).catch(problem));
    // Written each time: an hour is long.
    const file = await writeCombined(startedAt, done);
    console.log(`All so far in ${file}.`);
  }
  return done.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`));
}

const faults = isAll ? await everything() : (await measured(options.scenario)).faults;
for (const fault of faults) console.error(`FAULT: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);
