/** Above this share of one CPU, what else the machine did has made the figures worth little. */
const NOISE = 0.15;

/**
 * The note of a table: a warning when other programs were busy (`shares` as in `cpuPerJob.others`), and further texts.
 */
export function notesOf(shares, ...texts) {
  const most = Math.max(0, ...shares);
  const warning = `**Not to be trusted**: in one of the turns, other programs used ${Math.round(most * 100)} % of a CPU.`;
  const notes = [...(most > NOISE ? [warning] : []), ...texts];
  return notes.length === 0 ? {} : { note: notes.join('\n\n') };
}
