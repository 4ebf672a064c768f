// Converts the contract's zod schemas to the types that a client sends and receives: timestamps are strings, payloads
// are objects. The declarations and the contract of the package are generated from these types.
//
// Two kinds are special: `payload` is an object that is published. `text` is a query value of type `of`, which may also
// be given as text.

const byTypeName = {
  ZodString: () => ({ kind: 'string' }),
  ZodNumber: () => ({ kind: 'number' }),
  ZodBoolean: () => ({ kind: 'boolean' }),
  ZodUnknown: () => ({ kind: 'unknown' }),
  ZodUndefined: () => ({ kind: 'undefined' }),
  // JSON has no dates: they are sent as ISO 8601 text.
  ZodDate: () => ({ kind: 'string' }),
  ZodLiteral: ({ value }) => ({ kind: 'literal', value }),
  ZodEnum: ({ values }) => ({ kind: 'enum', values }),
  ZodArray: ({ type }) => ({ kind: 'array', of: toWireType(type) }),
  ZodRecord: ({ valueType }) => ({ kind: 'record', of: toWireType(valueType) }),
  ZodNullable: ({ innerType }) => ({ kind: 'nullable', of: toWireType(innerType) }),
  ZodOptional: ({ innerType }) => toWireType(innerType),
  ZodDefault: ({ innerType }) => toWireType(innerType),
  ZodObject: ({ shape }) => ({ kind: 'object', fields: Object.entries(shape()).map(toField) }),
  ZodEffects: ({ schema }) => toWireType(schema),
};

/** Types on the wire by the documented type of a schema, for schemas whose type only their code decides. */
const byDocumentedType = {
  integer: () => ({ kind: 'text', of: { kind: 'number' } }),
  boolean: () => ({ kind: 'nullable', of: { kind: 'text', of: { kind: 'boolean' } } }),
  string: () => ({ kind: 'string' }),
};

/** @returns {{ kind: string, name?: string, description?: string }} */
export function toWireType(schema) {
  const form = schema.metaOpenApi ?? {};
  const documented = hasCode(schema) ? form.type : undefined;
  const type = documented === 'object' ? payloadType(schema) : byDocumentedType[documented]?.();
  const read = type ?? byTypeName[schema._def.typeName]?.(schema._def);
  if (read === undefined) throw new Error(`the client's build does not know ${schema._def.typeName}: add it here`);
  return form.title === undefined ? read : { ...read, name: form.title, description: form.description };
}

function hasCode(schema) {
  const { typeName, schema: inner, innerType } = schema._def;
  if (typeName === 'ZodDefault') return hasCode(innerType);
  return typeName === 'ZodEffects' && ['ZodUnknown', 'ZodString'].includes(inner._def.typeName);
}

/** A payload of a request may be any object. A payload of an answer has unknown members. */
function payloadType(schema) {
  const isRequest = schema._def.schema._def.typeName === 'ZodUnknown';
  return isRequest ? { kind: 'payload' } : { kind: 'record', of: { kind: 'unknown' } };
}

function toField([name, schema]) {
  const description = descriptionOf(schema);
  if (description === '') throw new Error(`the field ${name} has no description: describe it in the contract`);
  const fallback = defaultOf(schema);
  return {
    name,
    type: toWireType(schema),
    optional: schema.isOptional(),
    description: fallback === undefined ? description : `${description} Default: \`${JSON.stringify(fallback)}\`.`,
  };
}

/** The outermost description wins, as it does in the OpenAPI document. */
function descriptionOf(schema) {
  if (schema.description) return schema.description;
  const documented = schema.metaOpenApi?.description;
  if (documented) return documented;
  const inner = schema._def.innerType ?? schema._def.schema;
  return inner === undefined ? '' : descriptionOf(inner);
}

function defaultOf(schema) {
  const documented = schema.metaOpenApi?.default;
  if (documented !== undefined) return documented;
  if (schema._def.typeName === 'ZodDefault') return schema._def.defaultValue();
  return schema._def.innerType === undefined ? undefined : defaultOf(schema._def.innerType);
}

/** Returns the routes of the contract, by group. */
export function readRoutes(contract) {
  return Object.entries(contract).map(([group, routes]) => ({
    group,
    routes: Object.entries(routes).map(([name, route]) => ({
      name,
      method: route.method,
      path: route.path,
      summary: route.summary,
      description: route.description,
      params: readPart(route.pathParams),
      query: readPart(route.query),
      body: readPart(route.body),
      hasNoBody: typeof route.body === 'symbol',
      answers: Object.entries(route.responses).map(([status, schema]) => ({
        status,
        // A symbol stands for an empty body.
        type: typeof schema === 'symbol' ? null : toWireType(schema),
        description: typeof schema === 'symbol' ? 'Done. The answer has no body.' : descriptionOf(schema),
      })),
    })),
  }));
}

function readPart(schema) {
  if (schema === undefined || typeof schema === 'symbol') return null;
  const type = toWireType(schema);
  // Names of request bodies end in Input, so that they differ from the objects of answers.
  return type.name === undefined ? type : { ...type, name: `${type.name}Input` };
}

/** Returns the answers that all routes share. */
export function commonAnswers(groups) {
  const [first, ...others] = groups.flatMap(({ routes }) => routes);
  return first.answers.filter((answer) => others.every(({ answers }) => answers.some((one) => isSame(one, answer))));
}

/** Returns the answers of a route that not all routes share. */
export function ownAnswers({ answers }, common) {
  return answers.filter((answer) => !common.some((other) => isSame(answer, other)));
}

/** Returns an earlier type whose fields this one has, too; undefined when there is none. */
export function baseOf(type, named) {
  const earlier = named.slice(0, named.indexOf(type));
  return earlier.find(({ fields }) => fields.length > 1 && fields.every((field) => hasField(type, field)));
}

/** Returns the fields that the base does not have. */
export function ownFields(type, base) {
  return type.fields.filter((field) => !hasField(base, field));
}

function hasField({ fields }, field) {
  return fields.some((other) => isSame(other, field));
}

function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns all types with a name, each once, in the order of their first use. */
export function namedTypes(groups) {
  const named = new Map();
  const visit = (type) => {
    if (type === null) return;
    for (const inner of [type.of, ...(type.fields ?? []).map((field) => field.type)]) if (inner) visit(inner);
    if (type.name !== undefined) named.set(type.name, type);
  };
  for (const { routes } of groups) {
    for (const { params, query, body, answers } of routes) {
      for (const type of [params, query, body, ...answers.map((answer) => answer.type)]) visit(type);
    }
  }
  return [...named.values()];
}
