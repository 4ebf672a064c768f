import type { InputFieldsFromShape } from '@pothos/core';
import { SETTING_DESCRIPTIONS } from '../../contract/setting-descriptions.ts';
import {
  isUnbounded,
  type QUEUE_SETTINGS,
  type QueueSetting,
  type SettingName,
  type SettingValues,
} from '../../domain/queue-settings.ts';
import type { builder } from '../builder.ts';
import { AckTimeoutAction, BackoffType, QueueMode } from '../enums.ts';

/** The settings of a queue as fields of GraphQL (`domain/queue-settings`). */

type ChoiceName = {
  [Name in SettingName]: (typeof QUEUE_SETTINGS)[Name]['kind'] extends 'choice' ? Name : never;
}[SettingName];

const ENUMS = {
  mode: QueueMode,
  ackTimeoutAction: AckTimeoutAction,
  backoffType: BackoffType,
} satisfies Record<ChoiceName, unknown>;
const SCALARS = { whole: 'Int', seconds: 'Float', switch: 'Boolean' } as const;

const typeOf = ({ kind }: QueueSetting, name: SettingName) =>
  kind === 'choice' ? ENUMS[name as ChoiceName] : SCALARS[kind];

/** The description of REST. In GraphQL the values of enumerations are in capitals. */
const describe = (name: SettingName) =>
  SETTING_DESCRIPTIONS[name].replace(/`[a-z]+(?:_[a-z]+)*`/g, (value) => value.toUpperCase());

/** Options of the field of an object that has the settings. */
export function fieldOf(setting: QueueSetting, name: SettingName) {
  return {
    type: typeOf(setting, name),
    nullable: setting.default === null,
    description: describe(name),
    resolve: (row: Readonly<Record<SettingName, unknown>>) => row[name] as never,
  };
}

/** Options of the field of an input that changes settings. */
export const changeOf = (setting: QueueSetting, name: SettingName) => ({
  type: typeOf(setting, name),
  description: describe(name),
});

/** Options of the field of an input for a new queue. */
export const newOf = (setting: QueueSetting, name: SettingName) => ({
  type: typeOf(setting, name),
  description: `${describe(name)} ${boundsOf(setting)}`,
});

/** "1 to 25; 3 by default." */
function boundsOf(setting: QueueSetting): string {
  if (setting.kind === 'switch') return `${setting.default ? 'True' : 'False'} by default.`;
  if (setting.kind === 'choice') return `\`${setting.default.toUpperCase()}\` by default.`;
  const { min, max } = setting;
  return `${isUnbounded(setting) ? `At least ${min}` : `${min} to ${max}`}; ${setting.default} by default.`;
}

/** The fields of an input, which may all be left out. */
export type SettingInputs = InputFieldsFromShape<
  (typeof builder)['$inferSchemaTypes'],
  { [Name in SettingName]: SettingValues[Name] | null | undefined },
  'InputObject'
>;
