import { z } from 'zod';
import { ofSettings, type QueueSetting, type SettingName, type SettingValues } from '../domain/queue-settings.ts';
import { integerWithin, oneOf, secondsWithin } from './common.ts';
import { SETTING_DESCRIPTIONS } from './setting-descriptions.ts';

type SchemaOf<Value> = [Value] extends [boolean]
  ? z.ZodBoolean
  : [Value] extends [string]
    ? z.ZodEnum<[Value, ...Value[]]>
    : null extends Value
      ? z.ZodNullable<z.ZodNumber>
      : z.ZodNumber;
type SettingSchemas = { [Name in SettingName]: SchemaOf<SettingValues[Name]> };

/** Spec "Queue": the settings of create and update. PLANS and TEMPLATES take the bounds of theirs from here. */
export const settingSchemas = z.object(
  ofSettings((setting, name) => schemaOf(setting).describe(SETTING_DESCRIPTIONS[name])) as SettingSchemas,
);

function schemaOf(setting: QueueSetting): z.ZodTypeAny {
  if (setting.kind === 'switch') return z.boolean();
  if (setting.kind === 'choice') return oneOf(setting.values);
  const number = setting.kind === 'whole' ? integerWithin(setting) : secondsWithin(setting);
  return setting.default === null ? number.nullable() : number;
}
