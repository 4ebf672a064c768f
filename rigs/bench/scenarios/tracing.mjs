import { copyFileSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spread } from '../measure/statistics.mjs';
import { variantScenario } from './variants.mjs';

/** A copy beside the packages that it imports. */
const SDK = fileURLToPath(new URL('../node_modules/.jobferry/telemetry.mjs', import.meta.url));
const RATIO = 0.01;
const ABOUT = `an OpenTelemetry SDK that samples ${RATIO * 100} % of the traces, and a collector: CPU per job without and with`;
/** Percent of the CPU of Jobferry and PostgreSQL per job. */
const AIM_PERCENT = 3;

export const tracing = {
  about: ABOUT,
  async run(stage, options) {
    mkdirSync(dirname(SDK), { recursive: true });
    copyFileSync(new URL('../../../deploy/tracing/telemetry.mjs', import.meta.url), SDK);
    const collector = await startCollector();
    try {
      return await withCollector(collector).run(stage, options);
    } finally {
      collector.close();
    }
  },
};

function withCollector({ url, received }) {
  const env = { NODE_OPTIONS: `--import ${SDK}`, OTEL_EXPORTER_OTLP_ENDPOINT: url, TRACE_RATIO: String(RATIO) };
  return variantScenario({
    about: ABOUT,
    title: 'Tracing at full load',
    variants: [
      { name: 'no-sdk', label: 'no SDK' },
      { name: 'sdk', label: `SDK, ${RATIO * 100} % sampled`, start: { env } },
    ],
    notes: (turns) => [costNote(turns)],
    // Without spans at the collector the SDK would not have been there.
    faults: () => (received() > 0 ? [] : ['no span has reached the collector']),
  });
}

function costNote(turns) {
  const cpu = (name) => spread(turns.filter(({ system }) => system === name).map((turn) => turn.cpuPerJob.system)).median;
  const percent = (cpu('sdk') / cpu('no-sdk') - 1) * 100;
  const verdict = percent < AIM_PERCENT ? 'met' : 'missed';
  return `The SDK costs ${percent.toFixed(1)} % CPU per job by the medians; the aim is less than ${AIM_PERCENT} %: ${verdict}.`;
}

/** Takes spans and drops them. */
async function startCollector() {
  let requests = 0;
  const server = createServer((req, res) => {
    requests += 1;
    req.resume();
    req.on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, received: () => requests, close };
}
