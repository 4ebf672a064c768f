import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../results/', import.meta.url));

/** A JSON file with everything and a Markdown file with the tables, named by scenario and time. */
export async function writeReport({ scenario, startedAt, options, machine, results, tables, faults }) {
  await mkdir(FOLDER, { recursive: true });
  const stem = `${scenario}-${startedAt.toISOString().slice(0, 19).replaceAll(':', '')}`;
  const seconds = Math.round((Date.now() - startedAt.getTime()) / 1000);
  const text = [
    `# ${scenario}, ${startedAt.toISOString().slice(0, 16)} UTC`,
    `${describeMachine(machine)} ${options.rounds} round${options.rounds === 1 ? '' : 's'}, ${seconds} s in all.`,
    ...tables.map(markdown),
    ...(faults.length === 0 ? [] : [`Faults:\n\n${faults.map((fault) => `- ${fault}`).join('\n')}`]),
  ].join('\n\n');
  const { dataDir: _private, ...told } = options;
  const json = { scenario, startedAt, seconds, options: told, machine, results, tables, faults };
  await writeFile(`${FOLDER}${stem}.json`, `${JSON.stringify(json, null, 2)}\n`);
  await writeFile(`${FOLDER}${stem}.md`, `${text}\n`);
  return { file: `rigs/bench/results/${stem}.{json,md}`, text };
}

/** The texts of several reports in one file, with an overview; returns its name. */
export async function writeCombined(startedAt, reports) {
  await mkdir(FOLDER, { recursive: true });
  const name = `all-${startedAt.toISOString().slice(0, 19).replaceAll(':', '')}.md`;
  const rows = reports.map(({ name: scenario, text, faults }) => {
    const times = (pattern) => String(text.match(pattern)?.length ?? 0);
    return [scenario, times(/: met\b/g), times(/: MISSED\b/g), String(faults.length), /Not to be trusted|Did not end/.test(text) ? 'no' : 'yes'];
  });
  const overview = markdown({ title: 'Overview', head: ['Scenario', 'aims met', 'aims missed', 'faults', 'to be trusted'], rows });
  const title = `# All scenarios, ${startedAt.toISOString().slice(0, 16)} UTC`;
  // One level down: they are parts of this file.
  const parts = reports.map(({ text }) => text.replaceAll(/^#/gm, '##'));
  await writeFile(`${FOLDER}${name}`, `${[title, overview, ...parts].join('\n\n')}\n`);
  return `rigs/bench/results/${name}`;
}

function describeMachine({ cpu, cpus, memoryGb, node, postgres, flushMs }) {
  return (
    `${cpus} × ${cpu}, ${memoryGb} GB, Node ${node.slice(1)}, PostgreSQL ${postgres.server_version}; ` +
    `a durable write of 8 KiB takes ${flushMs.p50} ms (p99 ${flushMs.p99}).`
  );
}

function markdown({ title, head, rows, note }) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const table = [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
  return `## ${title}\n\n${table}${note === undefined ? '' : `\n\n${note}`}`;
}
