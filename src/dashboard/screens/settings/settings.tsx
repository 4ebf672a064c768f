import './settings.css';
import type { ComponentType } from 'react';
import { Link } from 'wouter';
import { NotFound } from '../not-found/not-found.tsx';
import { Display } from './display.tsx';
import { Keys } from './keys.tsx';
import { Plan } from './plan.tsx';

/** The parts of the settings, in the order of their tabs. Members and sessions belong between keys and plan. */
const PARTS: readonly { part: string; label: string; Part: ComponentType<{ tabs: React.ReactNode }> }[] = [
  { part: 'keys', label: 'API keys', Part: Keys },
  { part: 'plan', label: 'Plan and usage', Part: Plan },
  { part: 'display', label: 'Display and keyboard', Part: Display },
];

export default function Settings({ params: { part = 'keys' } }: { params: Record<string, string> }) {
  const shown = PARTS.find((one) => one.part === part);
  if (shown === undefined) return <NotFound />;
  return <shown.Part tabs={<Tabs current={part} />} />;
}

function Tabs({ current }: { current: string }) {
  return (
    <nav className="seg settings-parts" aria-label="Settings">
      {PARTS.map(({ part, label }) => (
        <Link key={part} href={`/settings/${part}`} aria-current={part === current ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
