import { getRefFromModel, type PrismaModelTypes, type PrismaObjectRef } from '@pothos/plugin-prisma';
import { builder, type Models, type Types } from './builder.ts';

/** Types that refer to each other. Each is defined in the `types.ts` of its noun. */
export const Queue = refOf('Queue');
export const Job = refOf('Job');
export const DeadLetter = refOf('DeadLetter');

type Ref<Model extends keyof Models> = PrismaObjectRef<
  PothosSchemaTypes.ExtendDefaultTypes<Types>,
  PrismaModelTypes & Models[Model],
  Models[Model]['Shape']
>;

/** Returns the reference that `builder.prismaObject(model)` returns, before it is called. */
function refOf<Model extends keyof Models & string>(model: Model): Ref<Model> {
  // The cast only names the type that `prismaObject` gives to the same object.
  return getRefFromModel(model, builder, 'object') as unknown as Ref<Model>;
}
