import './settings.css';
import type { ComponentType, ReactNode } from 'preact/compat';
import { Link } from 'wouter-preact';
import { hasRole, ROLE_FOR_MEMBERS, type Role } from '../../../query/words/rights.ts';
import { useRights } from '../../api/rights.ts';
import { NotFound } from '../../parts/page/not-found.tsx';
import { Display } from './display.tsx';
import { Keys } from './keys.tsx';
import { Members } from './members.tsx';
import { Plan } from './plan.tsx';
import { Sessions } from './sessions.tsx';

interface SettingsPart {
  part: string;
  label: string;
  Part: ComponentType<{ tabs: ReactNode }>;
  /** The least role that may see it. */
  needs?: Role;
}

/** The parts of the settings, in the order of their tabs. */
const PARTS: readonly SettingsPart[] = [
  { part: 'keys', label: 'API keys', Part: Keys },
  { part: 'members', label: 'Members', Part: Members, needs: ROLE_FOR_MEMBERS },
  { part: 'sessions', label: 'Sessions', Part: Sessions },
  { part: 'plan', label: 'Plan and usage', Part: Plan },
  { part: 'display', label: 'Display and keyboard', Part: Display },
];

export default function Settings({ params: { part = 'keys' } }: { params: Record<string, string> }) {
  const shown = PARTS.find((one) => one.part === part);
  if (shown === undefined) return <NotFound />;
  return <shown.Part tabs={<Tabs current={part} />} />;
}

function Tabs({ current }: { current: string }) {
  const rights = useRights();
  // Most people see all parts, so none comes later and moves the page.
  const isShown = ({ needs }: SettingsPart) => needs === undefined || rights === null || hasRole(rights, needs);
  return (
    <nav className="seg settings-parts" aria-label="Settings">
      {PARTS.filter(isShown).map(({ part, label }) => (
        <Link key={part} href={`/settings/${part}`} aria-current={part === current ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
