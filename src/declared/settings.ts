import { z } from 'zod';
import { contract } from '../contract/index.ts';

/** A setting of a queue, as the contract has it. */
export interface Setting {
  readonly name: string;
  readonly kind: 'number' | 'seconds' | 'boolean' | readonly string[];
  readonly isNullable: boolean;
  /** First sentence of its description. */
  readonly meaning: string;
}

/** Settings in seconds, which may be fractions of one. */
const IN_SECONDS = /(?:Timeout|Delay|Window)$/;

/** All settings that a queue is created with and that can be changed, beside the URL of its webhook. */
export const QUEUE_SETTINGS: readonly Setting[] = Object.entries(shapeOf(contract.queues.update.body))
  .filter(([name]) => !['name', 'webhookUrl', 'template'].includes(name))
  .map(([name, schema]) => settingOf(name, schema));

function shapeOf(schema: unknown): z.ZodRawShape {
  if (schema instanceof z.ZodEffects) return shapeOf(schema.innerType());
  if (schema instanceof z.ZodObject) return schema.shape;
  throw new TypeError('the contract has another form');
}

function settingOf(name: string, schema: z.ZodTypeAny): Setting {
  const meaning = firstSentence(descriptionOf(schema)).replace(', in seconds', '').replace('; null if', '; none if');
  let inner = schema;
  let isNullable = false;
  for (;;) {
    if (inner instanceof z.ZodNullable) isNullable = true;
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap();
    else if (inner instanceof z.ZodEffects) inner = inner.innerType();
    else break;
  }
  if (inner instanceof z.ZodBoolean) return { name, kind: 'boolean', isNullable, meaning };
  if (inner instanceof z.ZodEnum) return { name, kind: inner.options, isNullable, meaning };
  return { name, kind: IN_SECONDS.test(name) ? 'seconds' : 'number', isNullable, meaning };
}

function descriptionOf(schema: z.ZodTypeAny): string {
  if (schema.description !== undefined) return schema.description;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return descriptionOf(schema.unwrap());
  return schema instanceof z.ZodEffects ? descriptionOf(schema.innerType()) : '';
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.)\s/)[0]?.replace(/\.$/, '') ?? '';
}
