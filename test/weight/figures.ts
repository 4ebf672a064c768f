import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, 'weight.json');

/** A count, or a size, that does not depend on the speed of the machine. */
export interface Figure {
  value: number;
  unit: string;
  /** Share by which a measurement may differ from the kept value; without it they are equal. */
  within?: number;
}

/** Figures by name. */
export type Group = Record<string, Figure>;
/** Groups by name. */
export type Figures = Record<string, Group>;

/** A figure that differs from the kept one; `kept` or `measured` is null if only one of the two is there. */
export interface Difference {
  group: string;
  name: string;
  kept: Figure | null;
  measured: Figure | null;
}

/** @param value rounded to thousandths */
export function figure(value: number, unit: string, within?: number): Figure {
  return { value: Number(value.toFixed(3)), unit, ...(within === undefined ? {} : { within }) };
}

/** The figures of `weight.json`; none while there is no such file. */
export function keptFigures(): Figures {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

/**
 * Writes the measured figures into `weight.json`. Kept values that the measurement confirms stay, so noise changes no
 * line, and so do groups that were not measured.
 */
export function keep(measured: Figures): void {
  const kept = keptFigures();
  const next: Figures = { ...kept };
  for (const [group, figures] of Object.entries(measured)) {
    const old = kept[group] ?? {};
    next[group] = Object.fromEntries(
      Object.entries(figures).map(([name, now]) => {
        const before = old[name];
        return [name, before !== undefined && agree(before, now) ? { ...now, value: before.value } : now];
      }),
    );
  }
  writeFileSync(FILE, `${written(next)}\n`);
}

/** One figure a line, so that a change of one is a change of one line. */
function written(figures: Figures): string {
  const groups = Object.entries(figures).map(([group, members]) => {
    const lines = Object.entries(members).map(([name, { value, unit, within }]) => {
      const tolerance = within === undefined ? '' : `, "within": ${within}`;
      return `    ${JSON.stringify(name)}: { "value": ${value}, "unit": ${JSON.stringify(unit)}${tolerance} }`;
    });
    return `  ${JSON.stringify(group)}: {\n${lines.join(',\n')}\n  }`;
  });
  return `{\n${groups.join(',\n')}\n}`;
}

/** @returns the differences, of the groups that were measured only */
export function differences(kept: Figures, measured: Figures): Difference[] {
  return Object.entries(measured).flatMap(([group, figures]) => {
    const before = kept[group] ?? {};
    const names = new Set([...Object.keys(before), ...Object.keys(figures)]);
    return [...names].flatMap((name) => {
      const [old = null, now = null] = [before[name], figures[name]];
      return old !== null && now !== null && agree(old, now) ? [] : [{ group, name, kept: old, measured: now }];
    });
  });
}

function agree(kept: Figure, measured: Figure): boolean {
  const { within = 0 } = measured;
  if (kept.unit !== measured.unit) return false;
  return Math.abs(measured.value - kept.value) <= within * Math.abs(kept.value);
}

/**
 * The complaint about measured figures that differ from the kept ones, for the person who has made the change;
 * empty if none does.
 */
export function complaint(measured: Figures): string {
  const lines = differences(keptFigures(), measured).map(({ group, name, kept, measured: now }) => {
    const within = now?.within === undefined ? '' : ` (within ${100 * now.within} %)`;
    return `  ${group} / ${name}: kept ${said(kept)}, measured ${said(now)}${within}`;
  });
  if (lines.length === 0) return '';
  return (
    `The weight of a job has changed:\n${lines.join('\n')}\n` +
    'If this is meant, run `npm run weigh` and commit test/weight/weight.json with the reason.'
  );
}

/** All figures beside the kept ones, for a terminal. */
export function table(kept: Figures, measured: Figures): string {
  return Object.entries(measured)
    .map(([group, figures]) => {
      const width = Math.max(...Object.keys(figures).map((name) => name.length));
      const lines = Object.entries(figures).map(([name, now]) => {
        const before = kept[group]?.[name];
        const mark = before === undefined ? ' (new)' : agree(before, now) ? '' : '  <- changed';
        return `  ${name.padEnd(width)}  ${before?.value ?? '-'} -> ${said(now)}${mark}`;
      });
      const gone = Object.keys(kept[group] ?? {}).filter((name) => figures[name] === undefined);
      return [group, ...lines, ...gone.map((name) => `  ${name} (gone)`)].join('\n');
    })
    .join('\n\n');
}

function said(one: Figure | null): string {
  return one === null ? 'nothing' : `${one.value} ${one.unit}`;
}
