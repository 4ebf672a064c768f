import type { ReactNode } from 'preact/compat';
import { overlay } from '../../base/overlay.ts';
import { type Preferences, preferences, setPreference } from '../../base/preferences.ts';
import { useStore } from '../../base/store.ts';
import { useNow } from '../../base/time.ts';
import { Page } from '../../parts/page/page.tsx';
import { clocksText, displaySentence } from './model/display.ts';

export function Display({ tabs }: { tabs: ReactNode }) {
  const all = useStore(preferences);
  return (
    <Page
      title="Display and keyboard"
      crumbs={[{ label: 'Settings' }, { label: 'Display and keyboard' }]}
      h1={displaySentence(all)}
      lead="These are kept in this browser, for you alone. Changes apply immediately."
    >
      {tabs}
      <div className="display">
        <Choice
          label="Theme"
          note="System follows the setting of this computer."
          name="theme"
          options={[
            ['system', 'System'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
        />
        <Choice
          label="Density"
          note="Compact shows about a quarter more rows. On touch screens both are sized for touch."
          name="density"
          options={[
            ['comfortable', 'Comfortable'],
            ['compact', 'Compact'],
          ]}
        />
        <Choice
          label="Time zone"
          note={<Clocks />}
          name="zone"
          options={[
            ['utc', 'UTC'],
            ['local', 'Local'],
          ]}
        />
        <Choice
          label="Times in lists"
          note="The tooltip shows the other."
          name="times"
          options={[
            ['relative', '2 min ago'],
            ['exact', '12:04:11'],
          ]}
        />
        <Choice
          label="Single keys"
          note="Keys such as r and j. Turn them off if dictation or another program types them."
          name="singleKeys"
          options={[
            [true, 'On'],
            [false, 'Off'],
          ]}
        />
        <p>
          <button type="button" className="btn" onClick={() => overlay.set('help')}>
            Keys of this screen
            <kbd>?</kbd>
          </button>
        </p>
      </div>
    </Page>
  );
}

function Clocks() {
  const now = useNow();
  return clocksText(now);
}

/** Radios in a row, of which one holds. */
function Choice<Name extends keyof Preferences>({
  label,
  note,
  name,
  options,
}: {
  label: string;
  note: ReactNode;
  name: Name;
  options: readonly (readonly [Preferences[Name], string])[];
}) {
  const value = useStore(preferences, (all) => all[name]);
  return (
    <fieldset className="field">
      <legend className="sr">{label}</legend>
      <span className="lab" aria-hidden="true">
        {label}
      </span>
      <small>{note}</small>
      <div className="seg">
        {options.map(([option, text]) => (
          <label key={text}>
            <input
              type="radio"
              name={name}
              checked={option === value}
              onChange={() => setPreference({ [name]: option })}
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
