import { type Chip, type Filter, isJsonScalar, PAYLOAD_OPS, type Scalar } from './chips.ts';

/** The text of a filter, as it stands in the URL: `state:dead queue:orders payload.customer.id:42`. */
export function formatFilter(filter: Filter): string {
  return filter.map(formatChip).join(' ');
}

export function formatChip(chip: Chip): string {
  switch (chip.word) {
    case 'state':
    case 'code':
    case 'ever':
    case 'reason':
    case 'waits':
      return `${chip.word}:${chip.values.join(',')}`;
    case 'queue':
      return `queue:${chip.values.map(formatText).join(',')}`;
    case 'error':
    case 'key':
    case 'text':
      return `${chip.word}:${'isExact' in chip ? '=' : '~'}${formatText(chip.text)}`;
    case 'attempts':
    case 'holds':
      return `${chip.word}:${range(chip.min, chip.max)}`;
    case 'action':
      return `action:${chip.id}`;
    case 'payload':
      return `payload.${formatPath(chip.path)}:${markOf(chip.op)}${chip.values.map(formatScalar).join(',')}`;
    case 'unknown':
      return chip.text;
    default: {
      const { from, to } = chip.range;
      if (to === null) return `${chip.word}:>${from}`;
      return `${chip.word}:${from === null ? `<${to}` : `${from}..${to}`}`;
    }
  }
}

function range(min: number | null, max: number | null): string {
  if (min === max) return String(min);
  if (max === null) return `>=${min}`;
  return min === null ? `<=${max}` : `${min}..${max}`;
}

function markOf(op: string): string {
  return Object.entries(PAYLOAD_OPS).find(([, name]) => name === op)?.[0] ?? '';
}

/** Text without a character that has a meaning in the filter stands as it is, else in quotes. */
const PLAIN = /^[^\s",!~><*{[][^\s",]*$/;

function formatText(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text);
}

/** Bare numbers, `true`, `false` and `null` are JSON, so text that looks like them is quoted. */
function formatScalar(value: Scalar): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return isJsonScalar(value) ? JSON.stringify(value) : formatText(value);
}

/** A path with a space, a colon or a quote stands in quotes. */
function formatPath(path: string): string {
  return /^[^\s":]+$/.test(path) ? path : JSON.stringify(path);
}
