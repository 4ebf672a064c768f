const COLUMNS = ['second', 'sent', 'no connection', '201 in time', 'late', 'refused', 'p50 ms', 'p99 ms', 'quiet 201', 'quiet refused', 'quiet p99 ms'];

/** For people who watch the run. */
export function print(result, summary, targets) {
  const rows = [COLUMNS, ...rowsOf(result)];
  for (const row of rows) console.log(row.map((cell) => String(cell).padStart(14)).join(''));
  console.log(JSON.stringify(summary, null, 2));
  for (const { promise, figure, isMet } of targets) console.log(`${isMet ? 'kept  ' : 'MISSED'} ${promise}: ${figure}`);
}

/** For people who read. */
export function describe(result, summary, targets) {
  const { role, clientsWaitAsTold, node, cores, capacityPerSecond, offeredPerSecond, connections, seconds } = summary;
  const clients = clientsWaitAsTold ? 'Clients that are refused wait as `Retry-After` says.' : 'Clients come again at once.';
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return `# Overload

Written by \`node rigs/bench/overload/run.mjs\`; [the picture](overload.svg) has the course.
One process of the service (role \`${role}\`) with its embedded database, Node.js ${node}, ${cores} cores, shared with the load. In a
closed loop it took ${capacityPerSecond} publishes a second; then ${offeredPerSecond} a second were due for ${seconds} s, on ${connections}
connections, of which ${summary.sentPerSecond} a second found one free. ${clients} The load's process was up to ${summary.generatorLatenessP99Ms} ms
late itself (p99), which is in its times.

| Promise | Measured | Kept |
|---|---|---|
${targets.map(({ promise, figure, isMet }) => line([promise, figure, isMet ? 'yes' : '**no**'])).join('\n')}

${line(COLUMNS)}
|${COLUMNS.map(() => '---:').join('|')}|
${rowsOf(result).map(line).join('\n')}
`;
}

function rowsOf({ loud, quiet }) {
  return loud.seconds.map((second, n) => {
    const { sent, noConnection, good, late, refused, broken, p50, p99 } = second;
    const beside = quiet.seconds[n] ?? { good: 0, refused: 0, p99: null };
    const cells = [n, sent, noConnection, good, late, refused + broken, p50, p99, beside.good, beside.refused, beside.p99];
    return cells.map((cell) => cell ?? '–');
  });
}
