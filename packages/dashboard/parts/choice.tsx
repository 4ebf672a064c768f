import './choice.css';
import { Link } from 'wouter-preact';
import { useUniqueId } from '../base/use-unique-id.ts';
import { Icon } from './icon.tsx';

/** One of a few values, with its label; null is the first. */
export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string | null;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string | null) => void;
}) {
  const id = useUniqueId();
  return (
    <span className="choose">
      <label htmlFor={id} className="label">
        {label}
      </label>
      <select
        id={id}
        className="input"
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? null : currentTarget.value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}

/** A condition that was chosen elsewhere, and a link that takes it away. */
export function ConditionChip({ word, value, to }: { word: string; value: string; to: string }) {
  return (
    <span className="chip">
      <span>
        <span className="k">{word}</span> <span className="v">{value}</span>
      </span>
      <Link href={to} aria-label={`Remove ${word} ${value}`}>
        <Icon name="x" />
      </Link>
    </span>
  );
}
